/** Short forms for writing the schemas of replies. */

export type JsonSchema = Record<string, unknown>;
type Properties = Record<string, JsonSchema>;

export const string: JsonSchema = { type: 'string' };
export const number: JsonSchema = { type: 'number' };
export const integer: JsonSchema = { type: 'integer' };
export const boolean: JsonSchema = { type: 'boolean' };
export const anything: JsonSchema = {};
export const nothing: JsonSchema = { type: 'null' };

/** An object that always has the `required` properties and may have the `optional` ones. */
export function objectOf(required: Properties, optional: Properties = {}): JsonSchema {
  return { type: 'object', required: Object.keys(required), properties: { ...required, ...optional } };
}

export function arrayOf(items: JsonSchema): JsonSchema {
  return { type: 'array', items };
}

export function exactly(value: string | number | boolean): JsonSchema {
  return { const: value };
}

export function oneOf(...values: string[]): JsonSchema {
  return { enum: values };
}

export function anyOf(...schemas: JsonSchema[]): JsonSchema {
  return { anyOf: schemas };
}

export function orNull(schema: JsonSchema): JsonSchema {
  const { type } = schema;
  if (Array.isArray(schema.enum)) return { ...schema, enum: [...schema.enum, null] };
  if (type === undefined) return anyOf(schema, nothing);
  const types = [type].flat();
  return types.includes('null') ? schema : { ...schema, type: [...types, 'null'] };
}
