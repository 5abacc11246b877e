// Connections to MCP servers, with real ones: calls, limits, crashes, and their end.
import process from 'node:process';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { McpServer } from '../../../ts/mcp/mcp-server.js';
import { isRunning, TestMcp } from '../../support/mcp-servers.js';
import { until } from '../../support/until.js';

const test = suite<{ mcp: TestMcp }>('mcp: servers');

const never = new AbortController().signal;

test.before.each((context) => {
  context.mcp = new TestMcp();
});
test.after.each(({ mcp }) => mcp.close());

function only(mcp: TestMcp, fields: object = mcp.stdio()): McpServer {
  return mcp.servers({ test: fields }).get('test') as McpServer;
}

test('a server starts on its first use, lists its tools and runs them', async ({ mcp }) => {
  const server = only(mcp);
  assert.equal(mcp.lines, []);
  const tools = await server.listTools(never);
  assert.equal(tools[0], {
    name: 'echo',
    description: 'The tool echo.',
    inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
    annotations: { readOnlyHint: true },
  });
  assert.equal(await server.callTool('echo', { text: 'hi' }, never), { output: 'echo: hi', error: null });
  assert.equal(await server.callTool('fail', {}, never), { output: null, error: 'no such file' });
  const [one, two] = await Promise.all([1, 2].map((a) => server.callTool('add', { a, b: 1 }, never)));
  assert.equal([one?.output, two?.output], ['2', '3']);
  assert.is(mcp.pids.length, 1);
});

test('a process gets a few variables and those of its configuration', async ({ mcp }) => {
  process.env.MCP_TEST_SECRET = 'secret';
  const server = only(mcp, mcp.stdio({ env: { OWN: 'own' } }));
  const { output } = await server.callTool('environment', {}, never);
  delete process.env.MCP_TEST_SECRET;
  const { OWN, PATH, MCP_TEST_SECRET } = JSON.parse(output ?? '{}');
  assert.equal([OWN, PATH, MCP_TEST_SECRET], ['own', process.env.PATH, undefined]);
});

test('a huge result fails its own call only', async ({ mcp }) => {
  const server = only(mcp);
  const waiting = server.callTool('wait', {}, AbortSignal.any([never]));
  await mcp.logged('waiting');
  const { error } = await server.callTool('huge', {}, never);
  assert.match(error ?? '', /The result exceeds the limit of 4 MiB/);
  assert.equal(await server.callTool('echo', { text: 'hi' }, never), { output: 'echo: hi', error: null });
  assert.is(mcp.pids.length, 1);
  process.kill(mcp.pids[0] as number, 'SIGKILL');
  assert.match((await waiting).error ?? '', /ended with/);
});

test('a process that is killed during a call is replaced', async ({ mcp }) => {
  const server = only(mcp);
  const waiting = server.callTool('wait', {}, never);
  await mcp.logged('waiting');
  process.kill(mcp.pids[0] as number, 'SIGKILL');
  assert.match((await waiting).error ?? '', /^The MCP server `test` failed: it ended with .*SIGKILL/);
  assert.is((await server.callTool('echo', { text: 'hi' }, never)).output, 'echo: hi');
  assert.is(mcp.pids.length, 2);
});

test('a server that cannot start is retried later', async ({ mcp }) => {
  const server = only(mcp, {
    command: process.execPath,
    args: ['-e', 'console.error("Error: no key"); process.exit(3)'],
  });
  const first = await server.callTool('echo', {}, never);
  assert.match(first.error ?? '', /it ended with .*3.*Error: no key/);
  await server.callTool('echo', {}, never);
  const third = await server.callTool('echo', {}, never);
  assert.match(third.error ?? '', /it is started again in \d+ s/);
  const missing = only(mcp, { command: '/does/not/exist' });
  assert.match((await missing.callTool('echo', {}, never)).error ?? '', /ENOENT/);
});

test('a caller may leave', async ({ mcp }) => {
  const server = only(mcp);
  const controller = new AbortController();
  const waiting = server.callTool('wait', {}, controller.signal);
  await mcp.logged('waiting');
  controller.abort(new Error('left'));
  assert.is(await waiting.catch((error) => error.message), 'left');
  await mcp.logged('cancelled');
});

test('a call has a time limit, which includes the start of the server', async ({ mcp }) => {
  const { error } = await only(mcp, mcp.stdio({ timeout_ms: 500 })).callTool('wait', {}, never);
  assert.is(error, 'The MCP server `test` did not reply within 0.5 seconds.');
});

test('few calls run at a time, some wait, and others fail', async ({ mcp }) => {
  const server = only(mcp);
  await server.listTools(never);
  const controller = new AbortController();
  const running = Array.from({ length: 8 }, () => server.callTool('wait', {}, controller.signal).catch(() => null));
  await mcp.logged('waiting', 8);
  const queued = Array.from({ length: 64 }, () => server.callTool('echo', { text: 'hi' }, never));
  const { error } = await server.callTool('echo', { text: 'hi' }, never);
  assert.match(error ?? '', /72 calls run or wait already/);
  assert.not(mcp.lines.includes('call echo'));
  controller.abort();
  await Promise.all(running);
  assert.ok((await Promise.all(queued)).every(({ output }) => output === 'echo: hi'));
});

test('closing ends calls, the process and its descendants', async ({ mcp }) => {
  const { command, args } = mcp.stdio() as { command: string; args: string[] };
  const servers = mcp.servers({ test: { command: 'sh', args: ['-c', `"${command}" ${args.join(' ')}; true`] } });
  const server = servers.get('test') as McpServer;
  const waiting = server.callTool('wait', {}, never);
  await mcp.logged('waiting');
  const [pid = 0] = mcp.pids;
  assert.ok(isRunning(pid));
  await servers.close();
  assert.match((await waiting).error ?? '', /shutting down/);
  await until(() => !isRunning(pid), 'the end of the process');
  assert.match((await server.callTool('echo', {}, never)).error ?? '', /shutting down/);
  assert.is(mcp.pids.length, 1);
});

test('a descendant that ignores the end of its input and SIGTERM is killed', async ({ mcp }) => {
  const stubborn = `process.on('SIGTERM', () => {}); setInterval(() => {}, 1000); await import(process.argv[1]);`;
  const { args } = mcp.stdio() as { args: string[] };
  // The shell ends at SIGTERM, and its child does not.
  const script = '"$0" "$@"; true';
  const all = ['-c', script, process.execPath, '--input-type=module', '-e', stubborn, ...args];
  const servers = mcp.servers({ test: { command: 'sh', args: all } });
  await servers.get('test')?.listTools(never);
  const [pid = 0] = mcp.pids;
  await servers.close();
  await until(() => !isRunning(pid), 'the end of the process');
});

test('streamable HTTP: calls with headers, limits, and a session that expired', async ({ mcp }) => {
  const { url, pid } = await mcp.http();
  const server = only(mcp, { url, headers: { Authorization: 'Bearer secret' } });
  assert.is((await server.callTool('echo', { text: 'hi' }, never)).output, 'echo: hi');
  assert.ok(mcp.lines.includes('POST Bearer secret'));
  assert.match((await server.callTool('huge', {}, never)).error ?? '', /exceeds the limit of 4 MiB/);
  process.kill(pid, 'SIGUSR2');
  await mcp.logged('forgot');
  assert.is((await server.callTool('echo', { text: 'again' }, never)).output, 'echo: again');
  const controller = new AbortController();
  const waiting = server.callTool('wait', {}, controller.signal);
  await mcp.logged('waiting');
  controller.abort(new Error('left'));
  assert.is(await waiting.catch((error) => error.message), 'left');
  await mcp.logged('cancelled');
});

test.run();
