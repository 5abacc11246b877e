/** Schemas for the random walks of test/llama/schema-walks.test.ts. Each must be enforced completely. */

const text = (pattern: string, more: object = {}) => ({ type: 'string', pattern, ...more });
const object = (properties: object, required: string[] = [], more: object = {}) => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
  ...more,
});
const FORMATS = [
  ...[
    'date',
    'time',
    'date-time',
    'duration',
    'email',
    'idn-email',
    'hostname',
    'idn-hostname',
    'ipv4',
    'ipv6',
    'uuid',
  ],
  ...['uri', 'uri-reference', 'iri', 'iri-reference', 'uri-template', 'json-pointer', 'relative-json-pointer', 'regex'],
];
const s = { type: 'string' };
const n = { type: 'integer' };

export const WALKED_SCHEMAS: Record<string, object> = {
  'alike names': object({ user_id: n, 'user-id': s, 开: { type: 'boolean' }, 关: { type: 'null' }, '': n, ' ': s }, [
    '开',
    '关',
  ]),
  'odd names': object({ '"': n, '\\': s, '\n': n, '\u0000': s, ']': n, '^': s, 'a b': n, __proto__x: s, '😀': n }, [
    '"',
    '\\',
  ]),
  'names of rules': object({ root: s, space: n, value: s, s0: n, 's-char': s, string: n }, ['root', 's0']),
  'an escaped backslash': text('^hello there indeed\\\\!$'),
  'quotes in a pattern': text('^"[a-z]{2}"$'),
  'anything in a pattern': text('^a.*$'),
  'no slash': object({ v: text('^[^/]+$') }, ['v']),
  classes: text('^\\d\\D\\w\\W\\s\\S[\\d-][^\\s\\w]\\/\\.$'),
  'control characters': text('^[\\t\\n\\v\\f\\r\\0\\cA\\x07\\u0008]{3}$'),
  Unicode: text('^[\\u00e9\\u{1F600}\\uD83D\\uDE00é漢-龠]+$'),
  categories: text('^\\p{L}\\p{N}\\P{L}[\\p{Letter}_]$'),
  'no anchors': text('b+c'),
  'the beginning': text('^ab'),
  'the end': text('ab$'),
  'an alternative with anchors': text('^a|b$'),
  'anchors within': text('^(?:a|b$|^c)d?$'),
  'word boundaries': text('\\bfoo\\b'),
  'no word boundary': text('^a\\Bb \\bc$'),
  groups: text('^(a|(?:b|c)+|(?<name>d{2,3}?)*)e$'),
  'nested repetitions': text('^((a{2}){2}|(b*)*c){1,2}$'),
  'a pattern with a length': text('^[a-c]+$', { minLength: 3, maxLength: 5 }),
  'a pattern anywhere with a length': text('x', { minLength: 4, maxLength: 6 }),
  'two patterns': { allOf: [text('a'), text('b$', { maxLength: 8 })] },
  'a pattern and a format': { type: 'string', format: 'date', pattern: '^20' },
  'no pattern': { type: 'string', not: { pattern: 'a' }, maxLength: 6 },
  lengths: { type: 'string', minLength: 2, maxLength: 4 },
  values: { enum: ['a', 1, null, [], { a: [1] }, 'a"b\\c\n', true, 1.5] },
  'many values': { enum: Array.from({ length: 300 }, (_, i) => `value ${i * 7}`) },
  'filtered values': { enum: ['a', 'bb', 'ccc', 7], minLength: 2, type: 'string' },
  'other than values': { type: ['string', 'integer', 'null'], not: { enum: ['a', 'b', 0, 5, null] }, maxLength: 3 },
  'other than an object': {
    type: 'object',
    not: { const: { a: 1 } },
    properties: { a: n },
    additionalProperties: false,
  },
  nullable: object({ a: { type: ['string', 'null'] }, b: { anyOf: [n, { type: 'null' }] } }, ['a', 'b']),
  bounds: object(
    { a: { ...n, minimum: -12, maximum: 3456 }, b: { type: 'number', exclusiveMinimum: 0, maximum: 0.75 } },
    ['a', 'b'],
  ),
  'small bounds': { type: 'number', minimum: 1e-12, exclusiveMaximum: 2.5e-12 },
  'large bounds': { type: 'number', minimum: -1e20, exclusiveMaximum: 123456789012 },
  'exclusive bounds': { type: 'number', exclusiveMinimum: 99.5, exclusiveMaximum: 100 },
  multiples: { ...n, multipleOf: 7 },
  'multiples within bounds': { ...n, multipleOf: 6, exclusiveMinimum: -20, maximum: 100, not: { multipleOf: 4 } },
  'decimal multiples': { type: 'number', multipleOf: 0.25, minimum: -3 },
  'no integer': { type: 'number', not: { type: 'integer' }, minimum: 0, maximum: 5 },
  'unnamed types': {
    properties: { a: { minimum: 3 }, b: { minLength: 2 }, c: { items: n } },
    required: ['a', 'b', 'c'],
  },
  'optional properties': object({ a: n, b: s, c: n, d: s }),
  'counted properties': object({ a: n, b: s, c: n, d: s }, ['b'], { minProperties: 2, maxProperties: 3 }),
  'additional properties': object({ a: n, ab: s }, ['a'], { additionalProperties: { type: 'boolean' } }),
  'patterns of names': object({ id: n }, [], {
    patternProperties: { '^x-': s, y$: { maxLength: 3 } },
    additionalProperties: n,
  }),
  names: { type: 'object', propertyNames: { pattern: '^[a-c]{2}$' }, additionalProperties: n },
  'listed names': {
    type: 'object',
    propertyNames: { enum: ['a', 'b"', 'c'] },
    additionalProperties: n,
    minProperties: 2,
  },
  'required alone': { type: 'object', required: ['a', 'b'] },
  'dependent properties': object({ a: n, b: s, c: n }, [], { dependentRequired: { a: ['b'], b: ['c'] } }),
  'dependent schemas': object({ a: n, b: s }, [], {
    dependentSchemas: { a: { required: ['b'], properties: { b: { minLength: 2 } } } },
  }),
  'unevaluated properties': {
    allOf: [
      { type: 'object', properties: { a: n }, required: ['a'] },
      { anyOf: [{ properties: { b: s } }, { properties: { c: n } }] },
    ],
    unevaluatedProperties: false,
  },
  'a tuple': { type: 'array', prefixItems: [n, s, { type: 'boolean' }] },
  'a tuple with more': { type: 'array', prefixItems: [n, s], items: { type: 'null' }, minItems: 1, maxItems: 4 },
  'an old tuple': { type: 'array', prefixItems: [n, s], items: false, minItems: 2 },
  'counted items': { type: 'array', items: n, minItems: 2, maxItems: 3 },
  contained: {
    type: 'array',
    items: { type: ['integer', 'string'] },
    contains: { const: 'x' },
    minContains: 2,
    maxContains: 2,
  },
  'contained in a tuple': {
    type: 'array',
    prefixItems: [n, { type: ['integer', 'string'] }],
    items: false,
    contains: s,
  },
  'unique values': { type: 'array', items: { enum: ['a', 'b', 'c', 4] }, uniqueItems: true, minItems: 2 },
  'unique kinds': { type: 'array', prefixItems: [n, s, { type: 'boolean' }], uniqueItems: true },
  'a unique tuple': {
    type: 'array',
    prefixItems: [{ enum: [1, 'a', { b: [1, 2] }] }, { enum: [1.0, 'a', { b: [1.0, 2] }, null] }],
    items: { type: 'boolean' },
    minItems: 2,
    uniqueItems: true,
  },
  'unevaluated items': {
    type: 'array',
    prefixItems: [n],
    contains: { type: 'string', maxLength: 3 },
    unevaluatedItems: { type: 'null' },
  },
  'unevaluated items of conditions': {
    type: 'array',
    if: { contains: { const: 'a' } },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: { contains: { type: 'integer' } },
    unevaluatedItems: false,
  },
  'a list': {
    $ref: '#/$defs/node',
    $defs: { node: object({ v: n, next: { anyOf: [{ type: 'null' }, { $ref: '#/$defs/node' }] } }, ['v', 'next']) },
  },
  references: object({ a: { $ref: '#/$defs/a~1b' }, b: { $ref: '#anchored' } }, ['a', 'b'], {
    $defs: { 'a/b': { type: 'integer', minimum: 3 }, x: { $anchor: 'anchored', type: 'string', maxLength: 2 } },
  }),
  'identifiers with dots': {
    $id: 'https://example.com/schemas/root/a.json',
    $ref: '../b/./c.json',
    $defs: {
      a: { $id: '/schemas/b/c.json', $ref: '../d.json#e' },
      b: { $id: '../d.json', $anchor: 'e', ...text('^d$') },
    },
  },
  'beside a reference': { $ref: '#/$defs/a', maxLength: 4, $defs: { a: { type: 'string', minLength: 2 } } },
  joined: {
    allOf: [
      object({ a: n, b: s }, ['a'], { additionalProperties: true }),
      object({ b: { maxLength: 3 }, a: {} }, ['b']),
    ],
  },
  'one of two kinds': {
    oneOf: [
      object({ kind: { const: 'circle' }, radius: { type: 'number', minimum: 0 } }, ['kind', 'radius']),
      object({ kind: { const: 'square' }, side: n }, ['kind']),
    ],
  },
  'one of two that overlap': {
    type: 'integer',
    oneOf: [{ multipleOf: 3 }, { multipleOf: 5 }],
    minimum: 0,
    maximum: 99,
  },
  'a condition': object({ country: { enum: ['US', 'NL'] }, code: s }, ['country', 'code'], {
    if: { properties: { country: { const: 'US' } } },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: { properties: { code: { pattern: '^\\d{5}$' } } },
    else: { properties: { code: { pattern: '^\\d{4} ?[A-Z]{2}$' } } },
  }),
  'no such types': { not: { type: ['object', 'array', 'number'] } },
  'no such property': object({ a: n, b: s, c: n }, ['a'], { not: { required: ['b'] } }),
  ...Object.fromEntries(FORMATS.map((format) => [`format ${format}`, { type: 'string', format }])),
};
