/**
 * Validates the options of an app and converts them to a manifest with defaults and uniform units. Runs on the machine
 * that deploys and again in the cloud.
 */
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import { aliasesOf } from '../../engine/load-options.js';
import { ChasquiError } from '../../errors.js';
import { FAST_SCHEMAS } from '../../options/fast-schemas.js';
import { LOAD_OPTIONS } from '../../options/load-option-table.js';
import { MAX_ADAPTERS } from '../../options/model-option-table.js';
import { fits, type OptionRow, wanted } from '../../options/option-row.js';
import type { AppModel, AppOptions, Duration } from './app.js';
import type { Json } from './canonical-json.js';
import { explain, invalid } from './explain.js';
import {
  isSecretName,
  type ModelReference,
  readDuration,
  readSize,
  WANTED_MODEL,
  WANTED_SECRET,
} from './field-values.js';
import {
  isAdapter,
  isModelReference,
  type ModelManifest,
  referencesOf,
  toModelManifest,
  WANTED_ADAPTER,
} from './model-manifest.js';

/** The first model and the settings of the app. */
export interface Manifest extends ModelManifest {
  others: readonly ModelManifest[];
  auth: 'private' | 'public';
  /** Whether keys are also accepted as `Authorization: Bearer`. */
  bearer: boolean;
  secrets: readonly string[];
  /** Memory limit of a runner; null: use an estimate. */
  memoryBytes: number | null;
  /** GPUs for each runner alone; null: it shares others. */
  gpus: number | null;
  scale: { min: number; max: number; keepAliveMs: number; buffer: number; delayMs: number };
  timeouts: { startMs: number; requestMs: number; drainMs: number };
}

/** Each model has its own process in every runner. */
export const MAX_MODELS = 16;
const MAX_RUNNERS = 64;

const ROWS: Readonly<Record<string, OptionRow>> = LOAD_OPTIONS;
/** Load options with another name here. */
const RENAMED = ['contextSize', 'parallel', 'mmproj', 'draftModel', 'lora', 'imageHosts', 'verbose'];
/** Load options that apps cannot set: files and folders of the cloud's machine. */
const MACHINE_OPTIONS = ['cacheDiskMiB', 'cacheFolder', 'chatTemplateFile'];
const PER_MODEL_OPTIONS = ['model', 'mmproj', 'draftModel', 'adapters', 'alias'] as const;

const ajv = new Ajv({ ...FAST_SCHEMAS, verbose: true });
ajv.addKeyword({
  keyword: 'loadOption',
  validate: (name: string, value: unknown) => fits(ROWS[name] as OptionRow, value),
});
ajv.addKeyword({ keyword: 'duration', validate: (_: boolean, value: unknown) => readDuration(String(value)) !== null });
ajv.addKeyword({ keyword: 'size', validate: (_: boolean, value: unknown) => readSize(String(value)) !== null });
ajv.addKeyword({ keyword: 'modelReference', validate: (_: boolean, value: unknown) => isModelReference(value) });
ajv.addKeyword({ keyword: 'secretName', validate: (_: boolean, value: unknown) => isSecretName(value) });
ajv.addKeyword({ keyword: 'adapter', validate: (_: boolean, value: unknown) => isAdapter(value) });

/** `description` follows "must be" in messages. */
const loadOption = (name: string) => ({ loadOption: name, description: wanted(ROWS[name] as OptionRow) });
const duration = { duration: true, description: 'a duration of at most 24 days, such as 500ms, 30s, 5m or 1h' };
const size = { size: true, description: 'a size such as 512Mi or 8Gi' };
const modelReference = { modelReference: true, description: WANTED_MODEL };
const count = (minimum: number, maximum: number) => ({
  type: 'integer',
  minimum,
  maximum,
  description: `a whole number from ${minimum} to ${maximum}`,
});
const group = (properties: object) => ({
  type: 'object',
  additionalProperties: false,
  properties,
  description: `an object with ${Object.keys(properties).join(', ')}`,
});

const MODEL_PROPERTIES = {
  model: modelReference,
  mmproj: modelReference,
  draftModel: modelReference,
  adapters: {
    type: 'object',
    maxProperties: MAX_ADAPTERS,
    propertyNames: { pattern: '^[\\w.-]{1,100}$', description: 'a name of letters, digits, _, . and -' },
    additionalProperties: { adapter: true, description: WANTED_ADAPTER },
    description: `an object of at most ${MAX_ADAPTERS} adapters by their names`,
  },
  context: loadOption('contextSize'),
  slots: loadOption('parallel'),
  ...Object.fromEntries(
    Object.keys(ROWS)
      .filter((name) => ![...RENAMED, ...MACHINE_OPTIONS].includes(name))
      .map((name) => [name, loadOption(name)]),
  ),
};

const PROPERTIES = {
  ...MODEL_PROPERTIES,
  models: {
    type: 'array',
    minItems: 1,
    maxItems: MAX_MODELS,
    items: { ...group(MODEL_PROPERTIES), required: ['model'], description: 'an object with a `model` and its options' },
    description: `a list of 1 to ${MAX_MODELS} models`,
  },
  auth: { enum: ['private', 'public'], description: 'private or public' },
  bearer: { type: 'boolean', description: 'true or false' },
  secrets: {
    type: 'array',
    maxItems: 100,
    items: { secretName: true, description: WANTED_SECRET },
    description: 'a list of at most 100 names',
  },
  machine: group({ memory: size, cpu: loadOption('threads'), gpu: count(0, 64) }),
  scale: group({
    min: count(0, MAX_RUNNERS),
    max: count(1, MAX_RUNNERS),
    keepAlive: duration,
    buffer: count(0, MAX_RUNNERS),
    delay: duration,
  }),
  timeouts: group({ start: duration, request: duration, drain: duration }),
};

/** Lazy: most commands that import this module check no options. */
let compiled: ValidateFunction<AppOptions> | undefined;

function validator(): ValidateFunction<AppOptions> {
  compiled ??= ajv.compile<AppOptions>({
    type: 'object',
    additionalProperties: false,
    properties: PROPERTIES,
    description: 'an object of options',
  });
  return compiled;
}

/**
 * `name`: of the app, for messages.
 *
 * @throws {ChasquiError} `script_invalid`, naming the field
 */
export function toManifest(options: Json, name: string): Manifest {
  const validate = validator();
  if (!validate(options)) throw explain((validate.errors as ErrorObject[])[0] as ErrorObject, name);
  const { auth = 'private', bearer = false, secrets = [], ...settings } = options as AppOptions;
  const { machine = {}, scale = {}, timeouts = {}, ...rest } = settings;
  const { min = 0, max = Math.max(1, min) } = scale;
  if (min > max) throw invalid(name, 'scale.min', `is ${min}, but must be at most \`scale.max\`, which is ${max}`);
  const models = modelsOf(rest, name).map((model) => toModelManifest(model, machine));
  refuseDuplicateNames(models, name);
  const [first, ...others] = models as [ModelManifest, ...ModelManifest[]];
  return {
    ...first,
    others,
    auth,
    bearer,
    secrets: [...new Set(secrets)].sort(),
    memoryBytes: machine.memory === undefined ? null : readSize(machine.memory),
    gpus: machine.gpu ?? null,
    scale: {
      min,
      max,
      keepAliveMs: ms(scale.keepAlive ?? '5m'),
      buffer: scale.buffer ?? 0,
      delayMs: ms(scale.delay ?? '0s'),
    },
    timeouts: {
      startMs: ms(timeouts.start ?? '10m'),
      requestMs: ms(timeouts.request ?? '1h'),
      drainMs: ms(timeouts.drain ?? '5m'),
    },
  };
}

export function modelsIn({ others, ...first }: Manifest): readonly ModelManifest[] {
  return [first, ...others];
}

export function filesIn(manifest: Manifest): ModelReference[] {
  return modelsIn(manifest).flatMap(referencesOf);
}

/** All values of `model` that requests can use. */
export function modelNamesOf(manifest: Manifest): string[] {
  return modelsIn(manifest).flatMap(({ options, adapters }) => {
    const [name = ''] = aliasesOf(options);
    return [name, ...adapters.map((adapter) => `${name}:${adapter.name}`)];
  });
}

/** Concurrent requests per runner. */
export function slotsOf(manifest: Manifest): number {
  return modelsIn(manifest).reduce((sum, { slots }) => sum + slots, 0);
}

/** Requests that may wait. The gateway enforces it. */
export function maxQueueOf(manifest: Manifest): number {
  const each = modelsIn(manifest).map(({ options }) => options.maxQueue ?? LOAD_OPTIONS.maxQueue.default);
  return each.reduce((sum, count) => sum + count, 0);
}

function modelsOf(given: object, name: string): readonly AppModel[] {
  const { models, ...shared } = given as { models?: readonly AppModel[] };
  if (models === undefined) {
    if (!('model' in shared)) throw invalid(name, 'model', 'is missing');
    return [shared as AppModel];
  }
  const lost = PER_MODEL_OPTIONS.find((field) => field in shared);
  if (lost !== undefined) throw invalid(name, lost, 'belongs to a single model. Set it within `models`');
  return models.map((model) => ({ ...shared, ...model }));
}

/** Several models need distinct names, one each. */
function refuseDuplicateNames(models: readonly ModelManifest[], name: string): void {
  if (models.length === 1) return;
  const seen = new Set<string>();
  for (const [index, { options }] of models.entries()) {
    const [own = '', ...more] = aliasesOf(options);
    const field = `models[${index}].alias`;
    if (more.length > 0) throw invalid(name, field, 'has several names, but with several `models` each has one');
    if (seen.has(own))
      throw invalid(name, field, `is ${own}, which is also the name of another model. Give one of them an \`alias\``);
    seen.add(own);
  }
}

function ms(text: Duration): number {
  return readDuration(text) as number;
}

/** Parses a manifest from the database. Returns null if an incompatible version of chasqui stored it. */
export function storedManifest(json: string, name: string): Manifest | null {
  try {
    return toManifest(JSON.parse(json), name);
  } catch (error) {
    if (error instanceof ChasquiError) return null;
    throw error;
  }
}
