/** JSON values drawn from a JSON Schema. Most are valid; where a schema does not tell, whatever comes. */
import type { JsonSchema } from '../../ts/http/schema/json-schema.js';

/** Numbers from 0 to 1. */
export type Random = () => number;

const STRINGS = [
  '',
  'a',
  'Count from 3 to 9',
  'Hello, wörld',
  '數到五',
  '👩‍👩‍👧‍👦',
  '\ud800',
  '\u0000\u001b[31m',
  '<|im_end|>',
  '{{ messages[0] }}{% for x in y %}',
  '"}]}\n\ndata: [DONE]\n\n',
  '../../etc/passwd',
  '__proto__',
  'x'.repeat(300),
];

export function pick<T>(random: Random, items: readonly T[]): T {
  return items[Math.floor(random() * items.length)] as T;
}

export function below(random: Random, limit: number): number {
  return Math.floor(random() * limit);
}

export function randomValue(random: Random, schema: JsonSchema, depth = 0): unknown {
  if ('const' in schema) return schema.const;
  if (Array.isArray(schema.enum)) return pick(random, schema.enum);
  const branches = (schema.oneOf ?? schema.anyOf ?? branchesOf(schema)) as JsonSchema[] | undefined;
  if (branches) return randomValue(random, merged(schema, pick(random, branches)), depth);
  const type = schema.type ?? (schema.properties ? 'object' : undefined);
  switch (type === undefined ? undefined : pick(random, [type].flat())) {
    case 'string':
      return randomString(random, schema);
    case 'integer':
      return randomInteger(random, schema);
    case 'number':
      return random() < 0.5 ? randomInteger(random, schema) : random() * ((schema.maximum as number | undefined) ?? 2);
    case 'boolean':
      return random() < 0.5;
    case 'null':
      return null;
    case 'array':
      return randomArray(random, schema, depth);
    case 'object':
      return randomObject(random, schema, depth);
    default:
      return anyValue(random, depth);
  }
}

/** `if`, `then` and `else` as two schemas to choose from. */
function branchesOf(schema: JsonSchema): JsonSchema[] | undefined {
  if (!('if' in schema)) return undefined;
  const { if: condition, then: yes = {}, else: no = {} } = schema as Record<string, JsonSchema>;
  const isTyped = condition?.type !== undefined;
  return [
    merged(condition ?? {}, yes as JsonSchema),
    isTyped ? { type: 'object', ...(no as JsonSchema) } : (no as JsonSchema),
  ];
}

function merged(schema: JsonSchema, branch: JsonSchema): JsonSchema {
  const { oneOf: _one, anyOf: _any, if: _if, then: _then, else: _else, ...common } = schema;
  return {
    ...common,
    ...branch,
    properties: { ...(common.properties as object), ...(branch.properties as object) },
    required: [...((common.required as string[]) ?? []), ...((branch.required as string[]) ?? [])],
  };
}

function randomString(random: Random, { pattern }: JsonSchema): string {
  if (pattern !== undefined && random() < 0.9)
    return String(pattern).includes('a-z') ? 'get_weather' : `${below(random, 300)}`;
  return random() < 0.05 ? 'long '.repeat(below(random, 2000)) : pick(random, STRINGS);
}

/** Mostly small, because large numbers of choices and tokens are slow and find no further bugs. */
function randomInteger(random: Random, schema: JsonSchema): number {
  const { minimum = 0, maximum = 2 ** 31 } = schema as { minimum?: number; maximum?: number };
  const chance = random();
  if (chance < 0.02) return maximum;
  if (chance < 0.1) return minimum;
  return Math.min(maximum, Math.max(minimum, 0) + below(random, 6));
}

function randomArray(random: Random, schema: JsonSchema, depth: number): unknown[] {
  const { minItems = 0, items = {} } = schema as { minItems?: number; items?: JsonSchema };
  return Array.from({ length: minItems + below(random, depth < 4 ? 3 : 1) }, () =>
    randomValue(random, items, depth + 1),
  );
}

function randomObject(random: Random, schema: JsonSchema, depth: number): Record<string, unknown> {
  const properties = Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>);
  const required = (schema.required ?? []) as string[];
  const share = random() * 0.6;
  const chosen = properties.filter(([name]) => required.includes(name) || random() < share);
  const object = Object.fromEntries(chosen.map(([name, inner]) => [name, randomValue(random, inner, depth + 1)]));
  if (typeof schema.additionalProperties === 'object') {
    object[`${below(random, pick(random, [300, 1e9]))}`] = randomValue(
      random,
      schema.additionalProperties as JsonSchema,
      depth + 1,
    );
  } else if (properties.length === 0 && depth < 5 && random() < 0.7) {
    object[pick(random, SCHEMA_WORDS)] = anyValue(random, depth + 1);
  }
  return object;
}

/** Fields that accept any object are often JSON schemas. */
const SCHEMA_WORDS = [
  'type',
  'properties',
  'items',
  'enum',
  'anyOf',
  '$ref',
  'pattern',
  'minimum',
  'enable_thinking',
  'x',
];

export function anyValue(random: Random, depth = 0): unknown {
  const kinds = depth < 4 ? 9 : 7;
  switch (below(random, kinds)) {
    case 0:
      return null;
    case 1:
      return random() < 0.5;
    case 2:
      return pick(random, [0, -1, 1, 0.5, 1e308, -1e308, 2 ** 53, 2 ** 64, 5e-324]);
    case 3:
      return pick(random, ['object', 'string', 'array', 'integer', '#/definitions/x', '^[a-z]+$', '[']);
    case 4:
    case 5:
      return pick(random, STRINGS);
    case 6:
      return [];
    case 7:
      return Array.from({ length: below(random, 3) }, () => anyValue(random, depth + 1));
    default:
      return {
        [pick(random, SCHEMA_WORDS)]: anyValue(random, depth + 1),
        [pick(random, STRINGS)]: anyValue(random, depth + 1),
      };
  }
}
