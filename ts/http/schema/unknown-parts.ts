/** The members of a value that its schema does not know. */
import type { JsonSchema } from './json-schema.js';

/**
 * Yields their paths, such as `messages[0].colour`. The value must be valid by the schema. A member that is `null` asks for
 * nothing. Objects of which the schema names no properties, or which may have others, are whatever their sender wants.
 */
export function* unknownParts(value: unknown, schema: JsonSchema, path = ''): Generator<string> {
  if (typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) {
    if (!isSchema(schema.items)) return;
    for (const [index, item] of value.entries()) yield* unknownParts(item, schema.items, `${path}[${index}]`);
    return;
  }
  const { properties, additionalProperties } = variantOf(value as Record<string, unknown>, schema);
  if (!isSchema(properties) || additionalProperties !== undefined) return;
  for (const [name, member] of Object.entries(value)) {
    if (member === null) continue;
    const at = path === '' ? name : `${path}.${name}`;
    const known = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (isSchema(known)) yield* unknownParts(member, known, at);
    else yield at;
  }
}

/** Of a schema with variants, the one that the value is. */
function variantOf(value: Record<string, unknown>, schema: JsonSchema): JsonSchema {
  // What may also be a text has the schema of its objects here.
  if (isSchema(schema.else)) return variantOf(value, schema.else);
  const { discriminator, oneOf } = schema;
  if (!isSchema(discriminator) || !Array.isArray(oneOf)) return schema;
  const tag = String(discriminator.propertyName);
  const isMeant = ({ properties }: JsonSchema): boolean => {
    const { const: only, enum: several } = (properties as Record<string, JsonSchema>)[tag] ?? {};
    return only === value[tag] || (Array.isArray(several) && several.includes(value[tag]));
  };
  return (oneOf as JsonSchema[]).find(isMeant) ?? {};
}

function isSchema(schema: unknown): schema is JsonSchema {
  return typeof schema === 'object' && schema !== null;
}
