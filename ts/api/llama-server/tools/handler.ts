/** `GET /tools`: the tools of the MCP servers of the option `mcpConfig`. */
import type { FastifyInstance } from 'fastify';
import type { Operation } from '../../../http/openapi/operation.js';
import type { AppContext } from '../../context.js';
import { toFunctionName } from '../../shared/mcp/function-names.js';
import { type ServerTools, serverToolsSchema } from './schema.js';

/** Without servers, there is no such path. */
export function serverToolsRoute(app: FastifyInstance, { mcp, running }: AppContext): void {
  if (mcp === null) return;
  app.get('/tools', { config: { operation } }, async (request, reply) => {
    const signal = running.signalFor(reply.raw);
    const lists = await Promise.all(
      mcp.all.map(async (server) => {
        const tools = await server.listTools(signal).catch((error) => {
          signal.throwIfAborted();
          request.log.warn({ err: error }, 'the tools of an MCP server could not be listed');
          return [];
        });
        return tools.map((tool) => ({ label: server.label, tool }));
      }),
    );
    const taken = new Set<string>();
    return lists.flat().map(({ label, tool }): ServerTools[number] => {
      const name = toFunctionName(label, tool.name, taken);
      return {
        display_name: `${label}: ${tool.name}`,
        tool: name,
        type: 'mcp',
        server_label: label,
        permissions: { write: tool.annotations?.readOnlyHint !== true },
        definition: {
          type: 'function',
          function: { name, description: tool.description, parameters: tool.inputSchema },
        },
      };
    });
  });
}

const operation: Operation = {
  id: 'listServerTools',
  tag: 'llama-server',
  summary: 'Tools of the configured MCP servers (llama-server).',
  description: 'Tools of servers that cannot be reached are omitted. The path exists only if there are such servers.',
  reply: { json: { name: 'ServerTools', schema: serverToolsSchema } },
  examples: () => {
    const parameters = { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] };
    const name = 'files__read_file';
    const tool = {
      display_name: 'files: read_file',
      tool: name,
      type: 'mcp',
      server_label: 'files',
      permissions: { write: false },
      definition: { type: 'function', function: { name, description: 'Reads a file.', parameters } },
    };
    return { tools: { summary: 'The tool of one server', reply: [tool] } };
  },
};
