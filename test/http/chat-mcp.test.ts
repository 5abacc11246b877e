// POST /v1/chat/completions with tools of MCP servers: the client gets the final answer.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Job } from '../../ts/engine/job.js';
import { chatBody, closeApps, listeningApp, testApp } from '../support/build-app.js';
import { expectError } from '../support/expect-error.js';
import type { FakeScript } from '../support/fake-engine.js';
import { TestMcp } from '../support/mcp-servers.js';
import { inPieces } from '../support/post-to.js';

const test = suite<{ mcp: TestMcp }>('http: MCP tools of chats');

test.before.each((context) => {
  context.mcp = new TestMcp();
});
test.after.each(closeApps);
test.after.each(({ mcp }) => mcp.close());

const server = { type: 'mcp', server_label: 'test' };
const own = { type: 'function', function: { name: 'test_echo' } };
const ECHO = '<call>test_echo {"text":"hi"}</call>';

/** A model that writes `calls`, and text once there is a result. */
function calling(calls: string): FakeScript {
  const batches = ({ prompt }: Job) => inPieces(String(prompt).includes('<tool>') ? 'Done.' : calls);
  return { model: { takesTools: true }, batches };
}

test('the server calls the tool, and the client gets the final answer and the usage of all completions', async ({
  mcp,
}) => {
  const { chat, engine } = testApp(calling(ECHO), { mcp: mcp.servers() });
  const reply = await chat({ tools: [server] });
  assert.is(reply.statusCode, 200, reply.body);
  const { choices, usage } = reply.json();
  assert.equal(choices[0].message, { role: 'assistant', content: 'Done.', refusal: null });
  assert.is(choices[0].finish_reason, 'stop');
  assert.is(usage.total_tokens, usage.prompt_tokens + usage.completion_tokens);
  assert.is(engine.jobs.length, 2);
  assert.is(engine.conversations[1]?.at(-1)?.content, 'echo: hi');
  assert.ok(mcp.lines.includes('call echo'));
});

test('a stream has the text of all completions, without calls', async ({ mcp }) => {
  const { chat } = testApp(calling(`Wait. ${ECHO}`), { mcp: mcp.servers() });
  const { body } = await chat({ tools: [server], stream: true, stream_options: { include_usage: true } });
  const frames = body.split('\n\n').filter(Boolean);
  assert.is(frames.pop(), 'data: [DONE]');
  const chunks = frames.map((frame) => JSON.parse(frame.slice('data: '.length)));
  const last = chunks.pop();
  assert.equal(last.choices, []);
  assert.ok(last.usage.completion_tokens > 0);
  assert.is(new Set(chunks.map(({ id }) => id)).size, 1);
  assert.is(chunks[0].choices[0].delta.role, 'assistant');
  assert.is(chunks.map(({ choices: [{ delta }] }) => delta.content ?? '').join(''), 'Wait. Done.');
  assert.is(chunks.at(-1).choices[0].finish_reason, 'stop');
  assert.ok(chunks.every(({ choices: [{ delta }] }) => !('tool_calls' in delta)));
});

test('a call of the client’s own function goes to the client, and no other call runs', async ({ mcp }) => {
  const calls = `${ECHO}<call>test_echo_2 {"text":"hi"}</call>`;
  for (const stream of [false, true]) {
    const { chat } = testApp(calling(calls), { mcp: mcp.servers() });
    const { body } = await chat({ tools: [server, own], stream });
    const message = stream
      ? JSON.parse(/^data: (.*tool_calls.*)$/m.exec(body)?.[1]?.replace('"delta"', '"message"') ?? '{}')
      : JSON.parse(body);
    const named = message.choices[0].message.tool_calls.map((call: typeof own) => call.function.name);
    assert.equal(named, ['test_echo']);
    assert.match(body, /"finish_reason":"tool_calls"/);
  }
  assert.not(mcp.lines.includes('call echo'));
});

test('a model that calls without end is stopped', async ({ mcp }) => {
  const batches = () => inPieces('<call>test_fail {}</call>');
  const { chat, engine } = testApp(
    { model: { takesTools: true, contextLength: 100_000 }, batches },
    { mcp: mcp.servers() },
  );
  const reply = await chat({ tools: [server], tool_choice: 'required' });
  assert.is(reply.statusCode, 200, reply.body);
  const [{ message, finish_reason: reason }] = reply.json().choices;
  assert.equal([message.tool_calls, reason], [undefined, 'stop']);
  assert.is(mcp.lines.filter((line) => line === 'call fail').length, 32);
  assert.equal([engine.jobs.length, engine.renderOptions.at(-1)?.toolChoice], [33, 'none']);
});

test('a client that leaves cancels the call', async ({ mcp }) => {
  const { url } = await listeningApp(calling('<call>test_wait {}</call>'), { mcp: mcp.servers() });
  const controller = new AbortController();
  const body = JSON.stringify(chatBody({ tools: [server] }));
  const headers = { 'content-type': 'application/json' };
  const { signal } = controller;
  const reply = fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body, signal }).catch(() => null);
  await mcp.logged('waiting');
  controller.abort();
  await reply;
  await mcp.logged('cancelled');
});

test('a server that cannot start is named in the header', async ({ mcp }) => {
  const { chat } = testApp(calling('Hello.'), { mcp: mcp.servers({ test: { command: '/does/not/exist' } }) });
  const reply = await chat({ tools: [own, server] });
  assert.is(decodeURIComponent(String(reply.headers['x-chasqui-ignored'])), 'tools[1]');
  assert.is(reply.json().choices[0].message.content, 'Hello.');
});

test('requests that cannot be obeyed', async ({ mcp }) => {
  const { chat } = testApp(calling(ECHO), { mcp: mcp.servers() });
  const refused = { status: 400, code: 'unsupported_parameter' };
  const asking = await chat({ tools: [own, { ...server, require_approval: 'always' }] });
  expectError(asking, { ...refused, param: 'tools[1].require_approval', says: /only `\/v1\/responses`/ });
  const address = await chat({ tools: [{ ...server, server_url: 'http://127.0.0.1/' }] });
  expectError(address, { ...refused, param: 'tools[0].server_url', says: /only configured MCP servers/ });
  expectError(await chat({ tools: [server], n: 2 }), { ...refused, param: 'n', says: /must be 1/ });
  expectError(await chat({ tools: [server], prompt_logprobs: 1 }), { ...refused, param: 'prompt_logprobs' });
  const without = await testApp(calling(ECHO)).chat({ tools: [own, server] });
  expectError(without, { ...refused, param: 'tools[1]', says: /is a tool of an MCP server/ });
  assert.equal(mcp.lines, []);
});

test.run();
