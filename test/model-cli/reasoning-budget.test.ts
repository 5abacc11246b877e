// Reasoning budgets, with the real server and a model that reasons without end.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Child, startChild, untilWritten } from '../support/child.js';
import { readSse } from '../support/read-sse.js';
import { REASONING, writeScriptedModel } from '../support/scripted-model.js';

interface Context {
  folder: string;
  model: string;
  server: Child;
  url: string;
}

const test = suite<Context>('how long a model may reason');

async function serve(model: string, ...more: string[]): Promise<Pick<Context, 'server' | 'url'>> {
  const budget = ['--reasoning-budget', '6', '--reasoning-budget-message', 'Enough. '];
  const options = ['--model', model, '--port', '0', '--ctx-size', '2048', '--threads', '1', ...budget, ...more];
  const server = startChild('ts/cli.ts', ['serve', ...options]);
  const [, url = ''] = await untilWritten(server, /^Serving .* at (http:\S+)\/v1$/m);
  return { server, url };
}

async function stop(server: Child): Promise<void> {
  server.process.kill('SIGTERM');
  await server.exited;
}

test.before(async (context) => {
  context.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-reasoning-'));
  context.model = writeScriptedModel(path.join(context.folder, 'thinker.gguf'), {
    calls: [],
    say: 'Done.',
    reasons: true,
  });
  Object.assign(context, await serve(context.model));
});
test.after(async ({ server, folder }) => {
  await stop(server);
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
  [{ reasoning_budget_tokens: 3, reasoning_budget_message: 'Now.</think>\n\n' }, `${hm(3)}Now.`],
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

test('each of several completions has a budget of its own', async ({ url }) => {
  const { choices } = await ask(`${url}/v1/chat/completions`, { n: 3, temperature: 1 });
  assert.equal(
    choices.map(({ message }: { message: Record<string, string> }) => [message.reasoning_content, message.content]),
    Array(3).fill([`${hm(6)}Enough. `, 'Done.']),
  );
});

test('a message that is longer than what is left is cut off', async ({ url }) => {
  const body = {
    reasoning_budget_tokens: 2,
    reasoning_budget_message: 'I must answer now, and so I do.',
    max_tokens: 5,
  };
  const { choices, usage } = await ask(`${url}/v1/chat/completions`, body);
  const [{ message, finish_reason: reason }] = choices;
  assert.equal([reason, usage.completion_tokens], ['length', 5]);
  assert.match(message.reasoning_content, /^hm, hm, I must/);
  assert.not.ok(message.content);
});

test('a grammar of the request’s own: within it nothing is written, and the budget is named', async ({ url }) => {
  const headers = { 'content-type': 'application/json' };
  const ended = { ...request, grammar: 'root ::= [a-z, ]* "Enough. "? "</think>Done."' };
  assert.is((await ask(`${url}/v1/chat/completions`, ended)).choices[0].message.reasoning_content, `${hm(6)}Enough. `);
  const wordless = { ...request, grammar: 'root ::= [a-z, ]* "</think>Done."' };
  assert.is(
    (await ask(`${url}/v1/chat/completions`, wordless)).choices[0].message.reasoning_content.trim(),
    hm(6).trim(),
  );

  const body = JSON.stringify({ ...request, grammar: 'root ::= [a-zA-Z, .]{64}', reasoning_budget_tokens: 2 });
  const reply = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body });
  assert.is(reply.headers.get('x-chasqui-ignored'), 'reasoning_budget_tokens');
  assert.not.match(await reply.text(), /Enough/);
});

test('with drafts: the same', async ({ model }) => {
  const ways = [
    ['--draft-max', '8', '--draft-min', '8'],
    ['--draft-model', model],
  ];
  for (const drafts of ways) {
    const { server, url } = await serve(model, ...drafts);
    try {
      for (const budget of [2, 6, 20]) {
        const body = { reasoning_budget_tokens: budget, timings: true };
        const { choices, timings } = await ask(`${url}/v1/chat/completions`, body);
        const { reasoning_content: reasoning, content } = choices[0].message;
        assert.equal([reasoning, content], [`${hm(budget)}Enough. `, 'Done.']);
        assert.ok(budget < 20 || timings.draft_n_accepted > 0, JSON.stringify(timings));
      }
    } finally {
      await stop(server);
    }
  }
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
