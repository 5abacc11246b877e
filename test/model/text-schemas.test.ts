// Schemas of text completions, and progress of their prompts, with the demo model.
import type { FastifyInstance } from 'fastify';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { buildApp } from '../../ts/api/app.js';
import { loadModel, type Model } from '../../ts/index.js';
import { ManagedPool } from '../../ts/models/managed-pool.js';
import { runtime } from '../../ts/profiles/runtime.js';
import { demoModelPath } from '../support/demo-model.js';
import { readSse } from '../support/read-sse.js';

interface Context {
  engine: Model;
  app: FastifyInstance;
}

const test = suite<Context>('text completions: schemas and progress');

test.before(async (context) => {
  context.engine = await loadModel(demoModelPath, { contextSize: 2048, parallel: 1, threads: 1, batchSize: 64 });
  context.app = buildApp(ManagedPool.of(context.engine), runtime);
});
test.after(async ({ app, engine }) => {
  await app.close();
  await engine.close();
});

const schema = {
  type: 'object',
  properties: {
    share: { type: 'number', exclusiveMinimum: 0, maximum: 0.75 },
    degrees: { type: 'number', minimum: -2.5, exclusiveMaximum: 12 },
    address: { type: 'string', format: 'ipv4' },
    lasts: { type: 'string', format: 'duration' },
  },
  required: ['share', 'degrees', 'address', 'lasts'],
  additionalProperties: false,
};

const CONSTRAINTS = [
  ['/v1/completions', { json_schema: schema }],
  [
    '/v1/completions',
    { response_format: { type: 'json_schema', json_schema: { name: 'place', schema, strict: true } } },
  ],
  ['/completion', { json_schema: schema }],
] as const;

for (const [url, constraint] of CONSTRAINTS) {
  const [field] = Object.keys(constraint);
  test(`a completion of ${url} follows its ${field}, bounds and formats included`, async ({ app, engine }) => {
    const texts = new Set<string>();
    for (let seed = 1; seed <= 4; seed += 1) {
      const payload = { model: engine.model.id, prompt: 'Describe', ...constraint, temperature: 1, seed };
      const reply = await app.inject({ method: 'POST', url, payload });
      assert.is(reply.statusCode, 200, reply.body);
      assert.is(reply.headers['x-chasqui-ignored'], undefined);
      const { choices, content } = reply.json();
      const text: string = content ?? choices[0].text;
      const { share, degrees, address, lasts } = JSON.parse(text);
      assert.ok(share > 0 && share <= 0.75, text);
      assert.ok(degrees >= -2.5 && degrees < 12, text);
      assert.match(address, /^((25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(\.(?!$)|$)){4}$/);
      assert.match(lasts, /^P(?!$)(\d+Y)?(\d+M)?(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+S)?)?$|^P\d+W$/);
      texts.add(text);
    }
    assert.ok(texts.size > 1);
  });
}

for (const url of ['/v1/completions', '/completion']) {
  test(`a schema that is none is an error of ${url} that names it`, async ({ app, engine }) => {
    const json_schema = { type: 'number', minimum: 2, maximum: 1 };
    const payload = { model: engine.model.id, prompt: 'Describe', json_schema };
    const reply = await app.inject({ method: 'POST', url, payload });
    const { code, param, message } = reply.json().error;
    assert.equal([reply.statusCode, code, param], [400, 'invalid_grammar', 'json_schema']);
    assert.match(message, /bounds leave no number/);
  });
}

interface Report {
  total: number;
  cache: number;
  processed: number;
}

test('progress begins with what was cached and ends with the whole prompt', async ({ app, engine }) => {
  const reports = async (): Promise<Report[]> => {
    const prompt = `Progress. ${'word '.repeat(300)}`;
    const payload = { model: engine.model.id, prompt, max_tokens: 1, stream: true, return_progress: true };
    const reply = await app.inject({ method: 'POST', url: '/v1/completions', payload });
    return readSse(reply.body).events.flatMap((event: { prompt_progress?: Report }) => event.prompt_progress ?? []);
  };
  const first = await reports();
  const { total, cache } = first[0] as Report;
  assert.equal([cache, first[0]?.processed], [0, 0]);
  assert.is(first.at(-1)?.processed, total);
  const again = await reports();
  assert.ok(again[0] && again[0].cache > 200 && again[0].processed === again[0].cache, JSON.stringify(again));
  assert.equal([again.at(-1)?.processed, again.at(-1)?.total], [total, total]);
});

test.run();
