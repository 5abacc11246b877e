// chasqui serve --mcp-config: the servers start on their first use and end with the server.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { startChild } from '../support/child.js';
import { isRunning, TestMcp } from '../support/mcp-servers.js';
import { startServer } from '../support/start-server.js';
import { until } from '../support/until.js';

const test = suite<{ mcp: TestMcp }>('cli: MCP servers');

test.before.each((context) => {
  context.mcp = new TestMcp();
});
test.after.each(({ mcp }) => mcp.close());

test('shutdown leaves no process', async ({ mcp }) => {
  const server = await startServer(['--mcp-config', mcp.write({ mcpServers: { test: mcp.stdio() } })]);
  assert.equal(mcp.pids, []);
  const tools = (await (await fetch(`${server.url}/tools`)).json()) as { tool: string }[];
  assert.is(tools[0]?.tool, 'test__echo');
  const [pid = 0] = mcp.pids;
  assert.ok(isRunning(pid));
  await server.stop();
  await until(() => !isRunning(pid), 'the end of the process');
});

test('an invalid file is an error that names the field', async ({ mcp }) => {
  const file = mcp.write({ mcpServers: { test: { command: 7 } } });
  const child = startChild('ts/cli.ts', ['serve', '--port', '0', '--mcp-config', file]);
  assert.is.not((await child.exited).code, 0);
  assert.match(child.output.stderr, /--mcp-config.*`mcpServers\.test\.command` must be a string/);
});

test.run();
