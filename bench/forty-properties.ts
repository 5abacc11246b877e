/** A JSON schema with forty properties on three levels. A grammar can enforce all of them. */
const LEAVES = [
  { type: 'integer', minimum: 0, maximum: 99 },
  { enum: ['red', 'green', 'blue'] },
  { type: 'boolean' },
  { type: 'string', maxLength: 6 },
  { type: ['null', 'boolean'] },
  { type: 'string', pattern: '^[a-c]{2,4}$' },
  { type: 'array', items: { type: 'integer', minimum: 1, maximum: 5 }, minItems: 1, maxItems: 3 },
  { const: 'fixed' },
  { type: 'string', format: 'date' },
];

export const fortyProperties = record({
  ...Object.fromEntries(
    ['ann', 'bob', 'eve'].map((name, at) => [name, record({ left: leaves(5, at), right: leaves(5, at + 5) })]),
  ),
  choice: { anyOf: [{ type: 'boolean' }, { type: 'integer', minimum: 0, maximum: 9 }] },
});

function leaves(count: number, from: number): object {
  const kinds = Array.from({ length: count }, (_, i) => LEAVES[(from + i) % LEAVES.length] as object);
  return record(Object.fromEntries(kinds.map((kind, i) => [`f${i}`, kind])));
}

function record(properties: Record<string, object>): object {
  return { type: 'object', properties, required: Object.keys(properties), additionalProperties: false };
}
