/**
 * Builders of JSON schemas. They return plain JSON schemas that also carry, for the type checker only, the type of the
 * accepted values: `Static<typeof schema>`.
 */

export type JsonSchema = Record<string, unknown>;

declare const accepted: unique symbol;

/** A JSON schema of values of type `T`. There is no such property at run time. */
export interface Schema<T> extends JsonSchema {
  readonly [accepted]: T;
}

export type Static<S> = S extends { readonly [accepted]: infer T } ? T : never;

export type Fields = Record<string, Schema<unknown>>;

/** The type of an object with these fields; the comment on a field is shown where the field is used. */
export type StaticFields<Required extends Fields, Optional extends Fields = Record<never, never>> = Shown<
  { [Name in keyof Required]: Static<Required[Name]> } & { [Name in keyof Optional]?: Static<Optional[Name]> }
>;

/** The same type as one list of properties, which is what editors and compiler errors show. */
type Shown<T> = { [Name in keyof T]: T[Name] } & unknown;

export interface ObjectSchema<Required extends Fields, Optional extends Fields>
  extends Schema<StaticFields<Required, Optional>> {
  type: 'object';
  required?: string[];
  properties: Required & Optional;
}

/** A schema without a builder, and the type of the values that it accepts. */
export function typed<T>(schema: JsonSchema): Schema<T> {
  return schema as Schema<T>;
}

export const string = typed<string>({ type: 'string' });
export const number = typed<number>({ type: 'number' });
export const integer = typed<number>({ type: 'integer' });
export const boolean = typed<boolean>({ type: 'boolean' });
export const anything = typed<unknown>({});
export const nothing = typed<null>({ type: 'null' });
export const anyObject = typed<Record<string, unknown>>({ type: 'object' });

/** A field of a request: what it means, what it accepts, and further keywords such as bounds. */
export function field<S extends Schema<unknown>>(description: string, schema: S, keywords: JsonSchema = {}): S {
  return { description, ...schema, ...keywords };
}

export function limited<S extends Schema<unknown>>(schema: S, keywords: JsonSchema): S {
  return { ...schema, ...keywords };
}

/** An object that always has the `required` properties and may have the `optional` ones. */
export function objectOf<Required extends Fields, Optional extends Fields = Record<never, never>>(
  required: Required,
  optional: Optional = {} as Optional,
): ObjectSchema<Required, Optional> {
  const names = Object.keys(required);
  const schema = {
    type: 'object',
    ...(names.length > 0 && { required: names }),
    properties: { ...required, ...optional },
  };
  return schema as JsonSchema as ObjectSchema<Required, Optional>;
}

/** Like `objectOf`, with any other properties, which are not reported as ignored. */
export function openObjectOf<Required extends Fields, Optional extends Fields = Record<never, never>>(
  required: Required,
  optional: Optional = {} as Optional,
): ObjectSchema<Required, Optional> {
  return limited(objectOf(required, optional), { additionalProperties: true });
}

/** Like `objectOf`, without other properties. */
export function closedObjectOf<Required extends Fields, Optional extends Fields = Record<never, never>>(
  required: Required,
  optional: Optional = {} as Optional,
): ObjectSchema<Required, Optional> {
  return limited(objectOf(required, optional), { additionalProperties: false });
}

/** Selects the named fields. Keeps the type of all: fields that a mode omits are absent from its requests. */
export function pickFields<F extends Fields>(fields: F, names: readonly string[]): F {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => names.includes(name))) as F;
}

/** An object with any keys and values of one schema. */
export function recordOf<T>(values: Schema<T>): Schema<Record<string, T>> {
  return typed({ type: 'object', additionalProperties: values });
}

export function arrayOf<T>(items: Schema<T>): Schema<T[]> & { items: Schema<T> } {
  return { type: 'array', items } as JsonSchema as Schema<T[]> & { items: Schema<T> };
}

export function exactly<const T extends string | number | boolean>(value: T): Schema<T> {
  return typed({ const: value });
}

export function oneOf<const T extends string>(...values: readonly T[]): Schema<T> {
  return typed({ enum: values });
}

export function anyOf<S extends Schema<unknown>[]>(...schemas: S): Schema<Static<S[number]>> {
  return typed({ anyOf: schemas });
}

export function orNull<T>(schema: Schema<T>): Schema<T | null> {
  const { type } = schema;
  if (Array.isArray(schema.enum)) return typed({ ...schema, enum: [...schema.enum, null] });
  if (type === undefined) return anyOf(schema, nothing);
  const types = [type].flat();
  return typed(types.includes('null') ? schema : { ...schema, type: [...types, 'null'] });
}

/** A string, or a value of `schema`. Merged into one list of types: errors name all of them. */
export function orString<T>(schema: Schema<T>): Schema<string | T> {
  return typed({ ...schema, type: ['string', ...[schema.type].flat()] });
}
