// Tools where the model's chat template has no form for them, in every protocol, with the real server.
import fs from 'node:fs';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Child, startChild, untilWritten } from '../support/child.js';
import { root } from '../support/places.js';

const test = suite<{ server: Child; url: string }>('tools where the template has no form for them');

const template = path.join(root, 'vendor', 'llama.cpp', 'models', 'templates', 'google-gemma-2-2b-it.jinja');

test.before(async (context) => {
  const own = ['--chat-template', fs.readFileSync(template, 'utf8'), '--ctx-size', '2048', '--threads', '1'];
  context.server = startChild('ts/cli.ts', ['serve', '--port', '0', ...own]);
  const [, url = ''] = await untilWritten(context.server, /^Serving .* at (http:\S+)\/v1$[\s\S]*^Try it:/m);
  context.url = url;
});
test.after(async ({ server }) => {
  server.process.kill('SIGTERM');
  await server.exited;
});

const model = 'chasqui-demo';
const parameters = {
  type: 'object',
  properties: { left: { enum: ['a', 'b'] }, right: { type: 'integer', minimum: 10, maximum: 99 } },
  required: ['left', 'right'],
  additionalProperties: false,
};

function assertPair(input: { left: string; right: number }): void {
  const { left, right, ...rest } = input;
  assert.ok(['a', 'b'].includes(left) && right >= 10 && right <= 99, JSON.stringify(input));
  assert.equal(rest, {});
}

// biome-ignore lint/suspicious/noExplicitAny: replies of three protocols
async function post(url: string, body: object): Promise<any> {
  const headers = { 'content-type': 'application/json' };
  const reply = await fetch(url, { method: 'POST', headers, body: JSON.stringify({ model, ...body }) });
  const json = await reply.json();
  assert.is(reply.status, 200, JSON.stringify(json));
  return json;
}

const BROKEN = ['', '{"left": "a", "ri', 'left=a', '[1]'];

test('the server says so when it starts', ({ server }) => {
  assert.match(server.output.stdout, /^The chat template of chasqui-demo does not support tools: .*$/m);
});

test('chat completions call, and go on whatever an earlier call was left as', async ({ url }) => {
  const address = `${url}/v1/chat/completions`;
  const tools = [{ type: 'function', function: { name: 'join', parameters } }];
  const messages = [{ role: 'user', content: 'Join them' }];
  const forced = { messages, tools, tool_choice: 'required', parallel_tool_calls: false, max_tokens: 300 };
  const { choices } = await post(address, forced);
  assert.is(choices[0].finish_reason, 'tool_calls');
  assertPair(JSON.parse(choices[0].message.tool_calls[0].function.arguments));
  for (const broken of BROKEN) {
    const call = { id: 'a', type: 'function', function: { name: 'join', arguments: broken } };
    const past = [
      { role: 'assistant', tool_calls: [call] },
      { role: 'tool', tool_call_id: 'a', content: 'cut off' },
    ];
    await post(address, { messages: [...messages, ...past], tools, max_tokens: 5 });
  }
});

test('responses do', async ({ url }) => {
  const address = `${url}/v1/responses`;
  const tools = [{ type: 'function', name: 'join', parameters }];
  const input = [{ role: 'user', content: 'Join them' }];
  const forced = { input, tools, tool_choice: 'required', parallel_tool_calls: false, max_output_tokens: 300 };
  const { output } = await post(address, forced);
  assertPair(JSON.parse(output.find(({ type }: { type: string }) => type === 'function_call').arguments));
  for (const broken of BROKEN) {
    const past = [
      { type: 'function_call', call_id: 'a', name: 'join', arguments: broken },
      { type: 'function_call_output', call_id: 'a', output: 'cut off' },
    ];
    await post(address, { input: [...input, ...past], tools, max_output_tokens: 16 });
  }
});

test('messages do', async ({ url }) => {
  const address = `${url}/v1/messages`;
  const tools = [{ name: 'join', input_schema: parameters }];
  const messages = [{ role: 'user', content: 'Join them' }];
  const tool_choice = { type: 'any', disable_parallel_tool_use: true };
  const called = await post(address, { messages, tools, tool_choice, max_tokens: 300 });
  assert.is(called.stop_reason, 'tool_use');
  const [use] = called.content;
  assertPair(use.input);
  const result = { type: 'tool_result', tool_use_id: use.id, content: 'no', is_error: true };
  const next = [
    { role: 'assistant', content: called.content },
    { role: 'user', content: [result, { type: 'text', text: 'Again' }] },
  ];
  await post(address, { messages: [...messages, ...next], tools, max_tokens: 5 });
});

test.run();
