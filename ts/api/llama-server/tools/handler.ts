/** `/tools`: the tools of the configured MCP servers, and calls of them by clients that run the loop themselves. */
import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import { ChasquiError, unsupportedParameter } from '../../../errors.js';
import type { Operation } from '../../../http/openapi/operation.js';
import { bodyRoute } from '../../../http/read-fields.js';
import type { McpServer } from '../../../mcp/mcp-server.js';
import type { AppContext } from '../../context.js';
import { mayBeginName } from '../../shared/mcp/function-names.js';
import { McpCalls } from '../../shared/mcp/mcp-calls.js';
import type { McpEntry } from '../../shared/mcp/mcp-entries.js';
import { McpOffer } from '../../shared/mcp/mcp-offer.js';
import {
  type ServerToolCall,
  type ServerToolResult,
  type ServerTools,
  serverToolCallSchema,
  serverToolResultSchema,
  serverToolsSchema,
} from './schema.js';

/** Without servers, there is no such path. */
export function serverToolsRoute(app: FastifyInstance, context: AppContext): void {
  const { mcp, running } = context;
  if (mcp === null) return;
  app.get('/tools', { config: { operation: listing } }, async (request, reply): Promise<ServerTools> => {
    const { offer } = await offerAll(mcp.all, running.signalFor(reply.raw), request.log);
    return offer.tools.map(({ name, entry: { server }, tool }) => ({
      display_name: `${server.label}: ${tool.name}`,
      tool: name,
      type: 'mcp',
      server_label: server.label,
      permissions: { write: tool.annotations?.readOnlyHint !== true },
      uses_cwd: false,
      definition: { type: 'function', function: { name, description: tool.description, parameters: tool.inputSchema } },
    }));
  });

  const route = bodyRoute(context, serverToolCallSchema, calling);
  app.post<{ Body: ServerToolCall }>('/tools', route, async (request, reply): Promise<ServerToolResult> => {
    const { tool: name, params = {}, stream = false } = request.body;
    if (stream) throw unsupportedParameter('`stream` must be false: results of MCP servers are whole.', 'stream');
    const signal = running.signalFor(reply.raw);
    const servers = mcp.all.filter(({ label }) => mayBeginName(label, name));
    const { offer, failure } = await offerAll(servers, signal, request.log);
    // A server that is missing from the list may change the names of the others.
    if (failure !== null) return { error: failure };
    const offered = offer.byName(name);
    if (offered === null) {
      throw new ChasquiError('tool_not_found', '`tool` must be one that `GET /tools` lists.', 'tool');
    }
    const { output, error } = await new McpCalls(offer, signal, 1).run(offered, JSON.stringify(params));
    return error === null ? { plain_text_response: output } : { error };
  });
}

/** Offers the tools of these servers. `failure`: why the tools of one could not be listed. */
async function offerAll(
  servers: readonly McpServer[],
  signal: AbortSignal,
  log: FastifyBaseLogger,
): Promise<{ offer: McpOffer; failure: string | null }> {
  const entries = servers.map((server): McpEntry => ({ origin: '', server, allows: () => true, asks: () => false }));
  const offer = new McpOffer(entries, []);
  let failure: string | null = null;
  const listed = await Promise.all(
    servers.map((server) =>
      server.listTools(signal).catch((error: Error) => {
        signal.throwIfAborted();
        log.warn({ err: error }, 'the tools of an MCP server could not be listed');
        failure = error.message;
        return [];
      }),
    ),
  );
  for (const [index, entry] of entries.entries()) offer.offer(entry, listed[index] ?? []);
  return { offer, failure };
}

const NAME = 'files_read_file';

const listing: Operation = {
  id: 'listServerTools',
  tag: 'llama-server',
  summary: 'Tools of the configured MCP servers (llama-server).',
  description: 'Tools of servers that cannot be reached are omitted. The path exists only if there are such servers.',
  reply: { json: { name: 'ServerTools', schema: serverToolsSchema } },
  examples: () => {
    const parameters = { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] };
    const tool = {
      display_name: 'files: read_file',
      tool: NAME,
      type: 'mcp',
      server_label: 'files',
      permissions: { write: false },
      uses_cwd: false,
      definition: { type: 'function', function: { name: NAME, description: 'Reads a file.', parameters } },
    };
    return { tools: { summary: 'The tool of one server', reply: [tool] } };
  },
};

const calling: Operation = {
  id: 'callServerTool',
  tag: 'llama-server',
  summary: 'Calls a tool of a configured MCP server (llama-server).',
  description: 'A call that fails, or whose server cannot be reached, is a reply with `error`.',
  requestName: 'ServerToolCall',
  errors: ['tool_not_found', 'unsupported_parameter'],
  reply: { json: { name: 'ServerToolResult', schema: serverToolResultSchema } },
  examples: () => ({
    read: {
      summary: 'A call',
      request: { tool: NAME, params: { path: 'notes.txt' } },
      reply: { plain_text_response: 'Buy bread.' },
    },
  }),
};
