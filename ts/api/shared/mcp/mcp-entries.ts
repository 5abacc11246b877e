/** The tools of the type `mcp` in a request: which servers they select, and which of their tools. */
import { ChasquiError, invalidValue, unsupportedParameter } from '../../../errors.js';
import type { McpServer, McpTool } from '../../../mcp/mcp-server.js';
import type { McpServers } from '../../../mcp/mcp-servers.js';
import type { McpToolFields } from './mcp-tool-schema.js';

export interface McpEntry {
  /** Path of the tool in the request. */
  origin: string;
  server: McpServer;
  /** Whether the model may call the tool. */
  allows(tool: McpTool): boolean;
  /** Whether a call waits for the approval of the client. */
  asks(tool: McpTool): boolean;
}

interface ToolFilter {
  tool_names?: string[] | null;
  read_only?: boolean | null;
}

/** The server connects to no address that a client names, and sends no credentials of clients. */
const REFUSED = ['server_url', 'connector_id', 'authorization', 'headers'] as const;

/** @throws {ChasquiError} a tool cannot be used as the request asks */
export function readMcpEntries(tools: readonly ({ type: string } & McpToolFields)[], servers: McpServers): McpEntry[] {
  const entries: McpEntry[] = [];
  for (const [index, tool] of tools.entries()) {
    if (tool.type !== 'mcp') continue;
    const entry = toEntry(tool, `tools[${index}]`, servers);
    if (entries.some(({ server }) => server === entry.server)) {
      const message = `\`${entry.origin}.server_label\` repeats a server: name each server once.`;
      throw invalidValue(message, `${entry.origin}.server_label`);
    }
    entries.push(entry);
  }
  return entries;
}

function toEntry(tool: McpToolFields, origin: string, servers: McpServers): McpEntry {
  for (const name of REFUSED) {
    if (tool[name] == null) continue;
    const message =
      `\`${origin}.${name}\` is not supported: this server uses only configured MCP servers. ` +
      `Select one with \`server_label\`: ${labelsOf(servers)}.`;
    throw unsupportedParameter(message, `${origin}.${name}`);
  }
  const { server_label: label = null, allowed_tools: allowed = null, require_approval: approval = null } = tool;
  const field = `${origin}.server_label`;
  if (label === null) throw new ChasquiError('missing_required_parameter', `\`${field}\` is missing.`, field);
  const server = servers.get(label);
  if (server === null) {
    throw invalidValue(`\`${field}\` must name a configured MCP server: ${labelsOf(servers)}.`, field);
  }
  const filter = Array.isArray(allowed) ? { tool_names: allowed } : allowed;
  return {
    origin,
    server,
    allows: (each) => filter === null || matches(filter, each),
    asks: asksBy(approval, `${origin}.require_approval`),
  };
}

function asksBy(approval: NonNullable<McpToolFields['require_approval']> | null, field: string): McpEntry['asks'] {
  if (approval === null || approval === 'always') return () => true;
  if (approval === 'never') return () => false;
  if (typeof approval === 'string') {
    throw invalidValue(`\`${field}\` must be "always", "never" or an object.`, field);
  }
  const { always = null, never = null } = approval;
  // As without the field, tools that no filter selects wait.
  return (tool) => never === null || !matches(never, tool) || (always !== null && matches(always, tool));
}

/** An empty filter matches nothing. */
function matches({ tool_names: names = null, read_only: readOnly = null }: ToolFilter, tool: McpTool): boolean {
  if (names === null && readOnly === null) return false;
  const isReadOnly = tool.annotations?.readOnlyHint === true;
  return (names === null || names.includes(tool.name)) && (readOnly === null || readOnly === isReadOnly);
}

const MAX_SHOWN = 20;

function labelsOf(servers: McpServers): string {
  const labels = servers.all.map(({ label }) => `\`${label}\``);
  return labels.length > MAX_SHOWN ? `${labels.slice(0, MAX_SHOWN).join(', ')}, ...` : labels.join(', ');
}
