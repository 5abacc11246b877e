/** Names of functions in the chat body. */
import { clientToolName, clientToolOf } from './local-tools.js';
import type { ResponseTool } from './tools-schema.js';

/** The name of a tool in a namespace begins with the namespace. */
export function nameInChat({
  name,
  namespace = null,
}: {
  name: string;
  namespace?: string | null | undefined;
}): string {
  if (namespace === null) return name;
  return namespace.endsWith('__') ? namespace + name : `${namespace}__${name}`;
}

/** The names of all functions of a tool. Tools of MCP servers must not have them. */
export function clientNames(tool: ResponseTool, namespace: string | null = null): string[] {
  const client = clientToolOf(tool);
  if (client !== null) return [clientToolName(client)];
  const { type, name = '', tools } = tool;
  if (type === 'namespace') return (tools ?? []).flatMap((each) => clientNames(each, name));
  return [nameInChat({ name, namespace })];
}
