/**
 * JSON Schemas of tools and response formats. A grammar enforces what llama.cpp's converter knows; where a request says
 * `strict`, a keyword that it would pass over in silence is an error instead.
 */
import { ChasquiError } from '../errors.js';
import { limitDepth } from './json-depth.js';

const LONGEST = 512 * 1024;

type Schema = Record<string, unknown>;

export function checkSchema(schema: object, param: string, strict: boolean): void {
  limitDepth(schema, param);
  if (JSON.stringify(schema).length > LONGEST) {
    throw new ChasquiError('invalid_value', `\`${param}\` is longer than ${LONGEST / 1024} KiB.`, param);
  }
  if (strict) checkKeywords(schema as Schema, param);
}

/** Keywords that describe, and keywords that the grammar enforces. */
const KNOWN: ReadonlySet<string> = new Set(
  [
    '$schema $id $comment $anchor title description default examples deprecated readOnly writeOnly',
    'type enum const anyOf oneOf allOf $ref $defs definitions',
    'properties required additionalProperties items prefixItems minItems maxItems',
    'pattern minLength maxLength format minimum maximum exclusiveMinimum exclusiveMaximum',
  ].flatMap((words) => words.split(' ')),
);
const FORMATS: readonly unknown[] = ['date', 'time', 'date-time', 'uuid'];
const BOUNDS = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'];
const MAPS_OF_SCHEMAS = ['properties', '$defs', 'definitions'];

function checkKeywords(schema: Schema, path: string): void {
  for (const keyword of Object.keys(schema)) {
    if (!KNOWN.has(keyword)) throw notEnforced(`${path}.${keyword}`);
  }
  if (schema.format !== undefined && schema.pattern === undefined && !FORMATS.includes(schema.format)) {
    throw notEnforced(`${path}.format`);
  }
  const bound = BOUNDS.find((name) => schema[name] !== undefined);
  if (bound !== undefined && schema.type !== 'integer') throw notEnforced(`${path}.${bound}`);
  for (const [child, childPath] of childrenOf(schema, path)) checkKeywords(child, childPath);
}

function* childrenOf(schema: Schema, path: string): Generator<[Schema, string]> {
  for (const [keyword, value] of Object.entries(schema)) {
    if (keyword === 'enum' || keyword === 'const' || keyword === 'default' || keyword === 'examples') continue;
    const at = `${path}.${keyword}`;
    if (Array.isArray(value)) {
      for (const [index, each] of value.entries()) if (isObject(each)) yield [each, `${at}[${index}]`];
    } else if (isObject(value)) {
      if (!MAPS_OF_SCHEMAS.includes(keyword)) yield [value, at];
      else for (const [name, each] of Object.entries(value)) if (isObject(each)) yield [each, `${at}.${name}`];
    }
  }
}

function isObject(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function notEnforced(param: string): ChasquiError {
  return new ChasquiError(
    'unsupported_parameter',
    `\`${param}\` cannot be enforced, but the schema is to be obeyed strictly: leave it out, or do not ask for \`strict\`.`,
    param,
  );
}
