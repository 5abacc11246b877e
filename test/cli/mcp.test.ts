// chasqui serve --mcp-config: the servers start on their first use and end with the server.
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { startChild } from '../support/child.js';
import { isRunning, TestMcp } from '../support/mcp-servers.js';
import { writeScriptedModel } from '../support/scripted-model.js';
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
  assert.is(tools[0]?.tool, 'test_echo');
  const [pid = 0] = mcp.pids;
  assert.ok(isRunning(pid));
  await server.stop();
  await until(() => !isRunning(pid), 'the end of the process');
});

test('servers as JSON text, beside those of a file', async ({ mcp }) => {
  const json = JSON.stringify({ mcpServers: { inline: mcp.stdio() } });
  const file = mcp.write({ mcpServers: { test: mcp.stdio() } });
  const server = await startServer(['--mcp-config', file, '--mcp-servers-json', json]);
  const reply = await fetch(`${server.url}/tools`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ tool: 'inline_echo', params: { text: 'hi' } }),
  });
  assert.equal(await reply.json(), { plain_text_response: 'echo: hi' });
  assert.is(mcp.pids.length, 1);
  await server.stop();
  const twice = ['--mcp-config', file, '--mcp-servers-json', JSON.stringify({ mcpServers: { test: mcp.stdio() } })];
  const child = startChild('ts/cli.ts', ['serve', '--port', '0', ...twice]);
  assert.is.not((await child.exited).code, 0);
  assert.match(child.output.stderr, /--mcp-servers-json.*`mcpServers\.test` is also in the file of .*--mcp-config/);
});

for (const [tool, args] of [
  ['echo', { text: 'hi' }],
  ['wait', {}],
] as const) {
  test(`a model calls the tool ${tool}, and a stop leaves no process`, async ({ mcp }) => {
    const calls = [{ tool: `test_${tool}`, arguments: args }];
    const model = writeScriptedModel(path.join(mcp.folder, 'scripted.gguf'), { calls, say: 'It is done.' });
    const config = mcp.write({ mcpServers: { test: mcp.stdio() } });
    const server = await startServer(['-m', model, '--mcp-config', config, '--shutdown-timeout', '0']);
    const tools = [{ type: 'mcp', server_label: 'test', allowed_tools: [tool], require_approval: 'never' }];
    const reply = fetch(`${server.url}/v1/responses`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'scripted', input: 'Hi', temperature: 0, tools }),
    });
    await mcp.logged(`call ${tool}`);
    if (tool === 'echo') {
      const { output } = (await (await reply).json()) as {
        output: { output?: string; content?: { text: string }[] }[];
      };
      assert.is(output[1]?.output, 'echo: hi');
      assert.is(output[2]?.content?.[0]?.text, 'It is done.');
    }
    const [pid = 0] = mcp.pids;
    await server.stop();
    if (tool === 'wait') assert.is((await reply).status, 503);
    await until(() => !isRunning(pid), 'the end of the process');
  });
}

test('an invalid file is an error that names the field', async ({ mcp }) => {
  const file = mcp.write({ mcpServers: { test: { command: 7 } } });
  const child = startChild('ts/cli.ts', ['serve', '--port', '0', '--mcp-config', file]);
  assert.is.not((await child.exited).code, 0);
  assert.match(child.output.stderr, /--mcp-config.*`mcpServers\.test\.command` must be a string/);
});

test.run();
