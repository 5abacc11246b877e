import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { ChatCompletionRequest } from '../../../ts/api/shared/chat/chat-schema.js';
import { unenforcedParts } from '../../../ts/api/shared/chat/render-chat.js';
import { unenforced } from '../../../ts/api/shared/json-schema/unenforced.js';
import { FAKE_TAGS } from '../../support/fake-engine.js';

const test = suite('unit: what of a schema is not enforced');

const parts = (schema: object) => [...unenforced(schema, '$')];

const PASSED_OVER: [schema: object, parts: string[]][] = [
  [
    { type: 'object', properties: { a: { not: {} }, b: { multipleOf: 2 } } },
    ['$.properties.a.not', '$.properties.b.multipleOf'],
  ],
  [{ type: 'object', properties: { v: false } }, ['$.properties.v']],
  [{ type: 'array', items: false }, ['$.items']],
  [{ $ref: '#' }, ['$.$ref']],
  [{ $ref: 'https://example.com/schema' }, ['$.$ref']],
  [
    { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } } },
    ['$.$ref', '$.$defs.a.$ref', '$.$defs.b.$ref'],
  ],
  [{ enum: [] }, ['$.enum']],
  [{ anyOf: [{ type: 'null' }], properties: { a: {} } }, ['$.properties']],
  [{ $ref: '#/$defs/a', minLength: 1, description: 'x', $defs: { a: {} } }, ['$.minLength']],
  [{ type: 'number', minimum: 1e15 }, ['$.minimum']],
  [{ type: ['number', 'null'], maximum: 1e-10 }, ['$.maximum']],
  [{ type: 'string', minimum: 1 }, ['$.minimum']],
  [{ type: 'integer', maximum: 1e18 }, ['$.maximum']],
  [{ type: 'string', maxLength: 5000, minLength: 3 }, ['$.maxLength']],
  [{ type: 'string', format: 'uri' }, ['$.format']],
  ...[
    'a',
    '^(?=a)$',
    '^\\d$',
    '^a{3000}$',
    '^[]a]$',
    '^a]$',
    '^a^b$',
    '^a{x}$',
    `^${'('.repeat(101)}a${')'.repeat(101)}$`,
  ].map((pattern): [object, string[]] => [{ type: 'string', pattern }, ['$.pattern']]),
];

for (const [schema, expected] of PASSED_OVER) {
  test(`passed over: ${JSON.stringify(schema).slice(0, 80)}`, () => assert.equal(parts(schema), expected));
}

const ENFORCED: object[] = [
  {},
  { type: 'object', properties: { v: true, next: { $ref: '#' } }, additionalProperties: false },
  { $ref: '#/$defs/a~1b', $defs: { 'a/b': { type: ['integer', 'null'], minimum: 1 } } },
  { type: ['integer', 'number'], minimum: -1.5, exclusiveMaximum: 0.000000001 },
  ...['email', 'hostname', 'ipv4', 'ipv6', 'duration', 'uuid'].map((format) => ({ type: 'string', format })),
  { type: 'object', anyOf: [{ const: { not: 1 } }, { enum: [{ if: 1 }] }], title: 'x' },
  ...['^a$', '^(?:a|b)+$', '^[^"\\]]{2,5}$', '^\\(\\x41\\n\\"$', '^a{2}b{0,2000}c{,3}d{3,}$', '^.*$'].map(
    (pattern) => ({
      type: 'string',
      pattern,
    }),
  ),
];

for (const schema of ENFORCED) {
  test(`enforced: ${JSON.stringify(schema).slice(0, 80)}`, () => assert.equal(parts(schema), []));
}

test('a schema of any shape and length is gone through', () => {
  let deep: object = {};
  for (let i = 0; i < 10_000; i++) deep = { items: deep };
  assert.equal(parts(deep), []);
  const chain = Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`a${i}`, { $ref: `#/$defs/a${i + 1}` }]));
  assert.is(parts({ $ref: '#/$defs/a0', $defs: chain }).length, 20_000 - 63);
  assert.equal(parts({ type: 'string', pattern: `^${'[a]{2}'.repeat(50_000)}$` }), []);
  assert.equal(parts({ properties: [1], items: 5, anyOf: {}, $ref: 7, required: 'x' }).sort(), [
    '$.anyOf',
    '$.items',
    '$.properties',
    '$.required',
  ]);
});

test('what many references lead to is looked up once', () => {
  let lookups = 0;
  const long = {
    get a() {
      lookups += 1;
      return { $ref: `#${'/x'.repeat(125_000)}` };
    },
  };
  assert.equal(parts({ $defs: long, anyOf: Array(11_500).fill({ $ref: '#/$defs/a' }) }), []);
  assert.ok(lookups <= 2, `${lookups} lookups`);
});

test('strictly: what OpenAI has no such keyword for', () => {
  const strictly = (schema: object) => [...unenforced(schema, '$', true)];
  assert.equal(strictly({ type: 'number', minimum: 1, exclusiveMaximum: 2, multipleOf: 0.5 }), []);
  assert.equal(strictly({ type: 'array', items: { type: 'string', pattern: 'a' }, maxItems: 5000 }), []);
  assert.equal(strictly({ anyOf: [{ format: 'ipv6' }, { format: 'uri' }] }), ['$.anyOf[1].format']);
  assert.equal(strictly({ properties: { pattern: true, minimum: { not: {} } } }), [
    '$.properties.pattern',
    '$.properties.minimum.not',
  ]);
});

test('of a request: all schemas, and no more parts than asked for', () => {
  const partsOf = (body: ChatCompletionRequest, max: number) => unenforcedParts(body, { reasoning: null }, max);
  const schema = { not: {}, if: {}, contains: {} };
  const tool = { type: 'function' as const, function: { name: 'f', parameters: schema } };
  const body = { model: 'm', messages: [] };
  assert.equal(partsOf(body, 5), []);
  assert.equal(partsOf({ ...body, tools: [tool, tool] }, 3), [
    ...['not', 'if', 'contains'].map((keyword) => `tools[0].function.parameters.${keyword}`),
    'tools[1].function.parameters.not',
  ]);
  assert.equal(partsOf({ ...body, tools: [tool], tool_choice: 'none' }, 5), []);
  assert.equal(partsOf({ ...body, json_schema: { not: {} } }, 5), ['json_schema.not']);
  const ofObject = { type: 'json_object' as const, schema: { not: {} } };
  assert.equal(partsOf({ ...body, response_format: ofObject }, 5), ['response_format.schema.not']);
  const format = { type: 'json_schema' as const, json_schema: { name: 'x', schema } };
  assert.is(partsOf({ ...body, response_format: format }, 5)[0], 'response_format.json_schema.schema.not');
});

test('a limit of reasoning, where reasoning cannot be told from the rest', () => {
  const limits = { reasoning_budget_tokens: 3, thinking_budget_tokens: 0 };
  const body = { model: 'm', messages: [], ...limits };
  assert.equal(unenforcedParts(body, { reasoning: null }, 5), Object.keys(limits));
  assert.equal(unenforcedParts(body, { reasoning: FAKE_TAGS }, 5), []);
  const grammar = 'root ::= [a-z]* "</think>" [0-9]';
  assert.equal(unenforcedParts({ ...body, grammar }, { reasoning: FAKE_TAGS }, 5), []);
  assert.equal(
    unenforcedParts({ ...body, grammar: 'root ::= [a-z]*' }, { reasoning: FAKE_TAGS }, 5),
    Object.keys(limits),
  );
  assert.equal(unenforcedParts({ ...body, reasoning_budget_tokens: -1 }, { reasoning: null }, 5), [
    'thinking_budget_tokens',
  ]);
});

test.run();
