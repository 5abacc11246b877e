/** One configured MCP server: connected on its first use, and again after it has ended. */
import { setMaxListeners } from 'node:events';
import { Client, type Transport } from '@modelcontextprotocol/client';
import { RestartPolicy } from '../engine/child/restart-policy.js';
import { withoutControls } from '../process/fork-script.js';
import { VERSION } from '../version.js';
import { CallSlots } from './call-slots.js';
import { httpTransport } from './http-transport.js';
import type { McpServerConfig } from './mcp-config.js';
import { type Environment, StdioTransport } from './stdio-transport.js';
import { type McpResult, toResult } from './tool-result.js';

export interface McpTool {
  name: string;
  description: string;
  /** A JSON Schema. */
  inputSchema: Record<string, unknown>;
  annotations: Record<string, unknown> | null;
}

const MAX_RUNNING = 8;
const MAX_WAITING = 64;
const START_LIMIT_MS = 60_000;
const MAX_TOOLS = 512;
const MAX_PAGES = 32;
/** Between restarts, after `RestartPolicy` gives up. */
const LAST_DELAY_MS = 30_000;

export class McpServer {
  readonly #policy = new RestartPolicy();
  readonly #slots = new CallSlots(MAX_RUNNING, MAX_WAITING);
  #client: Promise<Client> | null = null;
  #retryAt = 0;
  #ending = '';
  #starts = 0;
  readonly #closing = new AbortController();

  constructor(
    private readonly config: McpServerConfig,
    private readonly environment: Environment,
    /** Called when the connection ends. */
    private readonly onEnd: () => void = () => {},
  ) {
    // Each running call listens to it.
    setMaxListeners(0, this.#closing.signal);
  }

  get label(): string {
    return this.config.label;
  }

  /** Why the connection ended; null if it did not, or was opened again. */
  get failure(): string | null {
    return this.#ending === '' ? null : this.#ending;
  }

  get restarts(): number {
    return Math.max(0, this.#starts - 1);
  }

  /** Rejects with the reason of `signal`, or with an error for the user. */
  async listTools(signal: AbortSignal): Promise<McpTool[]> {
    const tools: McpTool[] = [];
    await this.#run(signal, async (client, limit) => {
      let cursor: string | undefined;
      for (let page = 0; page < MAX_PAGES && tools.length < MAX_TOOLS; page += 1) {
        const params = cursor === undefined ? {} : { cursor };
        const listed = await client.request({ method: 'tools/list', params }, this.#options(limit));
        for (const { name, description = '', inputSchema, annotations = null } of listed.tools) {
          tools.push({ name, description, inputSchema, annotations });
        }
        cursor = listed.nextCursor;
        if (cursor === undefined) return;
      }
    });
    return tools.slice(0, MAX_TOOLS);
  }

  /** Rejects only with the reason of `signal`. */
  async callTool(name: string, args: Record<string, unknown>, signal: AbortSignal): Promise<McpResult> {
    try {
      // Not `client.callTool`, which compiles schemas of the server.
      const request = { method: 'tools/call' as const, params: { name, arguments: args } };
      return await this.#run(signal, async (client, limit) => {
        return toResult(await client.request(request, this.#options(limit)));
      });
    } catch (error) {
      signal.throwIfAborted();
      return { output: null, error: (error as Error).message };
    }
  }

  async close(): Promise<void> {
    this.#closing.abort(new Error('The server is shutting down.'));
    const client = await this.#client?.catch(() => null);
    await client?.close();
  }

  /** The limit of the signal comes first. */
  #options(signal: AbortSignal) {
    return { signal, timeout: this.config.timeoutMs + 1000 };
  }

  async #run<Result>(signal: AbortSignal, use: (client: Client, limit: AbortSignal) => Promise<Result>) {
    const { timeoutMs } = this.config;
    const late = new Error(`The MCP server \`${this.label}\` did not reply within ${timeoutMs / 1000} seconds.`);
    const timeout = new AbortController();
    const timer = setTimeout(() => timeout.abort(late), timeoutMs);
    const limit = AbortSignal.any([signal, timeout.signal, this.#closing.signal]);
    const release = await this.#slots.take(limit).catch((error) => {
      clearTimeout(timer);
      throw error;
    });
    try {
      return await this.#use(limit, use);
    } catch (error) {
      limit.throwIfAborted();
      throw this.#explain(error as Error);
    } finally {
      clearTimeout(timer);
      release();
    }
  }

  async #use<Result>(limit: AbortSignal, use: (client: Client, limit: AbortSignal) => Promise<Result>) {
    const result = await use(await unlessAborted(this.#connected(), limit), limit).catch(async (error) => {
      if (!isHttpFailure(error)) throw error;
      this.#forget();
      // The session has expired, and the request was not processed.
      if (error.status !== 404) throw error;
      return use(await unlessAborted(this.#connected(), limit), limit);
    });
    this.#policy.forget();
    return result;
  }

  #explain(error: Error): Error {
    const isKnown = this.#ending !== '' && !error.message.startsWith(this.#ending);
    const reason = isKnown ? this.#ending : withoutControls(error.message).slice(0, 500);
    return new Error(`The MCP server \`${this.label}\` failed: ${reason}`, { cause: error });
  }

  #connected(): Promise<Client> {
    if (this.#client !== null) return this.#client;
    const waitMs = this.#retryAt - performance.now();
    if (waitMs > 0) {
      const again = `it is started again in ${Math.ceil(waitMs / 1000)} s`;
      return Promise.reject(new Error(`${this.#ending}; ${again}`));
    }
    this.#ending = '';
    this.#starts += 1;
    const client = this.#connect();
    this.#client = client;
    client.catch(() => {});
    return client;
  }

  async #connect(): Promise<Client> {
    const client = new Client({ name: 'chasqui', version: VERSION }, { capabilities: {} });
    const transport = this.#transport();
    try {
      client.onclose = () => this.#ended(transport.ending ?? 'the connection was closed');
      await client.connect(transport, { timeout: START_LIMIT_MS, signal: this.#closing.signal });
      return client;
    } catch (error) {
      this.#ended(transport.ending ?? withoutControls((error as Error).message).slice(0, 500));
      await transport.close();
      throw error;
    }
  }

  #transport(): Transport & { ending?: string | null } {
    if (this.config.kind === 'http') return httpTransport(this.config);
    return new StdioTransport(this.config, this.environment);
  }

  #ended(reason: string): void {
    if (this.#client === null || this.#closing.signal.aborted) return;
    this.#client = null;
    this.#ending = `it ended with ${reason}`;
    const now = performance.now();
    this.#retryAt = now + (this.#policy.delayAfterFailure(now) ?? LAST_DELAY_MS);
    this.onEnd();
  }

  /** The next call opens another connection. */
  #forget(): void {
    const client = this.#client;
    this.#client = null;
    client?.then((each) => each.close()).catch(() => {});
  }
}

function isHttpFailure(error: Error & { status?: unknown }): error is Error & { status: number } {
  return error.name === 'SdkHttpError' || typeof error.status === 'number';
}

/** Others wait for the same promise, so it is not cancelled. */
function unlessAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  if (signal.aborted) return Promise.reject(signal.reason);
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
