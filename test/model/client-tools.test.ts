// Calls of the tools that clients run have the fields that their command requires, whatever the model would say.
import type { FastifyInstance } from 'fastify';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { buildApp } from '../../ts/api/app.js';
import { loadModel, type Model } from '../../ts/index.js';
import { ManagedPool } from '../../ts/models/managed-pool.js';
import { runtime } from '../../ts/profiles/runtime.js';
import { demoModelPath } from '../support/demo-model.js';

const test = suite<{ engine: Model; app: FastifyInstance }>('model: tools of clients');

const SEEDS = 40;

test.before(async (context) => {
  context.engine = await loadModel(demoModelPath, { contextSize: 2048, parallel: 4, threads: 1 });
  context.app = buildApp(ManagedPool.of(context.engine), runtime);
});
test.after(async ({ app, engine }) => {
  await app.close();
  await engine.close();
});

const EDIT = { view: ['path'], create: ['path', 'file_text'], str_replace: ['path', 'old_str', 'new_str'] };
const INSERT = { insert: ['path', 'insert_line', 'insert_text'] };
const NEEDED: Record<string, Record<string, string[]>> = {
  text_editor_20250728: { ...EDIT, ...INSERT },
  text_editor_20250124: { ...EDIT, insert: ['path', 'insert_line', 'new_str'], undo_edit: ['path'] },
  memory_20250818: { ...EDIT, ...INSERT, delete: ['path'], rename: ['old_path', 'new_path'] },
};

for (const [type, needed] of Object.entries(NEEDED)) {
  test(`${type}: each command has its fields`, async ({ app }) => {
    const seen = new Set<string>();
    const ask = async (seed: number) => {
      const payload = {
        model: 'chasqui-demo',
        max_tokens: 200,
        seed,
        temperature: 1.5,
        messages: [{ role: 'user', content: 'Hi' }],
        tools: [{ type, name: 'tool' }],
        tool_choice: { type: 'any', disable_parallel_tool_use: true },
      };
      const reply = await app.inject({ method: 'POST', url: '/v1/messages', payload });
      assert.equal([reply.statusCode, reply.headers['x-chasqui-ignored']], [200, undefined], reply.body);
      const { content, stop_reason: reason } = reply.json();
      if (reason === 'max_tokens') return;
      const { command, ...input } = content[0].input;
      seen.add(command);
      for (const field of needed[command] ?? ['known command']) assert.ok(field in input, JSON.stringify(content[0]));
    };
    for (let seed = 0; seed < SEEDS; seed += 4) await Promise.all([0, 1, 2, 3].map((each) => ask(seed + each)));
    assert.ok(seen.size > 1, [...seen].join());
  });
}

const ACTIONS: Record<string, string[]> = {
  ...{ click: ['button', 'x', 'y'], double_click: ['x', 'y'], move: ['x', 'y'], keypress: ['keys'], type: ['text'] },
  ...{ scroll: ['x', 'y', 'scroll_x', 'scroll_y'], drag: ['path'], screenshot: [], wait: [] },
};

for (const tool of ['computer', 'computer_use_preview']) {
  test(`${tool} of responses: each action has its fields`, async ({ app }) => {
    const seen = new Set<string>();
    const ask = async (seed: number) => {
      const rest = { tools: [{ type: tool }], tool_choice: { type: tool }, parallel_tool_calls: false };
      const payload = { model: 'chasqui-demo', input: 'Hi', max_output_tokens: 200, seed, temperature: 1.5, ...rest };
      const reply = await app.inject({ method: 'POST', url: '/v1/responses', payload });
      assert.equal([reply.statusCode, reply.headers['x-chasqui-ignored']], [200, undefined], reply.body);
      const { status, output } = reply.json();
      if (status === 'incomplete') return;
      const { actions = [], action = actions[0] } = output[0];
      seen.add(action.type);
      for (const field of ACTIONS[action.type] ?? ['known type']) assert.ok(field in action, JSON.stringify(action));
    };
    for (let seed = 0; seed < SEEDS; seed += 4) await Promise.all([0, 1, 2, 3].map((each) => ask(seed + each)));
    assert.ok(seen.size > 1, [...seen].join());
  });
}

test.run();
