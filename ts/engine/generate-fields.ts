/** Validates the requests of library users, as `completeLoadOptions` validates load options. */
import { closest, distance } from 'fastest-levenshtein';
import { ChasquiError, invalidValue, unsupportedParameter } from '../errors.js';
import { MAX_CACHE_SALT } from '../options/model-option-table.js';
import { fits, MAX_COUNT, type OptionRow, wanted } from '../options/option-row.js';
import { ANY_SEED, SAMPLERS, SAMPLING_NUMBERS, SAMPLING_OPTIONS } from '../options/sampling-table.js';
import { shown } from './load-options.js';

interface Check {
  /** Describes the accepted values, to follow "must be". */
  says: string;
  accepts(value: unknown): boolean;
}

const boolean: Check = { says: 'true or false', accepts: (value) => typeof value === 'boolean' };
const text: Check = { says: 'a text', accepts: (value) => typeof value === 'string' };
const plainObject: Check = {
  says: 'an object that JSON can represent',
  accepts: (value) => isObject(value) && isJson(value),
};
const anyObject: Check = { says: 'an object', accepts: isObject };
const eachNotEmpty: Check = { says: 'a list of texts, none of them empty', accepts: isListOf(isNotEmpty) };
const nonEmptyTexts: Check = {
  says: 'a text or a list of texts, none of them empty',
  accepts: (value) => eachNotEmpty.accepts([value].flat()),
};

function integer(min: number, max = MAX_COUNT): Check {
  const accepts = (value: unknown) => Number.isInteger(value) && (value as number) >= min && (value as number) <= max;
  return { says: `a whole number from ${min} to ${max}`, accepts };
}

function orNull({ says, accepts }: Check): Check {
  return { says: `${says}, or null`, accepts: (value) => value === null || accepts(value) };
}

function ofRow(row: Pick<OptionRow, 'type'>): Check {
  return { says: wanted(row as OptionRow), accepts: (value) => fits(row as OptionRow, value) };
}

const PROMPT: Readonly<Record<string, Check>> = {
  prompt: {
    says: 'a text or a list of token ids',
    accepts: (value) => typeof value === 'string' || isListOf(isInt32)(value) || value instanceof Int32Array,
  },
  images: {
    says: 'a list of images',
    accepts: isListOf((each) => isObject(each) && ('bytes' in each || 'rgb' in each)),
  },
  grammar: orNull({
    says: 'GBNF as text, or a grammar',
    accepts: (value) => typeof value === 'string' || (isObject(value) && typeof value.gbnf === 'string'),
  }),
  preservedTokens: eachNotEmpty,
  formatStops: eachNotEmpty,
  format: orNull({
    says: 'the `format` of a rendered prompt',
    accepts: (value) => isObject(value) && typeof value.parser === 'string',
  }),
  reasoning: orNull(anyObject),
};

const MESSAGES: Readonly<Record<string, Check>> = {
  messages: { says: 'a list of messages', accepts: isListOf(isObject) },
  tools: { says: 'a list of tools', accepts: (value) => isListOf(isObject)(value) && isJson(value as object) },
  toolChoice: {
    says: '`auto`, `none`, `required` or an object with the name of a tool',
    accepts: (value) => ['auto', 'none', 'required'].includes(value as string) || isNamed(value),
  },
  parallelToolCalls: boolean,
  jsonSchema: plainObject,
  continueFinalMessage: boolean,
  specialTokens: boolean,
  templateKwargs: plainObject,
  grammar: PROMPT.grammar as Check,
};

const COMMON: Readonly<Record<string, Check>> = {
  maxTokens: orNull(integer(1)),
  stop: nonEmptyTexts,
  priority: integer(-MAX_COUNT),
  cachePrompt: boolean,
  cacheSalt: { says: `a text of at most ${MAX_CACHE_SALT} characters`, accepts: isShort },
  ignoreEos: boolean,
  topLogprobs: orNull(integer(0)),
  promptLogprobs: orNull(integer(0)),
  logprobsAfter: boolean,
  reasoningBudget: orNull(integer(0)),
  reasoningMessage: orNull(text),
  reasoningControl: boolean,
  adapters: orNull({
    says: 'a list of adapters and their scales',
    accepts: isListOf((each) => isObject(each) && integer(0).accepts(each.adapter) && Number.isFinite(each.scale)),
  }),
  signal: { says: 'an AbortSignal', accepts: (value) => value instanceof AbortSignal },
  ...Object.fromEntries(Object.entries(SAMPLING_NUMBERS).map(([name, row]) => [name, ofRow(row)])),
  seed: orNull(integer(0, ANY_SEED)),
  drySequenceBreakers: ofRow(SAMPLING_OPTIONS.drySequenceBreakers),
  samplers: { says: `a list of ${SAMPLERS.join(', ')}`, accepts: isListOf((each) => SAMPLERS.includes(each as never)) },
  logitBias: {
    says: 'an object of token ids and numbers',
    accepts: (value) =>
      isObject(value) &&
      Object.entries(value).every(([id, bias]) => /^\d+$/.test(id) && typeof bias === 'number' && !Number.isNaN(bias)),
  },
};

/** Fields of other interfaces, with another name than in camel case. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  response_format: 'jsonSchema',
  max_completion_tokens: 'maxTokens',
  n_predict: 'maxTokens',
  chat_template_kwargs: 'templateKwargs',
  abortSignal: 'signal',
};

/**
 * @throws {ChasquiError} that names the field: `missing_required_parameter`, `unknown_parameter`, `invalid_value`,
 * `unsupported_parameter`
 */
export function checkRequest(request: unknown): void {
  if (!isObject(request)) throw missing();
  const given = Object.keys(request).filter((name) => request[name] !== undefined);
  const [hasMessages, hasPrompt] = [given.includes('messages'), given.includes('prompt')];
  if (hasMessages === hasPrompt) throw hasPrompt ? both() : missing();
  const fields = { ...COMMON, ...(hasPrompt ? PROMPT : MESSAGES) };
  const others = hasPrompt ? MESSAGES : PROMPT;
  for (const name of given) {
    const check = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (check === undefined) throw unknownField(name, Object.hasOwn(others, name), hasPrompt, Object.keys(fields));
    const value = request[name];
    if (check.accepts(value)) continue;
    throw invalidValue(`\`${name}\` is ${shown(value)}, but must be ${check.says}.`, name);
  }
}

function missing(): ChasquiError {
  return new ChasquiError('missing_required_parameter', '`generate` needs a `prompt` or `messages`.', 'messages');
}

function both(): ChasquiError {
  return invalidValue('`prompt` and `messages` cannot be used together.', 'prompt');
}

function unknownField(name: string, isKnown: boolean, hasPrompt: boolean, names: readonly string[]): ChasquiError {
  if (isKnown) {
    return unsupportedParameter(`\`${name}\` cannot be used with \`${hasPrompt ? 'prompt' : 'messages'}\`.`, name);
  }
  const camelCase = name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  const other = Object.hasOwn(OTHER_NAMES, name) ? OTHER_NAMES[name] : undefined;
  const near = other ?? closest(camelCase, names);
  const isNear = other !== undefined || distance(near, camelCase) <= 2;
  const hint = isNear ? ` Did you mean \`${near}\`?` : '';
  return new ChasquiError(
    'unknown_parameter',
    `\`${name.slice(0, 100)}\` is not an option of \`generate\`.${hint}`,
    name,
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isListOf(accepts: (each: unknown) => boolean): (value: unknown) => boolean {
  // `every` would skip the holes of sparse lists.
  return (value) => Array.isArray(value) && value.findIndex((each) => !accepts(each)) < 0;
}

function isNotEmpty(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}

function isShort(value: unknown): boolean {
  return typeof value === 'string' && value.length <= MAX_CACHE_SALT;
}

function isInt32(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) === ((value as number) | 0);
}

function isNamed(choice: unknown): boolean {
  const named = isObject(choice) && 'function' in choice ? choice.function : choice;
  return isObject(named) && typeof named.name === 'string';
}

function isJson(value: object): boolean {
  try {
    JSON.stringify(value);
    return true;
  } catch {
    return false;
  }
}
