/** The MCP servers of a configuration. */
import { invalidOptions } from '../errors.js';
import { readMcpConfig, readMcpJson } from './mcp-config.js';
import { McpServer } from './mcp-server.js';
import type { Environment } from './stdio-transport.js';

/** A file, JSON text or both. */
export interface McpSources {
  file?: string | undefined;
  json?: string | undefined;
}

export class McpServers {
  readonly #servers: ReadonlyMap<string, McpServer>;
  /** The paths of fields that have no effect. */
  readonly ignored: readonly string[];

  /**
   * Programs get a few variables of `environment`.
   * @throws {ChasquiError} `invalid_options`, which names the field
   */
  constructor({ file, json }: McpSources, environment: Environment) {
    const configs = [
      ...(file === undefined ? [] : [readMcpConfig(file)]),
      ...(json === undefined ? [] : [readMcpJson(json)]),
    ];
    const servers = new Map<string, McpServer>();
    for (const config of configs.flatMap((each) => each.servers)) {
      if (servers.has(config.label)) {
        throw invalidOptions(
          `\`mcpServersJson\`: \`mcpServers.${config.label}\` is also in the file of \`mcpConfig\`.`,
        );
      }
      servers.set(config.label, new McpServer(config, environment));
    }
    this.#servers = servers;
    this.ignored = configs.flatMap((each) => each.ignored);
  }

  get all(): readonly McpServer[] {
    return [...this.#servers.values()];
  }

  get(label: string): McpServer | null {
    return this.#servers.get(label) ?? null;
  }

  /** Ends their processes. */
  async close(): Promise<void> {
    await Promise.all(this.all.map((server) => server.close()));
  }
}
