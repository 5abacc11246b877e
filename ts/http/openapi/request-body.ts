/**
 * Validation schema of a route → schema in the document: with descriptions, defaults and nulls.
 */
import { type Fields, type JsonSchema, orNull, type Schema } from '../schema/json-schema.js';

export type DefaultOf = (field: string, schema: JsonSchema) => unknown;

/** A field that is `null` counts as absent: nulls are removed before the route's own schema checks the body. */
export function describeBody(body: JsonSchema, defaultOf: DefaultOf): JsonSchema {
  if (body.properties === undefined) return body;
  const properties = body.properties as Fields;
  const required = (body.required ?? []) as string[];
  const described = Object.entries(properties).map(([name, schema]) => {
    const { description, ...plain } = withoutDiscriminators(schema) as Schema<unknown>;
    const value = defaultOf(name, schema);
    return [
      name,
      {
        ...(description !== undefined && { description }),
        ...(required.includes(name) ? plain : orNull(plain as Schema<unknown>)),
        ...(value !== undefined && { default: value }),
      },
    ];
  });
  return { ...body, properties: Object.fromEntries(described) };
}

/**
 * OpenAPI allows `discriminator` for named schemas only. Without it the variants still exclude each other by the value
 * of the field that tells them apart.
 */
function withoutDiscriminators(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutDiscriminators);
  if (typeof schema !== 'object' || schema === null) return schema;
  const entries = Object.entries(schema).filter(([keyword]) => keyword !== 'discriminator');
  return Object.fromEntries(entries.map(([keyword, value]) => [keyword, withoutDiscriminators(value)]));
}
