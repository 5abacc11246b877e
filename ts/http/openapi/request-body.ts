/**
 * The schema that a route checks bodies with → what a reader of the document sees: described, with defaults and nulls.
 */
import type { Profile } from '../../profiles/profile.js';
import { type JsonSchema, orNull } from '../../schemas/json-schema.js';
import { defaultOf, FIELD_DESCRIPTIONS } from './fields.js';
import type { Operation } from './operation.js';

type Properties = Record<string, JsonSchema>;

/** A field that is `null` counts as absent: nulls are removed before the route's own schema checks the body. */
export function describeBody(body: JsonSchema, { fields = {} }: Operation, profile: Profile): JsonSchema {
  const properties = body.properties as Properties;
  const required = (body.required ?? []) as string[];
  const described = Object.entries(properties).map(([name, schema]) => {
    const plain = withoutDiscriminators(schema) as JsonSchema;
    const allowed = required.includes(name) ? plain : orNull(plain);
    const value = defaultOf(name, profile);
    const description = fields[name] ?? FIELD_DESCRIPTIONS[name];
    const isDefault = value !== undefined;
    return [name, { ...(description && { description }), ...allowed, ...(isDefault && { default: value }) }];
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
