/**
 * From what a script says about an app to what the cloud does with it: everything checked, with its defaults and in one
 * unit. The same text is checked on the machine that deploys and again by the cloud, which trusts neither.
 */
import { Ajv, type ErrorObject } from 'ajv';
import { LOAD_OPTIONS } from '../../engine/load-option-table.js';
import type { LoadOptions } from '../../engine/load-options.js';
import { fits, type OptionRow, wanted } from '../../engine/option-row.js';
import { ChasquiError } from '../../errors.js';
import type { AppOptions, Duration } from './app.js';
import type { Json } from './canonical-json.js';
import { type ModelReference, readModelReference, WANTED_MODEL } from './model-reference.js';
import { readDuration, readSize } from './quantity.js';

export interface Manifest {
  model: ModelReference;
  mmproj: ModelReference | null;
  draftModel: ModelReference | null;
  /** Without the files, which have paths only when they have been fetched. */
  options: LoadOptions;
  /** How many requests a runner computes at once. */
  slots: number;
  auth: 'private' | 'public';
  secrets: readonly string[];
  /** What a runner may take; null: what its model is estimated to take. */
  memoryBytes: number | null;
  /** How many GPUs a runner computes on; null: all there are. */
  gpus: number | null;
  scale: { min: number; max: number; keepAliveMs: number; buffer: number; delayMs: number };
  timeouts: { startMs: number; requestMs: number; drainMs: number };
}

const MAX_RUNNERS = 64;
export const SECRET_NAME = '^[A-Z_][A-Z0-9_]{0,99}$';

const ROWS: Readonly<Record<string, OptionRow>> = LOAD_OPTIONS;
/** What these say is said by other options here. */
const RENAMED = ['contextSize', 'parallel', 'mmproj', 'draftModel', 'imageHosts', 'verbose'];

const ajv = new Ajv({ allErrors: false, strict: true, verbose: true });
ajv.addKeyword({
  keyword: 'loadOption',
  validate: (name: string, value: unknown) => fits(ROWS[name] as OptionRow, value),
});
ajv.addKeyword({ keyword: 'duration', validate: (_: boolean, value: unknown) => readDuration(String(value)) !== null });
ajv.addKeyword({ keyword: 'size', validate: (_: boolean, value: unknown) => readSize(String(value)) !== null });
ajv.addKeyword({ keyword: 'modelReference', validate: (_: boolean, value: unknown) => isModelReference(value) });

/** `description` follows "must be" in messages. */
const loadOption = (name: string) => ({ loadOption: name, description: wanted(ROWS[name] as OptionRow) });
const duration = { duration: true, description: 'a duration such as 500ms, 30s, 5m or 1h, of 24 days at most' };
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

const PROPERTIES = {
  model: modelReference,
  mmproj: modelReference,
  draftModel: modelReference,
  context: loadOption('contextSize'),
  slots: loadOption('parallel'),
  auth: { enum: ['private', 'public'], description: 'private or public' },
  secrets: {
    type: 'array',
    maxItems: 100,
    items: { type: 'string', pattern: SECRET_NAME, description: 'a name of capital letters, digits and _' },
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
  ...Object.fromEntries(
    Object.keys(ROWS)
      .filter((name) => !RENAMED.includes(name))
      .map((name) => [name, loadOption(name)]),
  ),
};

const validate = ajv.compile<AppOptions>({
  type: 'object',
  additionalProperties: false,
  required: ['model'],
  properties: PROPERTIES,
  description: 'an object of options',
});

/**
 * `name` is what messages call the app.
 * @throws {ChasquiError} `script_invalid`, naming the field
 */
export function toManifest(options: Json, name: string): Manifest {
  if (!validate(options)) throw explain((validate.errors as ErrorObject[])[0] as ErrorObject, name);
  const { model, mmproj, draftModel, context, slots = LOAD_OPTIONS.parallel.default, ...rest } = options as AppOptions;
  const { auth = 'private', secrets = [], machine = {}, scale = {}, timeouts = {}, ...load } = rest;
  const { min = 0, max = Math.max(1, min) } = scale;
  if (min > max) throw invalid(name, 'scale.min', `is ${min}, but must be at most \`scale.max\`, which is ${max}`);
  return {
    model: reference(model),
    mmproj: mmproj === undefined ? null : reference(mmproj),
    draftModel: draftModel === undefined ? null : reference(draftModel),
    options: {
      alias: modelNameOf(reference(model)),
      ...load,
      parallel: slots,
      ...(context !== undefined && { contextSize: context }),
      ...(machine.cpu !== undefined && { threads: machine.cpu }),
      ...(machine.gpu === 0 && { gpuLayers: 0 }),
    },
    slots,
    auth,
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

function isModelReference(value: unknown): boolean {
  return typeof value === 'string' && readModelReference(value) !== null;
}

function reference(text: string): ModelReference {
  return readModelReference(text) as ModelReference;
}

/** What requests call the model, unless the script says otherwise. */
function modelNameOf(model: ModelReference): string {
  switch (model.kind) {
    case 'demo':
      return 'chasqui-demo';
    case 'hub':
      return model.repository.replace(/^.*\//, '').replace(/-GGUF$/i, '');
    case 'url':
      return nameOfFile(decodeURIComponent(new URL(model.url).pathname));
    case 'file':
      return nameOfFile(model.path);
  }
}

function nameOfFile(path: string): string {
  return path.replace(/^.*[/\\]/, '').replace(/\.gguf$/i, '');
}

function ms(text: Duration): number {
  return readDuration(text) as number;
}

function explain({ instancePath, keyword, params, parentSchema, data }: ErrorObject, name: string): ChasquiError {
  const at = instancePath
    .slice(1)
    .replaceAll('/', '.')
    .replaceAll(/\.(\d+)/g, '[$1]');
  if (keyword === 'required') return invalid(name, String(params.missingProperty), 'is missing');
  if (keyword === 'additionalProperties') {
    const unknown = String(params.additionalProperty).slice(0, 100);
    const known = Object.keys((parentSchema?.properties ?? {}) as object);
    const near = nearest(unknown, known);
    const hint = near === null ? `there are ${known.join(', ')}` : `did you mean \`${near}\`?`;
    return invalid(name, at === '' ? unknown : `${at}.${unknown}`, `is not an option; ${hint}`);
  }
  return invalid(name, at, `is ${shown(data)}, but must be ${String(parentSchema?.description)}`);
}

function invalid(app: string, field: string, problem: string): ChasquiError {
  const end = problem.endsWith('?') ? '' : '.';
  return new ChasquiError('script_invalid', `\`${field}\` of the app ${app} ${problem}${end}`, field);
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'undefined';
  return text.length > 100 ? `${text.slice(0, 100)}...` : text;
}

/** The known name that takes the fewest changes of a letter, if that is few. */
function nearest(name: string, known: readonly string[]): string | null {
  const ranked = known.map((each) => ({ each, changes: changesBetween(name.toLowerCase(), each.toLowerCase()) }));
  const best = ranked.sort((one, other) => one.changes - other.changes)[0];
  return best !== undefined && best.changes <= Math.max(1, name.length / 3) ? best.each : null;
}

/** Letters put in, left out or exchanged (Levenshtein). */
function changesBetween(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let i = 1; i <= one.length; i++) {
    const next = [i];
    for (let j = 1; j <= other.length; j++) {
      const exchanged = (row[j - 1] as number) + (one[i - 1] === other[j - 1] ? 0 : 1);
      next.push(Math.min(exchanged, (row[j] as number) + 1, (next[j - 1] as number) + 1));
    }
    row = next;
  }
  return row[other.length] as number;
}
