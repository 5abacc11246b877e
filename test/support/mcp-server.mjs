// An MCP server for tests. `node mcp-server.mjs stdio <log>` or `node mcp-server.mjs http <log>`, which writes its URL to
// standard output. It appends a line to the log for each event that tests wait for.
import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import { NodeStreamableHTTPServerTransport } from '@modelcontextprotocol/node';
import { Server } from '@modelcontextprotocol/server';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';

const [kind, log] = process.argv.slice(2);
const note = (line) => fs.appendFileSync(log, `${line}\n`);

const text = (value) => ({ content: [{ type: 'text', text: value }] });
const HUGE = 100 * 2 ** 20;

const tools = {
  echo: ({ text: said }) => text(`echo: ${said}`),
  add: ({ a, b }) => text(String(a + b)),
  environment: () => text(JSON.stringify(process.env)),
  fail: () => ({ ...text('no such file'), isError: true }),
  huge: () => text('x'.repeat(HUGE)),
  // Never answers.
  wait: (_args, { mcpReq: { signal } }) =>
    new Promise(() => {
      note('waiting');
      signal.addEventListener('abort', () => note('cancelled'));
    }),
  'odd name/with.signs é': () => text('odd'),
};

const schemas = {
  echo: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  add: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] },
};

function createServer() {
  const server = new Server({ name: 'test', version: '1.0.0' }, { capabilities: { tools: {} } });
  server.setRequestHandler('tools/list', async () => ({
    tools: Object.keys(tools).map((name) => ({
      name,
      description: `The tool ${name}.`,
      inputSchema: schemas[name] ?? { type: 'object' },
      ...(name === 'echo' && { annotations: { readOnlyHint: true } }),
    })),
  }));
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    note(`call ${params.name}`);
    return tools[params.name](params.arguments ?? {}, context);
  });
  return server;
}

note(`started ${process.pid}`);
process.on('SIGTERM', () => {
  note('SIGTERM');
  process.exit(0);
});

if (kind === 'stdio') {
  await createServer().connect(new StdioServerTransport());
} else {
  const sessions = new Map();
  const listener = http.createServer(async (request, reply) => {
    const id = request.headers['mcp-session-id'];
    note(`${request.method} ${request.headers.authorization ?? ''}`);
    let session = sessions.get(id);
    if (id !== undefined && session === undefined) return void reply.writeHead(404).end();
    if (session === undefined) {
      session = new NodeStreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (created) => sessions.set(created, session),
      });
      await createServer().connect(session);
    }
    await session.handleRequest(request, reply);
  });
  process.on('SIGUSR2', () => {
    sessions.clear();
    note('forgot');
  });
  listener.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${listener.address().port}/mcp`));
}
