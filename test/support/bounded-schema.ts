/** Schemas with limits that small models keep to. */

export interface Schema {
  [keyword: string]: unknown;
  type?: string | string[];
  properties?: Record<string, Schema>;
  $defs?: Record<string, Schema>;
  items?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
}
const LIMITS: Record<string, object> = {
  string: { maxLength: 12 },
  array: { maxItems: 2 },
  number: { minimum: -99, maximum: 99 },
  integer: { minimum: -99, maximum: 99 },
  object: { additionalProperties: false },
};

/** The same schema, with limits for values of any length: small models do not end these. */
export function bounded(schema: Schema): Schema {
  const each = (map?: Record<string, Schema>) =>
    map && Object.fromEntries(Object.entries(map).map(([name, part]) => [name, bounded(part)]));
  // Its alternatives have members of their own.
  const isOpen = schema.type === 'object' && (schema.oneOf || schema.allOf || (schema.anyOf && !schema.properties));
  const limits = isOpen ? [{ unevaluatedProperties: false }] : [schema.type ?? []].flat().map((type) => LIMITS[type]);
  const parts = {
    properties: each(schema.properties),
    $defs: each(schema.$defs),
    items: schema.items && bounded(schema.items),
    anyOf: schema.anyOf?.map(bounded),
    oneOf: schema.oneOf?.map(bounded),
    allOf: schema.allOf?.map(bounded),
  };
  return JSON.parse(JSON.stringify(Object.assign({}, ...limits, schema, parts)));
}
