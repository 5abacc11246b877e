// POST /v1/responses with tools of MCP servers: the server runs the loop of model and calls.
import process from 'node:process';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Job } from '../../ts/engine/job.js';
import { closeApps, listeningApp, testApp } from '../support/build-app.js';
import { expectError } from '../support/expect-error.js';
import { TestMcp } from '../support/mcp-servers.js';
import { inPieces, postTo, readNamedEvents } from '../support/post-to.js';
import { until } from '../support/until.js';

const test = suite<{ mcp: TestMcp }>('http: MCP tools of responses');

test.before.each((context) => {
  context.mcp = new TestMcp();
});
test.after.each(closeApps);
test.after.each(({ mcp }) => mcp.close());

const never = { type: 'mcp', server_label: 'test', require_approval: 'never' };

/** A model that writes `calls`, and text once there is a result. */
function calling(calls: string) {
  const batches = ({ prompt }: Job) => inPieces(String(prompt).includes('<tool>') ? 'Done.' : calls);
  return { model: { takesTools: true }, batches };
}

function responses(mcp: TestMcp, calls = ECHO, servers: object = { test: mcp.stdio() }) {
  const { app, engine } = testApp(calling(calls), { mcp: mcp.servers(servers) });
  const post = postTo(app, '/v1/responses');
  const respond = (body: object = {}) => post({ model: 'fake', input: 'Hi', tools: [never], ...body });
  return { app, engine, respond };
}

const ECHO = '<call>test_echo {"text":"hi"}</call>';

type Item = Record<string, unknown> & { type: string; id: string };

const typesOf = (output: readonly Item[]) => output.map(({ type }) => type);

test('the server calls the tool, and the model replies to its result', async ({ mcp }) => {
  const { engine, respond } = responses(mcp);
  const reply = await respond();
  assert.is(reply.statusCode, 200, reply.body);
  const { output, status, usage, tools } = reply.json();
  assert.equal([status, typesOf(output)], ['completed', ['mcp_list_tools', 'mcp_call', 'message']]);
  const [list, { id, ...call }, message] = output;
  assert.is(list.tools.length, 7);
  assert.equal(list.tools[0].annotations, { readOnlyHint: true });
  assert.match(id, /^mcp_/);
  assert.equal(call, {
    type: 'mcp_call',
    status: 'completed',
    server_label: 'test',
    name: 'echo',
    arguments: '{"text":"hi"}',
    output: 'echo: hi',
    error: null,
    approval_request_id: null,
  });
  assert.is(message.content[0].text, 'Done.');
  assert.equal(tools, [never]);
  assert.is(engine.jobs.length, 2);
  assert.ok(usage.input_tokens > 0 && usage.total_tokens === usage.input_tokens + usage.output_tokens);
  assert.equal(
    engine.conversations[1]?.map(({ role, content }) => [role, content]),
    [
      ['user', 'Hi'],
      ['assistant', ''],
      ['tool', 'echo: hi'],
    ],
  );
});

test('`tool_choice` names a tool of a server, or a server', async ({ mcp }) => {
  const { engine, respond } = responses(mcp);
  const chosen = async (choice: object) => {
    const reply = await respond({ tools: [never, { type: 'function', name: 'own' }], tool_choice: choice });
    const { toolChoice, tools = [] } = engine.renderOptions.at(-2) ?? {};
    return [reply.statusCode, toolChoice, tools.length];
  };
  const server = { type: 'mcp', server_label: 'test' };
  assert.equal(await chosen({ ...server, name: 'echo' }), [200, { name: 'test_echo' }, 8]);
  assert.equal(await chosen(server), [200, 'required', 7]);
  assert.equal(await chosen({ ...server, name: null }), [200, 'required', 7]);
  for (const wrong of [
    { ...server, name: 'x' },
    { ...server, server_label: 'y' },
    { type: 'mcp' },
    { ...server, name: 5 },
  ]) {
    const reply = await respond({ tool_choice: wrong });
    assert.is(reply.statusCode, 400, reply.body);
    assert.match(reply.json().error.param, /^tool_choice/);
  }
});

test('the events of a stream are those of OpenAI, numbered, each with the index of its item', async ({ mcp }) => {
  const { respond } = responses(mcp);
  const events = readNamedEvents((await respond({ stream: true })).body);
  assert.equal(
    events.map(({ sequence_number: number }) => number),
    [...events.keys()],
  );
  const types = events.map(({ type }) => type.replace(/^response\./, ''));
  const unique = types.filter((type, index) => type !== types[index - 1]);
  assert.equal(unique, [
    'created',
    'in_progress',
    'output_item.added',
    'mcp_list_tools.in_progress',
    'mcp_list_tools.completed',
    'output_item.done',
    'output_item.added',
    'mcp_call.in_progress',
    'mcp_call_arguments.delta',
    'mcp_call_arguments.done',
    'mcp_call.completed',
    'output_item.done',
    'output_item.added',
    'content_part.added',
    'output_text.delta',
    'output_text.done',
    'content_part.done',
    'output_item.done',
    'completed',
  ]);
  const { output } = events.at(-1).response;
  for (const { output_index: index, item_id: id, item } of events.filter((event) => 'output_index' in event)) {
    assert.is(output[index].id, id ?? item.id);
  }
  const added = events.filter(({ type }) => type === 'response.output_item.added').map(({ item }) => item.type);
  assert.equal(added, ['mcp_list_tools', 'mcp_call', 'message']);
  const deltas = events.filter(({ type }) => type === 'response.mcp_call_arguments.delta').map(({ delta }) => delta);
  assert.is(deltas.join(''), '{"text":"hi"}');
});

test('a call waits for approval by default; an approved one runs in the response that continues', async ({ mcp }) => {
  const { engine, respond } = responses(mcp);
  const tools = [{ type: 'mcp', server_label: 'test' }];
  const first = (await respond({ tools })).json();
  assert.equal([first.status, typesOf(first.output)], ['completed', ['mcp_list_tools', 'mcp_approval_request']]);
  const [, { id, ...request }] = first.output;
  assert.equal(request, {
    type: 'mcp_approval_request',
    server_label: 'test',
    name: 'echo',
    arguments: '{"text":"hi"}',
  });
  assert.not(mcp.lines.includes('call echo'));
  const approve = { type: 'mcp_approval_response', approval_request_id: id, approve: true };
  const reply = await respond({ tools, previous_response_id: first.id, input: [approve] });
  assert.is(reply.statusCode, 200, reply.body);
  const second = reply.json();
  assert.equal(typesOf(second.output), ['mcp_call', 'message']);
  assert.equal([second.output[0].output, second.output[0].approval_request_id], ['echo: hi', id]);
  // The approval is used up.
  const third = (await respond({ tools, previous_response_id: second.id, input: [approve] })).json();
  assert.equal(typesOf(third.output), ['message']);
  assert.is(mcp.lines.filter((line) => line === 'call echo').length, 1);
  assert.is(engine.conversations.at(-1)?.filter(({ role }) => role === 'tool').length, 1);
});

test('the model is told of a refused call', async ({ mcp }) => {
  const { engine, respond } = responses(mcp);
  const tools = [{ type: 'mcp', server_label: 'test' }];
  const first = (await respond({ tools })).json();
  const { id } = first.output[1];
  const refuse = { type: 'mcp_approval_response', approval_request_id: id, approve: false, reason: 'Not now.' };
  const second = (await respond({ tools, previous_response_id: first.id, input: [refuse] })).json();
  assert.equal(typesOf(second.output), ['message']);
  assert.is(engine.conversations.at(-1)?.at(-1)?.content, 'The user has refused this call. Not now.');
  assert.not(mcp.lines.includes('call echo'));
});

test('filters choose the tools that are offered and that wait', async ({ mcp }) => {
  const { engine, respond } = responses(mcp, `${ECHO}<call>test_add {"a":1,"b":2}</call>`);
  const approval = { never: { read_only: true } };
  const tools = [{ ...never, allowed_tools: ['echo', 'add'], require_approval: approval }];
  const { output } = (await respond({ tools })).json();
  assert.equal(typesOf(output), ['mcp_list_tools', 'mcp_call', 'mcp_approval_request']);
  assert.equal(
    engine.renderOptions[0]?.tools?.map(({ name }) => name),
    ['test_echo', 'test_add'],
  );
  assert.is(engine.jobs.length, 1);
});

test('names that collide with the client’s functions or are invalid are replaced', async ({ mcp }) => {
  const own = { type: 'function', name: 'test_echo' };
  const calls =
    '<call>test_echo {}</call><call>test_echo_2 {"text":"hi"}</call><call>test_odd_name_with_signs__ {}</call>';
  const { engine, respond } = responses(mcp, calls);
  const { output } = (await respond({ tools: [never, own] })).json();
  assert.equal(typesOf(output), ['mcp_list_tools', 'function_call', 'mcp_call', 'mcp_call']);
  assert.equal([output[2].output, output[3].output], ['echo: hi', 'odd']);
  assert.is(output[3].name, 'odd name/with.signs é');
  // The client's result is missing, so the model is not asked again.
  assert.is(engine.jobs.length, 1);
});

test('failures are results for the model', async ({ mcp }) => {
  const { respond } = responses(mcp, '<call>test_fail {}</call><call>test_huge {}</call><call>test_echo []</call>');
  const { status, output } = (await respond()).json();
  assert.is(status, 'completed');
  const errors = output.flatMap(({ type, status: state, error }: Item) =>
    type === 'mcp_call' ? [[state, error]] : [],
  );
  assert.equal(errors[0], ['failed', 'no such file']);
  assert.match(errors[1][1], /exceeds the limit of 4 MiB/);
});

test('a server that is killed during a call', async ({ mcp }) => {
  const { respond } = responses(mcp, '<call>test_wait {}</call>');
  const reply = respond();
  await mcp.logged('waiting');
  process.kill(mcp.pids[0] as number, 'SIGKILL');
  const { output } = (await reply).json();
  assert.match(output[1].error, /it ended with .*SIGKILL/);
  assert.is(output[2].content[0].text, 'Done.');
});

test('a server that cannot start is an error of its list', async ({ mcp }) => {
  const { respond } = responses(mcp, 'Hello.', { test: { command: '/does/not/exist' } });
  const events = readNamedEvents((await respond({ stream: true })).body);
  const types = events.map(({ type }) => type);
  assert.ok(types.includes('response.mcp_list_tools.failed'));
  assert.match(events.at(-1).response.output[0].error, /ENOENT/);
  assert.is(events.at(-1).response.status, 'completed');
});

test('calls are limited; then the model replies without tools', async ({ mcp }) => {
  const batches = () => inPieces(ECHO);
  const { app, engine } = testApp({ model: { takesTools: true }, batches }, { mcp: mcp.servers() });
  const post = postTo(app, '/v1/responses');
  const body = { model: 'fake', input: 'Hi', tools: [never], max_tool_calls: 2, tool_choice: 'required' };
  const reply = await post(body);
  assert.is(reply.statusCode, 200, reply.body);
  const { output } = reply.json();
  assert.is(output.filter(({ output: text }: Item) => text === 'echo: hi').length, 2);
  assert.is(mcp.lines.filter((line) => line === 'call echo').length, 2);
  assert.equal(
    engine.renderOptions.map(({ tools, toolChoice }) => [tools?.length ?? 0, toolChoice]),
    [
      [7, 'required'],
      [7, 'auto'],
      [7, 'none'],
    ],
  );
});

test('a client that leaves cancels the call', async ({ mcp }) => {
  const { url } = await listeningApp(calling('<call>test_wait {}</call>'), { mcp: mcp.servers() });
  const controller = new AbortController();
  const body = JSON.stringify({ model: 'fake', input: 'Hi', tools: [never], stream: true });
  const headers = { 'content-type': 'application/json' };
  const reply = fetch(`${url}/v1/responses`, { method: 'POST', headers, body, signal: controller.signal });
  await mcp.logged('waiting');
  await reply;
  controller.abort();
  await mcp.logged('cancelled');
});

test('two clients at once', async ({ mcp }) => {
  const { respond } = responses(mcp);
  const replies = await Promise.all([respond(), respond({ stream: true }), respond()]);
  for (const { body } of replies) assert.ok(body.includes('echo: hi'));
  assert.is(mcp.pids.length, 1);
});

test('a background response', async ({ mcp }) => {
  const { app, respond } = responses(mcp);
  const { id } = (await respond({ background: true })).json();
  const get = async () => (await app.inject(`/v1/responses/${id}`)).json();
  await until(async () => (await get()).status === 'completed', 'the response');
  assert.equal(typesOf((await get()).output), ['mcp_list_tools', 'mcp_call', 'message']);
});

test('requests that cannot be obeyed', async ({ mcp }) => {
  const { respond } = responses(mcp);
  const refused = async (tool: object, param: string, code: string, says: RegExp) =>
    expectError(await respond({ tools: [{ type: 'mcp', server_label: 'test', ...tool }] }), {
      status: 400,
      param: `tools[0].${param}`,
      code,
      says,
    });
  const url = 'http://169.254.169.254/';
  await refused({ server_url: url }, 'server_url', 'unsupported_parameter', /only configured MCP servers.*`test`/);
  await refused({ headers: { A: 'b' } }, 'headers', 'unsupported_parameter', /only configured/);
  await refused({ authorization: 'x' }, 'authorization', 'unsupported_parameter', /only configured/);
  await refused(
    { server_label: 'other' },
    'server_label',
    'invalid_value',
    /must name a configured MCP server: `test`/,
  );
  await refused({ server_label: undefined }, 'server_label', 'missing_required_parameter', /missing/);
  await refused({ require_approval: 'maybe' }, 'require_approval', 'invalid_value', /"always", "never"/);
  const twice = await respond({ tools: [never, never] });
  expectError(twice, { status: 400, param: 'tools[1].server_label', code: 'invalid_value', says: /repeats/ });
  const input = [{ type: 'mcp_approval_response', approval_request_id: 'x', approve: true }];
  const unknown = await respond({ input });
  expectError(unknown, { status: 400, param: 'input[0].approval_request_id', code: 'invalid_value', says: /names no/ });
  const request = { type: 'mcp_approval_request', id: 'x', server_label: 'gone', name: 'a', arguments: '{}' };
  const missing = await respond({ input: [request, ...input] });
  expectError(missing, { status: 400, param: 'tools', code: 'invalid_value', says: /must have the MCP server/ });
  assert.equal(mcp.lines, []);
});

test('the tokens of a prompt are counted with the tools', async ({ mcp }) => {
  const { app, engine } = responses(mcp);
  const count = postTo(app, '/v1/responses/input_tokens');
  assert.is((await count({ model: 'fake', input: 'Hi', tools: [never] })).statusCode, 200);
  assert.is(engine.renderOptions.at(-1)?.tools?.length, 7);
});

test.run();
