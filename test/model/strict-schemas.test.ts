// Keywords that a format of calls cannot enforce: named in the header, and refused with `strict: true`, in every protocol.
import path from 'node:path';
import type { FastifyInstance } from 'fastify';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { buildApp } from '../../ts/api/app.js';
import { loadModel, type Model } from '../../ts/index.js';
import { ManagedPool } from '../../ts/models/managed-pool.js';
import { runtime } from '../../ts/profiles/runtime.js';
import { demoModelPath } from '../support/demo-model.js';
import { root } from '../support/places.js';

interface Context {
  engine: Model;
  app: FastifyInstance;
}

const members = { type: 'object', properties: { x: { enum: [1, 2] }, y: { type: 'boolean' } } };
/** The alternatives of `x` overlap. */
const overlapping = [{ properties: { x: { const: 1 } } }, { properties: { x: { enum: [1, 2] } }, required: ['x'] }];
const list = { type: 'array', items: { enum: [1, 2] } };
const lists = [{ maxItems: 1 }, { items: { const: 1 } }];

const withValue = (v: object, more: object = {}): object => ({
  ...more,
  type: 'object',
  required: ['v'],
  properties: { v },
});

const withForm = (form: number, v: object): object => ({
  properties: { form: { const: form }, v },
  required: ['form', 'v'],
});

const SCHEMAS: Record<string, object> = {
  'oneOf of the arguments': { ...members, oneOf: overlapping },
  'oneOf in allOf of the arguments': { type: 'object', allOf: [{ ...members, oneOf: overlapping }] },
  'oneOf of the arguments behind a reference': { $ref: '#/$defs/d', $defs: { d: { ...members, oneOf: overlapping } } },
  'oneOf in anyOf of the arguments': {
    type: 'object',
    anyOf: [
      { ...members, oneOf: overlapping },
      { properties: { z: { type: 'string' } }, required: ['z'] },
    ],
  },
  'oneOf of the arguments with different objects': {
    type: 'object',
    oneOf: [withForm(1, { type: 'object', properties: { a: { type: 'integer' } } }), withForm(2, { type: 'array' })],
  },
  'oneOf of an object': withValue({ ...members, oneOf: overlapping }),
  'oneOf of an object in an object': withValue(withValue({ ...members, oneOf: overlapping })),
  'anyOf of an array': withValue({ ...list, anyOf: lists }),
  'anyOf in allOf of an array': withValue({ allOf: [{ ...list, anyOf: lists }] }),
  'uniqueItems beside a reference': withValue(
    { $ref: '#/$defs/d', uniqueItems: true },
    { $defs: { d: { type: 'array' } } },
  ),
  'anyOf beside a reference': withValue({ $ref: '#/$defs/d', anyOf: lists }, { $defs: { d: list } }),
  'patternProperties of an object': withValue({ type: 'object', patternProperties: { '^a': { type: 'integer' } } }),
};

/** The path of the tool's schema, and the body of a request. */
const PROTOCOLS: Record<string, [at: string, toBody: (parameters: object, strict: boolean) => object]> = {
  '/v1/chat/completions': [
    'tools[0].function.parameters',
    (parameters, strict) => ({
      messages: [{ role: 'user', content: 'Hi' }],
      tools: [{ type: 'function', function: { name: 'f', parameters, strict } }],
      max_tokens: 1,
    }),
  ],
  '/v1/responses': [
    'tools[0].parameters',
    (parameters, strict) => ({
      input: 'Hi',
      tools: [{ type: 'function', name: 'f', parameters, strict }],
      max_output_tokens: 16,
    }),
  ],
  '/v1/messages': [
    'tools[0].input_schema',
    (input_schema, strict) => ({
      messages: [{ role: 'user', content: 'Hi' }],
      tools: [{ name: 'f', input_schema, strict }],
      max_tokens: 1,
    }),
  ],
};

/** The places under `at` that the reply names as ignored, or the one that it refuses. */
async function ask({ app, engine }: Context, url: string, body: object): Promise<{ status: number; named: string[] }> {
  const reply = await app.inject({ method: 'POST', url, payload: { model: engine.model.id, ...body } });
  const header = `${reply.headers['x-chasqui-ignored'] ?? ''}`;
  const ignored = header.split(', ').filter(Boolean).map(decodeURIComponent);
  if (reply.statusCode === 200) return { status: 200, named: ignored };
  const { error } = reply.json();
  return { status: reply.statusCode, named: [error.param ?? /`([^`]+)`/.exec(error.message)?.[1]] };
}

const REPORTED: Record<string, RegExp[]> = {
  'Qwen3-Coder': [/^oneOf of the arguments$/, /^oneOf in a/, /^oneOf .* behind a reference/],
  'MiniMax-M3': [/^oneOf of the arguments with different/],
  'google-gemma-4-31B-it': [/^oneOf of an object in/, /^anyOf in allOf/, /^uniqueItems/, /^anyOf beside/],
};

for (const [template, expected] of Object.entries(REPORTED)) {
  const test = suite<Context>(`strict schemas, ${template}`);

  test.before(async (context) => {
    const chatTemplateFile = path.join(root, 'vendor', 'llama.cpp', 'models', 'templates', `${template}.jinja`);
    context.engine = await loadModel(demoModelPath, { contextSize: 4096, parallel: 1, threads: 1, chatTemplateFile });
    context.app = buildApp(ManagedPool.of(context.engine), runtime);
  });
  test.after(async ({ app, engine }) => {
    await app.close();
    await engine.close();
  });

  for (const [name, parameters] of Object.entries(SCHEMAS)) {
    test(`${name}: named in the header, or enforced; refused if strict`, async (context) => {
      for (const [url, [at, toBody]] of Object.entries(PROTOCOLS)) {
        const free = await ask(context, url, toBody(parameters, false));
        assert.is(free.status, 200, url);
        const places = free.named.filter((place) => place.startsWith(`${at}.`));
        if (expected.some((each) => each.test(name))) assert.ok(places.length > 0, `${url} reports ${free.named}`);
        const strict = await ask(context, url, toBody(parameters, true));
        assert.equal(
          [strict.status, ...strict.named],
          places.length > 0 ? [400, places[0]] : [200, ...free.named],
          url,
        );
      }
    });
  }

  test.run();
}
