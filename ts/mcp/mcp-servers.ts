/** The MCP servers of a configuration. */
import { readMcpConfig } from './mcp-config.js';
import { McpServer } from './mcp-server.js';
import type { Environment } from './stdio-transport.js';

export class McpServers {
  readonly #servers: ReadonlyMap<string, McpServer>;
  /** The paths of fields in the file that have no effect. */
  readonly ignored: readonly string[];

  /**
   * Programs get a few variables of `environment`.
   * @throws {ChasquiError} `invalid_options`, which names the field of the file
   */
  constructor(file: string, environment: Environment) {
    const { servers, ignored } = readMcpConfig(file);
    this.#servers = new Map(servers.map((config) => [config.label, new McpServer(config, environment)]));
    this.ignored = ignored;
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
