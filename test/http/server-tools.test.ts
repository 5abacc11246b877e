// GET /tools: the tools of MCP servers.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { testApp } from '../support/build-app.js';
import { TestMcp } from '../support/mcp-servers.js';

const test = suite<{ mcp: TestMcp }>('http: tools of MCP servers');

test.before.each((context) => {
  context.mcp = new TestMcp();
});
test.after.each(({ mcp }) => mcp.close());

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
  assert.ok(names.includes('a_b__odd_name_with_signs__'), names.join(' '));
  assert.equal(tools[0], {
    display_name: 'a b: echo',
    tool: 'a_b__echo',
    type: 'mcp',
    server_label: 'a b',
    permissions: { write: false },
    definition: {
      type: 'function',
      function: {
        name: 'a_b__echo',
        description: 'The tool echo.',
        parameters: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
      },
    },
  });
  assert.is(tools.find(({ server_label: label }) => label === 'a_b')?.tool, 'a_b__echo_2');
  const document = (await app.inject('/openapi.json')).json();
  assert.ok(document.paths['/tools'].get);
});

test('without servers there is no such path', async () => {
  const { app } = testApp();
  const reply = await app.inject('/tools');
  assert.equal([reply.statusCode, reply.json().error.code], [404, 'unknown_url']);
});

test.run();
