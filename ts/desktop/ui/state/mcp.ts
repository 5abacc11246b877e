/** MCP servers of the app, and their tools. */
import { computed, signal } from '@preact/signals';
import type { McpList } from '../../api-types.js';
import { call, get, post } from './api.js';

/** Undefined until listed. */
export const mcp = signal<McpList | undefined>(undefined);

export const mcpTools = computed(() =>
  (mcp.value?.servers ?? []).flatMap(({ label, tools }) => tools.map((tool) => ({ ...tool, server: label }))),
);

let requests = 0;

/** Ignores replies to all but the last request. Each change is followed by an event, which requests the list again. */
async function take(request: Promise<McpList>): Promise<void> {
  requests += 1;
  const own = requests;
  const list = await request;
  if (own === requests) mcp.value = list;
}

export const refreshMcp = (): Promise<void> => take(get('/mcp'));

const pathOf = (label: string) => `/mcp/${encodeURIComponent(label)}`;

export async function definitionOf(label: string): Promise<string> {
  return (await get<{ text: string }>(pathOf(label))).text;
}

export const saveServers = (text: string, replaces: string | null): Promise<void> =>
  take(post('/mcp', { text, replaces }));

export const switchServer = (label: string, enabled: boolean): Promise<void> =>
  take(call('PUT', pathOf(label), { enabled }));

export const removeServer = (label: string): Promise<void> => take(call('DELETE', pathOf(label)));
