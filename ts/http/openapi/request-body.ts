/**
 * The schema that a route checks bodies with → what a reader of the document sees: described, with defaults and nulls.
 */
import { SAMPLING_FIELDS } from '../../chat/to-job.js';
import type { SamplingSettings } from '../../engine/job.js';
import type { Profile } from '../../profiles/profile.js';
import { type Fields, type JsonSchema, orNull, type Schema } from '../../schemas/json-schema.js';

/** A field that is `null` counts as absent: nulls are removed before the route's own schema checks the body. */
export function describeBody(body: JsonSchema, profile: Profile): JsonSchema {
  if (body.properties === undefined) return body;
  const properties = body.properties as Fields;
  const required = (body.required ?? []) as string[];
  const described = Object.entries(properties).map(([name, schema]) => {
    const { description, ...plain } = withoutDiscriminators(schema) as Schema<unknown>;
    const value = defaultOf(name, schema, profile);
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

/** The mode's own default where it has one. */
export function defaultOf(name: string, schema: JsonSchema, { sampling }: Profile): unknown {
  const setting = SETTING_OF[name]?.[0];
  return setting === undefined ? schema.default : sampling[setting];
}

const SETTING_OF: Readonly<Record<string, readonly [keyof SamplingSettings, unknown]>> = SAMPLING_FIELDS;

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
