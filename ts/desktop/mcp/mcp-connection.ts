/** A switched-on MCP server: its connection, and its tools since they were last listed. */
import type { McpServer, McpTool } from '../../mcp/mcp-server.js';
import type { McpServerState } from '../api-types.js';

export class McpConnection {
  /** Empty until they were listed. */
  tools: readonly McpTool[] = [];
  /** Settles when the tools are listed, or could not be. */
  listing: Promise<void> | null = null;
  #isListed = false;
  #failure: string | null = null;
  readonly #closing = new AbortController();

  constructor(
    /** The definition that it was opened with, as JSON. */
    readonly json: string,
    readonly server: McpServer,
    private readonly onChange: () => void,
  ) {}

  /** Starts the server and lists its tools, unless they are known. */
  start(): void {
    if (this.#isListed || this.listing !== null) return;
    this.#failure = null;
    this.listing = this.#list().finally(() => {
      this.listing = null;
      this.onChange();
    });
  }

  async #list(): Promise<void> {
    try {
      this.tools = await this.server.listTools(this.#closing.signal);
      this.#isListed = true;
    } catch (error) {
      this.#failure = (error as Error).message.replace(`The MCP server \`${this.server.label}\` failed: `, '');
    }
  }

  get state(): Pick<McpServerState, 'state' | 'error' | 'restarts'> {
    const { restarts } = this.server;
    if (this.listing !== null) return { state: 'starting', error: null, restarts };
    const error = this.#failure ?? this.server.failure;
    return { state: error === null ? 'running' : 'failed', error, restarts };
  }

  async close(): Promise<void> {
    this.#closing.abort(new Error('The server was switched off.'));
    await this.server.close();
  }
}
