// Grammars bind whatever a model would say: the demo model, and one of random weights. With CHASQUI_SEEDED_RUNS=200
// `npm run test:schemas` makes that many runs of each test instead of 4.
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { FastifyInstance } from 'fastify';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { fortyProperties as schema } from '../../bench/forty-properties.js';
import { buildApp } from '../../ts/api/app.js';
import { loadModel, type Model } from '../../ts/index.js';
import { ManagedPool } from '../../ts/models/managed-pool.js';
import { runtime } from '../../ts/profiles/runtime.js';
import { demoModelPath } from '../support/demo-model.js';
import { tinyModel } from '../support/tiny-model.js';

const RUNS = Number(process.env.CHASQUI_SEEDED_RUNS ?? 4);
const PARALLEL = 2;

interface Context {
  engine: Model;
  app: FastifyInstance;
}

function countProperties(of: object): number {
  const { properties = {} } = of as { properties?: Record<string, object> };
  return Object.values(properties).reduce((sum, each) => sum + 1 + countProperties(each), 0);
}

const isObeyed = new Ajv2020({ allowUnionTypes: true, formats: { date: /^\d{4}-\d\d-\d\d$/ } }).compile(schema);

const messages = [{ role: 'user', content: 'Describe yourself.' }];
const describe = { type: 'function', function: { name: 'describe', parameters: schema } };
const refuse = { type: 'function', function: { name: 'refuse' } };
const response_format = { type: 'json_schema', json_schema: { name: 'description', schema, strict: true } };
const MODES = {
  'a function that is named is called, with arguments of forty properties': {
    tools: [describe, refuse],
    tool_choice: { type: 'function', function: { name: 'describe' } },
  },
  'a response format of forty properties is kept': { response_format },
  'a function is called or the response format kept': {
    tools: [describe],
    tool_choice: 'auto',
    parallel_tool_calls: false,
    response_format,
  },
};

interface Choice {
  finish_reason: string;
  message: { content: string | null; tool_calls?: { function: { name: string; arguments: string } }[] };
}

function jsonOf({ finish_reason, message: { content, tool_calls } }: Choice): string {
  if (tool_calls === undefined) {
    assert.is(finish_reason, 'stop');
    return content ?? '';
  }
  assert.equal([finish_reason, content, tool_calls.length], ['tool_calls', null, 1]);
  assert.is(tool_calls[0]?.function.name, 'describe');
  return tool_calls[0]?.function.arguments ?? '';
}

function testWith(name: string, path: () => string): void {
  const test = suite<Context>(`enforced schemas, ${name}`);

  test.before(async (context) => {
    context.engine = await loadModel(path(), { contextSize: 4096, parallel: PARALLEL, threads: 1 });
    context.app = buildApp(ManagedPool.of(context.engine), runtime);
  });
  test.after(async ({ app, engine }) => {
    await app.close();
    await engine.close();
  });

  for (const [says, fields] of Object.entries(MODES)) {
    test(`${says}: ${RUNS} of ${RUNS} seeds at temperature 1`, async ({ app, engine }) => {
      const answers = new Set<string>();
      let next = 0;
      const work = async (): Promise<void> => {
        while (next < RUNS) {
          const seed = next++;
          const payload = { model: engine.model.id, messages, temperature: 1, seed, ...fields };
          const reply = await app.inject({ method: 'POST', url: '/v1/chat/completions', payload });
          assert.is(reply.statusCode, 200, reply.body);
          const json = jsonOf(reply.json().choices[0]);
          assert.ok(isObeyed(JSON.parse(json)), `seed ${seed}: ${json}: ${JSON.stringify(isObeyed.errors)}`);
          answers.add(json);
        }
      };
      await Promise.all(Array.from({ length: PARALLEL }, work));
      assert.ok(answers.size > 1 && answers.size >= RUNS * 0.9, `${answers.size} answers differ`);
    });
  }

  test.run();
}

const complete = suite('enforced schemas: the schema itself');
complete('has forty properties', () => assert.is(countProperties(schema), 40));
complete.run();

testWith('demo model', () => demoModelPath);
testWith('random weights', () => tinyModel('llama'));
