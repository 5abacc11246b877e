/** The tools of MCP servers that a request offers to the model, under names that are valid and unique. */

import type { McpTool } from '../../../mcp/mcp-server.js';
import { isTextTooDeep } from '../json-schema/json-depth.js';
import { toFunctionName } from './function-names.js';
import type { McpEntry } from './mcp-entries.js';

export interface OfferedTool {
  /** The name of the function. */
  name: string;
  entry: McpEntry;
  tool: McpTool;
}

export class McpOffer {
  /** Empty until `offer` is called. */
  readonly tools: OfferedTool[] = [];
  readonly #taken: Set<string>;

  /** `taken`: the names of the client's functions. */
  constructor(
    readonly entries: readonly McpEntry[],
    taken: readonly string[],
  ) {
    this.#taken = new Set(taken);
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
  async list(entry: McpEntry, signal: AbortSignal): Promise<{ tools: McpTool[]; error: string | null }> {
    try {
      return { tools: this.offer(entry, await entry.server.listTools(signal)), error: null };
    } catch (error) {
      signal.throwIfAborted();
      return { tools: [], error: (error as Error).message };
    }
  }

  find(label: string, name: string): OfferedTool | null {
    return this.tools.find(({ entry, tool }) => entry.server.label === label && tool.name === name) ?? null;
  }

  byName(name: string): OfferedTool | null {
    return this.tools.find((each) => each.name === name) ?? null;
  }

  nameOf(label: string, name: string): string {
    return this.find(label, name)?.name ?? toFunctionName(label, name);
  }
}
