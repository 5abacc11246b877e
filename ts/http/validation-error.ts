/** Converts errors of AJV to the error for the client: the field, the requirement and the received value. */
import type { ErrorObject } from 'ajv';
import { ChasquiError, type ErrorCode, invalidValue } from '../errors.js';

/** Needs AJV's `verbose` option, because the message shows the invalid value. */
export function toValidationError(found: ErrorObject): ChasquiError {
  const param = toParam(found.instancePath);
  if (found.keyword === 'required') {
    const missing = join(param, String(found.params.missingProperty));
    return new ChasquiError('missing_required_parameter', `Missing required parameter: \`${missing}\`.`, missing);
  }
  if (found.propertyName !== undefined) {
    const name = describe(found.propertyName);
    return invalidValue(`The keys of \`${param}\` must be whole numbers, but got ${name}.`, param);
  }
  if (found.keyword === 'discriminator') return toVariantError(found, param);
  const code: ErrorCode = found.keyword === 'type' ? 'invalid_type' : 'invalid_value';
  const field = param === null ? 'The request body' : `\`${param}\``;
  return new ChasquiError(code, `${field} ${toExpectation(found)}${toFinding(found)}.`, param);
}

/** `/messages/0/content` → `messages[0].content`; the body itself is null. */
function toParam(instancePath: string): string | null {
  if (instancePath === '') return null;
  let param = '';
  for (const segment of instancePath.slice(1).split('/')) {
    const name = segment.replaceAll('~1', '/').replaceAll('~0', '~');
    if (/^\d+$/.test(name)) param += `[${name}]`;
    else param += param === '' ? name : `.${name}`;
  }
  return param;
}

function join(parent: string | null, child: string): string {
  return parent === null ? child : `${parent}.${child}`;
}

/** The discriminator (`role`, `type`) is absent, not a string, or unknown. */
function toVariantError(found: ErrorObject, parent: string | null): ChasquiError {
  const { tag, tagValue } = found.params as { tag: string; tagValue: unknown };
  const param = join(parent, tag);
  if (tagValue === undefined) {
    return new ChasquiError('missing_required_parameter', `Missing required parameter: \`${param}\`.`, param);
  }
  if (typeof tagValue !== 'string') {
    return new ChasquiError('invalid_type', `\`${param}\` must be a string, but got ${describe(tagValue)}.`, param);
  }
  const known = listOf(variantNames(found.parentSchema, tag));
  return invalidValue(`\`${param}\` must be ${known}, but got ${describe(tagValue)}.`, param);
}

interface VariantSchema {
  properties: Record<string, { const?: string; enum?: string[] }>;
}

function variantNames(schema: ErrorObject['parentSchema'], tag: string): string[] {
  const variants = (schema?.oneOf ?? []) as VariantSchema[];
  return variants.flatMap(({ properties }) => properties[tag]?.enum ?? [properties[tag]?.const ?? '']);
}

function toExpectation(found: ErrorObject): string {
  const { keyword, params, parentSchema } = found;
  switch (keyword) {
    case 'type':
      return `must be ${listOf([params.type].flat().map(withArticle), String)}`;
    case 'minimum':
    case 'maximum':
    case 'not':
      return `must be ${toRange(parentSchema as RangeSchema)}`;
    case 'exclusiveMinimum':
      return `must be greater than ${params.limit}`;
    case 'const':
      return `must be ${JSON.stringify(params.allowedValue)}`;
    case 'minLength':
      return 'must not be an empty string';
    case 'maxLength':
      return `must have at most ${params.limit} characters`;
    case 'maxProperties':
      return `must have at most ${params.limit} keys`;
    case 'minItems':
      return params.limit === 1 ? 'must not be an empty array' : `must have at least ${params.limit} items`;
    case 'enum':
      return `must be ${listOf(params.allowedValues.filter((value: unknown) => value !== null))}`;
    case 'pattern':
      return toForm(params.pattern);
    case 'maxItems':
      return `must have at most ${params.limit} items`;
    default:
      return `must be valid (${keyword})`;
  }
}

/** Describes the received value. Empty if the requirement already implies it: the value must not be empty. */
function toFinding({ keyword, params, data }: ErrorObject): string {
  const isEmpty = keyword === 'minLength' || (keyword === 'minItems' && params.limit === 1);
  return isEmpty ? '' : `, but got ${describe(data)}`;
}

/** Returns the pattern, or a readable form if it is only a set of letters. */
function toForm(pattern: string): string {
  const [, letters] = /^\^\[([a-z]+)\]\*\$$/.exec(pattern) ?? [];
  return letters === undefined ? `must match ${pattern}` : `must consist of the letters ${[...letters].join(', ')}`;
}

interface RangeSchema {
  minimum?: number;
  maximum?: number;
  /** The excluded value between `minimum`, which has a special meaning, and the smallest ordinary value. */
  not?: { const: number };
}

function toRange({ minimum, maximum, not }: RangeSchema): string {
  if (not !== undefined) return `${minimum} or at least ${not.const + 1}`;
  if (minimum === undefined) return `at most ${maximum}`;
  if (maximum === undefined) return `at least ${minimum}`;
  return `between ${minimum} and ${maximum}`;
}

const TYPE_NAMES: Record<string, string> = {
  integer: 'a whole number',
  number: 'a number',
  string: 'a string',
  boolean: 'true or false',
  array: 'an array',
  object: 'a JSON object',
};

function withArticle(type: string): string {
  return TYPE_NAMES[type] ?? type;
}

/** `a, b or c` */
function listOf(names: readonly string[], show: (name: string) => string = JSON.stringify): string {
  const shown = names.map(show);
  const last = shown.pop();
  return shown.length === 0 ? `${last}` : `${shown.join(', ')} or ${last}`;
}

const MAX_SHOWN_LENGTH = 40;

function describe(value: unknown): string {
  if (typeof value === 'string') {
    return `the string ${JSON.stringify(value.length > MAX_SHOWN_LENGTH ? `${value.slice(0, MAX_SHOWN_LENGTH)}…` : value)}`;
  }
  if (Array.isArray(value)) return value.length === 0 ? 'an empty array' : `an array of ${value.length}`;
  if (typeof value === 'object' && value !== null) return 'an object';
  return String(value);
}
