/**
 * The parts of a JSON Schema that no grammar enforces, because llama.cpp's converter passes over them: keywords that it
 * does not know, and values that no grammar can hold. `vendor/patches/0006` changes the converter.
 */

type Schema = Record<string, unknown>;

/** Keywords that describe. */
const DESCRIBING = words(
  '$schema $id $comment $anchor title description default examples deprecated readOnly writeOnly $defs definitions',
);
/** Keywords that the grammar enforces. */
const ENFORCED = words(
  'type enum const anyOf oneOf allOf $ref properties required additionalProperties items prefixItems minItems maxItems',
  'pattern minLength maxLength format minimum maximum exclusiveMinimum exclusiveMaximum',
);
/** Only the first of these that a schema has is enforced. A `type` beside it mostly repeats what it says. */
const ALONE = ['$ref', 'oneOf', 'anyOf'];
const FORMATS = words('date time date-time duration email hostname ipv4 ipv6 uuid');
/** What OpenAI's strict schemas may have beside what is enforced here. */
const ALLOWED_STRICTLY = words(
  'pattern format multipleOf minimum maximum exclusiveMinimum exclusiveMaximum minItems maxItems',
);
const BOUNDS = words('minimum maximum exclusiveMinimum exclusiveMaximum');
const COUNTS = words('minItems maxItems minLength maxLength');
const MAPS_OF_SCHEMAS = words('properties $defs definitions');
const VALUES = words('enum const default examples required');

/** A grammar may repeat a rule this many times. */
const MAX_REPETITIONS = 2000;
/** A grammar has 16 digits for the whole part of a number. */
const MAX_BOUND = 1e15;
/** Limit of the decimals of a numeric bound. */
const MAX_DECIMALS = 9;
/** How many references may lead to each other before one leads to a schema. */
const MAX_REFERENCES = 64;

/**
 * Yields the paths of those parts, each with `path` before it. This is a generator because most callers want the first
 * few only. With `strict`, it yields those that OpenAI's strict schemas do not have, and also the schema `true`, which
 * demands nothing.
 */
export function* unenforced(root: object, path: string, strict = false): Generator<string> {
  const references = new References(root);
  const todo: [schema: unknown, at: string][] = [[root, path]];
  for (let next = todo.pop(); next; next = todo.pop()) {
    const [schema, at] = next;
    if (schema === false || (strict && schema === true)) yield at;
    if (!isObject(schema)) continue;
    for (const keyword of Object.keys(schema)) {
      if (isEnforced(keyword, schema, references) || (strict && isAllowedStrictly(keyword, schema))) continue;
      yield `${at}.${keyword}`;
    }
    for (const child of [...childrenOf(schema, at)].reverse()) todo.push(child);
  }
}

function isEnforced(keyword: string, schema: Schema, references: References): boolean {
  if (DESCRIBING.has(keyword)) return true;
  if (!ENFORCED.has(keyword)) return false;
  const alone = ALONE.find((each) => schema[each] !== undefined);
  if (alone !== undefined && keyword !== alone && keyword !== 'type') return false;
  const value = schema[keyword];
  if (BOUNDS.has(keyword)) return isEnforcedBound(Number(value), schema.type);
  if (COUNTS.has(keyword)) return !(Number(value) > MAX_REPETITIONS);
  switch (keyword) {
    case 'format':
      return schema.pattern !== undefined || FORMATS.has(String(value));
    case 'pattern':
      return typeof value !== 'string' || isEnforceablePattern(value);
    case 'items':
      return value !== false;
    case 'enum':
      return !Array.isArray(value) || value.length > 0;
    case '$ref':
      return typeof value !== 'string' || references.leadToSchema(value);
    default:
      return true;
  }
}

function isAllowedStrictly(keyword: string, schema: Schema): boolean {
  if (keyword === 'format') return FORMATS.has(String(schema.format));
  return ALLOWED_STRICTLY.has(keyword);
}

/** Of an integer, bounds are rounded inwards; of a number, they are enforced digit by digit. What is no number is an error. */
function isEnforcedBound(bound: number, type: unknown): boolean {
  const types: unknown[] = [type].flat();
  if (!types.includes('integer') && !types.includes('number')) return false;
  if (Math.abs(bound) >= MAX_BOUND) return false;
  return !types.includes('number') || Number.isNaN(bound) || Number(bound.toFixed(MAX_DECIMALS)) === bound;
}

/** The references of one schema. Each is looked up once, because it may be long, and many may lead to it. */
class References {
  readonly #root: object;
  readonly #targets = new Map<string, unknown>();

  constructor(root: object) {
    this.#root = root;
  }

  /** False for a reference to another document or in a circle. A reference to nothing is refused by the converter. */
  leadToSchema(reference: string): boolean {
    let next: unknown = reference;
    for (let n = 0; n <= MAX_REFERENCES; n++) {
      if (typeof next !== 'string') return true;
      if (next !== '#' && !next.startsWith('#/')) return false;
      const target = this.#targetOf(next);
      next = isObject(target) ? target.$ref : undefined;
    }
    return false;
  }

  #targetOf(reference: string): unknown {
    if (!this.#targets.has(reference)) this.#targets.set(reference, resolve(reference, this.#root));
    return this.#targets.get(reference);
  }
}

function resolve(reference: string, root: object): unknown {
  let target: unknown = root;
  for (const token of reference.split('/').slice(1)) {
    if (typeof target !== 'object' || target === null) return undefined;
    const name = token.replaceAll('~1', '/').replaceAll('~0', '~');
    target = Object.hasOwn(target, name) ? (target as Schema)[name] : undefined;
  }
  return target;
}

const ESCAPE = String.raw`\\(?:x[\da-fA-F]{2}|u[\da-fA-F]{4}|U[\da-fA-F]{8}|[trn\\"[\]-])`;
const PATTERN_PART = new RegExp(
  [
    String.raw`\(\?:|\((?!\?)|\)|[.|*+?]`,
    String.raw`\[\^?(?!\])(?:[^\]\\]|${ESCAPE})*\]`,
    String.raw`\{(?<least>\d+)\}|\{(?<from>\d*),(?<to>\d*)\}`,
    String.raw`\\[\^$.[\]()|{}*+?]|${ESCAPE}|[^\^$[\](){}\\]`,
  ].join('|'),
  'y',
);
const MAX_PATTERN_DEPTH = 100;

/** Whether the converter can make a grammar of a regular expression; what is none is refused by the converter. */
function isEnforceablePattern(pattern: string): boolean {
  if (pattern.length < 2 || !pattern.startsWith('^') || !pattern.endsWith('$')) return false;
  const inner = pattern.slice(1, -1);
  let depth = 0;
  for (PATTERN_PART.lastIndex = 0; PATTERN_PART.lastIndex < inner.length; ) {
    const found = PATTERN_PART.exec(inner);
    if (!found) return /\\$/.test(inner); // it ends within an escape, which is an error
    const { least, from, to } = found.groups ?? {};
    if ([least, from, to].some((times) => Number(times ?? 0) > MAX_REPETITIONS)) return false;
    if (found[0].startsWith('(')) depth += 1;
    else if (found[0] === ')') depth -= 1;
    if (depth > MAX_PATTERN_DEPTH) return false;
  }
  return true;
}

/** The first of these parts, at most `max`, and one more if there are more. */
export function unenforcedOf(schema: object, path: string, max: number): string[] {
  const found: string[] = [];
  for (const part of unenforced(schema, path)) {
    found.push(part);
    if (found.length > max) return found;
  }
  return found;
}

function* childrenOf(schema: Schema, path: string): Generator<[schema: unknown, at: string]> {
  for (const [keyword, value] of Object.entries(schema)) {
    if (VALUES.has(keyword) || !(DESCRIBING.has(keyword) || ENFORCED.has(keyword))) continue;
    const at = `${path}.${keyword}`;
    if (Array.isArray(value)) {
      for (const [index, each] of value.entries()) yield [each, `${at}[${index}]`];
    } else if (MAPS_OF_SCHEMAS.has(keyword)) {
      if (isObject(value)) for (const [name, each] of Object.entries(value)) yield [each, `${at}.${name}`];
    } else if (isObject(value)) {
      yield [value, at];
    }
  }
}

function isObject(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function words(...lines: string[]): ReadonlySet<string> {
  return new Set(lines.flatMap((line) => line.split(' ')));
}
