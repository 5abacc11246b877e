/** A switched-on MCP server: its connection, and its tools since they were last listed. */
import type { McpServer, McpTool } from '../../mcp/mcp-server.js';
import type { McpServerState } from '../api-types.js';
import { identityOf } from './mcp-file.js';

export class McpConnection {
  /** Empty until they were listed. */
  tools: readonly McpTool[] = [];
  /** Settles when the tools are listed, or could not be. */
  listing: Promise<void> | null = null;
  /** Restarts of the server before the tools were listed; null until they were. */
  #listedAfter: number | null = null;
  #failure: string | null = null;
  readonly #closing = new AbortController();

  constructor(
    /** The definition that it was opened with, as JSON. */
    readonly json: string,
    readonly server: McpServer,
    private readonly onChange: () => void,
  ) {}

  get identity(): string {
    return identityOf(JSON.parse(this.json));
  }

  /** Starts the server and lists its tools, unless they are known. A restart may have changed them. */
  start(): void {
    const { failure, restarts } = this.server;
    if ((failure === null && restarts === this.#listedAfter) || this.listing !== null) return;
    this.#failure = null;
    this.listing = this.#list().finally(() => {
      this.listing = null;
      this.onChange();
    });
  }

  async #list(): Promise<void> {
    try {
      this.tools = await this.server.listTools(this.#closing.signal);
      this.#listedAfter = this.server.restarts;
    } catch (error) {
      this.#failure = (error as Error).message.replace(`The MCP server \`${this.server.label}\` failed: `, '');
    }
  }

  get state(): Pick<McpServerState, 'state' | 'error' | 'restarts'> {
    const { restarts } = this.server;
    if (this.listing !== null && this.#listedAfter === null) return { state: 'starting', error: null, restarts };
    const error = this.#failure ?? this.server.failure;
    return { state: error === null ? 'running' : 'failed', error, restarts };
  }

  async close(): Promise<void> {
    this.#closing.abort(new Error('The server was switched off.'));
    await this.server.close();
  }
}
