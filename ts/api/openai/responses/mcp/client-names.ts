/** Names of the client's functions, which tools of MCP servers must not have. */
import { clientToolName, clientToolOf } from '../local-tools.js';
import { nameInChat } from '../tool-names.js';
import type { ResponseTool } from '../tools-schema.js';

/** The names of a tool's functions in the chat. */
export function clientNames(tool: ResponseTool, namespace: string | null = null): string[] {
  const client = clientToolOf(tool);
  if (client !== null) return [clientToolName(client)];
  const { type, name = '', tools } = tool;
  if (type === 'namespace') return (tools ?? []).flatMap((each) => clientNames(each, name));
  return [nameInChat({ name, namespace })];
}
