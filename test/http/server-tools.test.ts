// /tools: the tools of MCP servers, and calls of them.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { closeApps, listeningApp, testApp } from '../support/build-app.js';
import { type ExpectedError, expectError } from '../support/expect-error.js';
import { TestMcp } from '../support/mcp-servers.js';

const test = suite<{ mcp: TestMcp }>('http: tools of MCP servers');

test.before.each((context) => {
  context.mcp = new TestMcp();
});
test.after.each(async ({ mcp }) => {
  await closeApps();
  await mcp.close();
});

test('tools are listed under names that are valid and unique; servers that fail are left out', async ({ mcp }) => {
  const { url } = await mcp.http();
  const servers = { 'a b': mcp.stdio(), a_b: { url }, broken: { command: '/does/not/exist' } };
  const { app } = testApp({}, { mcp: mcp.servers(servers) });
  const reply = await app.inject('/tools');
  assert.is(reply.statusCode, 200, reply.body);
  const tools = reply.json() as { tool: string; server_label: string; permissions: object; definition: object }[];
  const names = tools.map(({ tool }) => tool);
  assert.is(new Set(names).size, 14);
  assert.ok(
    names.every((name) => /^[a-zA-Z0-9_-]{1,64}$/.test(name)),
    names.join(' '),
  );
  assert.ok(names.includes('a_b_odd_name_with_signs__'), names.join(' '));
  assert.equal(tools[0], {
    display_name: 'a b: echo',
    tool: 'a_b_echo',
    type: 'mcp',
    server_label: 'a b',
    permissions: { write: false },
    uses_cwd: false,
    definition: {
      type: 'function',
      function: {
        name: 'a_b_echo',
        description: 'The tool echo.',
        parameters: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
      },
    },
  });
  assert.is(tools.find(({ server_label: label }) => label === 'a_b')?.tool, 'a_b_echo_2');
  const document = (await app.inject('/openapi.json')).json();
  assert.ok(document.paths['/tools'].get);
});

interface Call {
  mcp: TestMcp;
  servers?: object;
  strict?: boolean;
}

/** Returns a function that calls a tool. */
function caller({ mcp, servers, strict = false }: Call) {
  const { send } = testApp({}, { mcp: mcp.servers(servers), strict });
  return (tool: unknown, params?: unknown, more: object = {}) => send('/tools', { tool, params, ...more });
}

test('a call has the result, or the error of the tool', async ({ mcp }) => {
  const call = caller({ mcp, strict: true });
  const results = [
    (await call('test_echo', { text: 'hi' })).json(),
    (await call('test_add', { a: 3, b: 5 }, { stream: false })).json(),
    (await call('test_odd_name_with_signs__')).json(),
    (await call('test_fail')).json(),
  ];
  assert.equal(results, [
    { plain_text_response: 'echo: hi' },
    { plain_text_response: '8' },
    { plain_text_response: 'odd' },
    { error: 'no such file' },
  ]);
  const { error } = (await call('test_huge')).json();
  assert.match(error, /limit/);
});

test('only servers that may have the tool are started', async ({ mcp }) => {
  const { url } = await mcp.http();
  const servers = { 'a b': mcp.stdio(), a_b: { url }, broken: { command: '/does/not/exist' }, other: mcp.stdio() };
  const call = caller({ mcp, servers });
  assert.equal((await call('a_b_echo_2', { text: 'hi' })).json(), { plain_text_response: 'echo: hi' });
  assert.ok(mcp.lines.some((line) => line.startsWith('POST')));
  assert.is(mcp.pids.length, 2);
  const failed = await call('broken_echo', {});
  assert.is(failed.statusCode, 200);
  assert.match(failed.json().error, /The MCP server `broken` failed/);
  const unknown: ExpectedError = { status: 404, code: 'tool_not_found', type: 'not_found_error', param: 'tool' };
  expectError(await call('other_absent', {}), unknown);
  for (const name of ['', 'echo', 'constructor', 'x'.repeat(10_000)]) expectError(await call(name, {}), unknown);
});

test('invalid bodies', async ({ mcp }) => {
  const call = caller({ mcp });
  const refused: [reply: ReturnType<typeof call>, code: string, param: string | null][] = [
    [call(7), 'invalid_type', 'tool'],
    [call(undefined), 'missing_required_parameter', 'tool'],
    [call('test_echo', 'hi'), 'invalid_type', 'params'],
    [call('test_echo', []), 'invalid_type', 'params'],
    [call('test_echo', {}, { stream: true }), 'unsupported_parameter', 'stream'],
    [call('test_echo', {}, { stream: 'yes' }), 'invalid_type', 'stream'],
  ];
  for (const [reply, code, param] of refused) expectError(await reply, { status: 400, code, param } as ExpectedError);
  const polluted = await call('test_echo', JSON.parse('{"text":"hi","__proto__":{"a":1}}'));
  assert.ok(polluted.statusCode < 500, polluted.body);
  const nested = JSON.parse(`${'{"a":'.repeat(400)}1${'}'.repeat(400)}`);
  const deep = await call('test_echo', nested);
  assert.ok(deep.statusCode === 400 || /nested too deeply/.test(deep.json().error), deep.body);
  assert.not(mcp.lines.includes('call wait'));
});

test('a call ends with its client', async ({ mcp }) => {
  const { url } = await listeningApp({}, { mcp: mcp.servers() });
  const leave = new AbortController();
  const body = JSON.stringify({ tool: 'test_wait' });
  const headers = { 'content-type': 'application/json' };
  const reply = fetch(`${url}/tools`, { method: 'POST', headers, body, signal: leave.signal }).catch(() => null);
  await mcp.logged('waiting');
  leave.abort();
  await mcp.logged('cancelled');
  assert.is(await reply, null);
});

test('without servers there is no such path', async () => {
  const { app } = testApp();
  const reply = await app.inject('/tools');
  assert.equal([reply.statusCode, reply.json().error.code], [404, 'unknown_url']);
});

test.run();
