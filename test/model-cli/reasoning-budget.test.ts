// How long a model may reason, with the real server and a model whose reasoning never ends by itself.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Child, startChild, untilWritten } from '../support/child.js';
import { readSse } from '../support/read-sse.js';
import { REASONING, writeScriptedModel } from '../support/scripted-model.js';

const test = suite<{ folder: string; server: Child; url: string }>('how long a model may reason');

test.before(async (context) => {
  context.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-reasoning-'));
  const model = writeScriptedModel(path.join(context.folder, 'thinker.gguf'), {
    calls: [],
    say: 'Done.',
    reasons: true,
  });
  const budget = ['--reasoning-budget', '6', '--reasoning-budget-message', 'Enough. '];
  const options = ['--model', model, '--port', '0', '--ctx-size', '2048', '--threads', '1', ...budget];
  context.server = startChild('ts/cli.ts', ['serve', ...options]);
  const [, url = ''] = await untilWritten(context.server, /^Serving .* at (http:\S+)\/v1$/m);
  context.url = url;
});
test.after(async ({ server, folder }) => {
  server.process.kill('SIGTERM');
  await server.exited;
  fs.rmSync(folder, { recursive: true, force: true });
});

const request = { model: 'thinker', temperature: 0, max_tokens: 60, messages: [{ role: 'user', content: 'Well?' }] };
const hm = (times: number) => REASONING.repeat(times);

async function post(url: string, body: object): Promise<Response> {
  const headers = { 'content-type': 'application/json' };
  const reply = await fetch(url, { method: 'POST', headers, body: JSON.stringify({ ...request, ...body }) });
  assert.is(reply.status, 200, reply.ok ? '' : await reply.clone().text());
  assert.is(reply.headers.get('x-chasqui-ignored'), null);
  return reply;
}

// biome-ignore lint/suspicious/noExplicitAny: replies of several protocols
async function ask(url: string, body: object = {}): Promise<any> {
  return (await post(url, body)).json();
}

test('by the options of the server: reasoning is ended by the message, and the completion goes on', async ({ url }) => {
  const { choices, usage } = await ask(`${url}/v1/chat/completions`);
  const [{ message, finish_reason: reason }] = choices;
  assert.equal([message.reasoning_content, message.content, reason], [`${hm(6)}Enough. `, 'Done.', 'stop']);
  assert.ok(usage.completion_tokens_details.reasoning_tokens >= 8, JSON.stringify(usage));
});

const budgets: [object, string][] = [
  [{ reasoning_budget_tokens: 2 }, `${hm(2)}Enough. `],
  [{ thinking_budget_tokens: 2 }, `${hm(2)}Enough. `],
  [{ reasoning_budget_tokens: -1 }, `${hm(6)}Enough. `],
  [{ reasoning_budget_tokens: 3, reasoning_budget_message: '' }, hm(3)],
  [{ reasoning_budget_tokens: 3, reasoning_budget_message: ' That is it, äöü.' }, `${hm(3)} That is it, äöü.`],
  [{ reasoning_budget_tokens: 3, temperature: 1, seed: 4, logprobs: true }, `${hm(3)}Enough. `],
];

for (const [body, reasoning] of budgets) {
  test(`${JSON.stringify(body)}: ${reasoning}`, async ({ url }) => {
    const { choices } = await ask(`${url}/v1/chat/completions`, body);
    assert.equal([choices[0].message.reasoning_content, choices[0].message.content], [reasoning, 'Done.']);
  });
}

test('a budget of 0: no reasoning but the message', async ({ url }) => {
  const body = { reasoning_budget_tokens: 0, reasoning_budget_message: '' };
  const { choices } = await ask(`${url}/v1/chat/completions`, body);
  assert.is(choices[0].message.content, 'Done.');
  assert.not.ok(choices[0].message.reasoning_content);
});

test('a budget beyond max_tokens ends nothing', async ({ url }) => {
  const { choices } = await ask(`${url}/v1/chat/completions`, { reasoning_budget_tokens: 1000 });
  const [{ message, finish_reason: reason }] = choices;
  assert.is(reason, 'length');
  assert.is(message.reasoning_content.trim(), hm(60).trim());
  assert.not.ok(message.content);
});

test('in a stream, and beside tools and a schema', async ({ url }) => {
  const { events } = readSse(await (await post(`${url}/v1/chat/completions`, { stream: true })).text());
  const deltas = events.flatMap((event) => event.choices?.[0]?.delta ?? []);
  assert.is(deltas.map((delta) => delta.reasoning_content ?? '').join(''), `${hm(6)}Enough. `);
  assert.is(deltas.map((delta) => delta.content ?? '').join(''), 'Done.');

  const tools = [{ type: 'function', function: { name: 'look', parameters: { type: 'object' } } }];
  const called = await ask(`${url}/v1/chat/completions`, { tools });
  assert.is(called.choices[0].message.reasoning_content, `${hm(6)}Enough. `);
  const schema = { enum: ['a'] };
  const format = { type: 'json_schema', json_schema: { name: 'a', schema } };
  const obeying = await ask(`${url}/v1/chat/completions`, { response_format: format });
  assert.is(obeying.choices[0].message.reasoning_content.trim(), `${hm(6)}Enough.`);
  assert.is(obeying.choices[0].message.content.trim(), '"a"');
});

test('in messages and responses', async ({ url }) => {
  const thinking = { type: 'enabled', budget_tokens: 3 };
  const { content } = await ask(`${url}/v1/messages`, { thinking });
  assert.equal(
    content.map((block: { thinking?: string; text?: string }) => block.thinking ?? block.text),
    [`${hm(3)}Enough. `, 'Done.'],
  );
  const { messages: input, max_tokens: max_output_tokens, ...rest } = request;
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify({ ...rest, input, max_output_tokens, reasoning_budget_tokens: 1 });
  const reply = await fetch(`${url}/v1/responses`, { method: 'POST', headers, body });
  const response = JSON.stringify(await reply.json());
  assert.ok(response.includes(`${hm(1)}Enough. `), response);
  assert.ok(response.includes('Done.'), response);
});

test.run();
