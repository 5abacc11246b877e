/** The tools of MCP servers that a request offers to the model, under names that are valid and unique. */

import type { McpTool } from '../../../../mcp/mcp-server.js';
import type { McpServers } from '../../../../mcp/mcp-servers.js';
import { isTextTooDeep } from '../../../shared/json-schema/json-depth.js';
import { toFunctionName } from '../../../shared/mcp/function-names.js';
import { clientToolName, clientToolOf } from '../local-tools.js';
import type { ResponsesRequest } from '../schema.js';
import { nameInChat } from '../tool-names.js';
import type { ResponseTool } from '../tools-schema.js';
import { type McpEntry, readMcpEntries } from './mcp-entries.js';
import type { McpListItem } from './mcp-schema.js';

export interface OfferedTool {
  /** The name of the function. */
  name: string;
  entry: McpEntry;
  tool: McpTool;
}

export class McpOffer {
  readonly entries: readonly McpEntry[];
  /** Empty until `offer` is called. */
  readonly tools: OfferedTool[] = [];
  readonly #taken: Set<string>;

  /** @throws {ChasquiError} a tool cannot be used as the request asks */
  constructor({ tools = [] }: ResponsesRequest, servers: McpServers) {
    this.entries = readMcpEntries(tools, servers);
    this.#taken = new Set(tools.flatMap((tool) => clientNames(tool)));
  }

  entryOf(label: string): McpEntry | null {
    return this.entries.find(({ server }) => server.label === label) ?? null;
  }

  /** Offers those of a server's tools that the request allows, and returns them. */
  offer(entry: McpEntry, tools: readonly McpTool[]): McpTool[] {
    const usable = tools.filter((tool) => entry.allows(tool) && !isTextTooDeep(JSON.stringify(tool.inputSchema)));
    for (const tool of usable) {
      this.tools.push({ name: toFunctionName(entry.server.label, tool.name, this.#taken), entry, tool });
    }
    return usable;
  }

  /** Offers the tools of a server. The error is for the client. Rejects with the reason of `signal`. */
  async list(entry: McpEntry, signal: AbortSignal): Promise<Pick<McpListItem, 'tools' | 'error'>> {
    try {
      const tools = this.offer(entry, await entry.server.listTools(signal));
      const shown = tools.map(({ inputSchema: input_schema, ...tool }) => ({ ...tool, input_schema }));
      return { tools: shown, error: null };
    } catch (error) {
      signal.throwIfAborted();
      return { tools: [], error: (error as Error).message };
    }
  }

  find(label: string, name: string): OfferedTool | null {
    return this.tools.find(({ entry, tool }) => entry.server.label === label && tool.name === name) ?? null;
  }

  nameOf(label: string, name: string): string {
    return this.find(label, name)?.name ?? toFunctionName(label, name);
  }
}

/** The names of a tool's functions in the chat. */
function clientNames(tool: ResponseTool, namespace: string | null = null): string[] {
  const client = clientToolOf(tool);
  if (client !== null) return [clientToolName(client)];
  const { type, name = '', tools } = tool;
  if (type === 'namespace') return (tools ?? []).flatMap((each) => clientNames(each, name));
  return [nameInChat({ name, namespace })];
}
