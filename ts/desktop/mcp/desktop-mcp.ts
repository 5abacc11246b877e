/** MCP servers of the app: those of `mcp.json` that are switched on, and the calls that models make of their tools. */

import { parseArguments } from '../../api/shared/completion/call-arguments.js';
import { isTextTooDeep } from '../../api/shared/json-schema/json-depth.js';
import { toFunctionName } from '../../api/shared/mcp/function-names.js';
import { ChasquiError, invalidValue } from '../../errors.js';
import { isDisabled, type McpServerConfig, readDefinition } from '../../mcp/mcp-config.js';
import type { McpTool as ListedTool } from '../../mcp/mcp-server.js';
import type { Environment } from '../../mcp/stdio-transport.js';
import type { Chat, McpCall, McpCallResult, McpList, McpServerState, McpTool } from '../api-types.js';
import { TOOLS } from '../chat-tools.js';
import { McpConnection } from './mcp-connection.js';
import { checked, McpFile, secretsOf } from './mcp-file.js';

/** Between the label and the name of a tool in a key. Labels have no control characters. */
const SEPARATOR = '\n';
const MAX_KEY_LENGTH = 200;
const MAX_SHOWN_DESCRIPTION = 300;
const MAX_RESULT_LENGTH = 65_536;
/** Shorter values are no secrets, and may be part of other words. */
const MIN_SECRET_LENGTH = 6;
/** How long completions wait for servers that are starting. */
const START_WAIT_MS = 5000;

interface DesktopMcpParts {
  folder: string;
  environment: Environment;
  /** Tools that run without a question: a key and the identity of its server. */
  allowed(): readonly string[];
  onChange(): void;
}

interface Offered {
  key: string;
  name: string;
  tool: ListedTool;
  connection: McpConnection;
}

export class DesktopMcp {
  readonly #file: McpFile;
  /** By label, in the order of the file. */
  #connections = new Map<string, McpConnection>();
  /** Reasons of invalid definitions by label. */
  #invalid = new Map<string, string>();
  #syncing: Promise<void> = Promise.resolve();
  readonly #closing = new Set<Promise<void>>();
  readonly #calls = new Set<string>();

  constructor(private readonly parts: DesktopMcpParts) {
    this.#file = new McpFile(parts.folder);
  }

  /** Reads the file again, which other programs may have changed. */
  async list(): Promise<McpList> {
    const { file } = this.#file;
    try {
      await this.sync();
      const offered = this.#offered();
      const servers = [...this.#file.servers.keys()].map((label) => this.#shown(label, offered));
      return { file, error: null, servers };
    } catch (error) {
      return { file, error: (error as Error).message, servers: [] };
    }
  }

  /** The definition of a server as JSON, without secrets. */
  text(label: string): string {
    return this.#file.text(label);
  }

  async save(text: string, replaces: string | null): Promise<void> {
    this.#file.save(text, replaces);
    await this.sync();
    this.parts.onChange();
  }

  /** Also starts a server again that has failed. */
  async enable(label: string, isOn: boolean): Promise<void> {
    this.#file.enable(label, isOn);
    await this.sync(label);
    this.parts.onChange();
  }

  async remove(label: string): Promise<void> {
    this.#file.remove(label);
    await this.sync();
    this.parts.onChange();
  }

  /** Connects to the servers of the file, to a failed one again. Rejects if the file cannot be read; then nothing changes. */
  sync(failed: string | null = null): Promise<void> {
    const done = this.#syncing.then(() => this.#sync(failed));
    this.#syncing = done.catch(() => undefined);
    return done;
  }

  async #sync(failed: string | null): Promise<void> {
    const { servers } = this.#file;
    const enabled = [...servers].filter(([, definition]) => !isDisabled(definition));
    const before = this.#connections;
    const after = new Map<string, McpConnection>();
    const invalid = new Map<string, string>();
    for (const [label, definition] of enabled) {
      const json = JSON.stringify(definition);
      const known = before.get(label);
      try {
        const config = checked(() => readDefinition(label, definition, this.parts.folder).server);
        const isUsable = known?.json === json && !(label === failed && known.state.state === 'failed');
        after.set(label, isUsable ? known : await this.#open(config, json));
      } catch (error) {
        invalid.set(label, (error as Error).message);
      }
    }
    for (const [label, connection] of before) if (after.get(label) !== connection) this.#close(connection);
    this.#connections = after;
    this.#invalid = invalid;
  }

  async #open(config: McpServerConfig, json: string): Promise<McpConnection> {
    const { McpServer } = await import('../../mcp/mcp-server.js');
    const { environment, onChange } = this.parts;
    const connection = new McpConnection(json, new McpServer(config, environment, onChange), onChange);
    connection.start();
    return connection;
  }

  #close(connection: McpConnection): void {
    const closed = connection.close().finally(() => this.#closing.delete(closed));
    this.#closing.add(closed);
  }

  #shown(label: string, offered: readonly Offered[]): McpServerState {
    const connection = this.#connections.get(label);
    const invalid = this.#invalid.get(label);
    if (connection === undefined) {
      const state = invalid === undefined ? 'off' : 'failed';
      return { label, state, error: invalid ?? null, restarts: 0, tools: [] };
    }
    const { error, ...state } = connection.state;
    const tools = offered.filter((each) => each.connection === connection).map(toShownTool);
    return { label, ...state, error: error && withoutSecrets(error, connection), tools };
  }

  /** All usable tools, under unique names. */
  #offered(): Offered[] {
    const taken = new Set(['javascript']);
    return [...this.#connections].flatMap(([label, connection]) =>
      connection.tools.flatMap((tool) => {
        const key = label + SEPARATOR + tool.name;
        if (key.length > MAX_KEY_LENGTH || isTextTooDeep(JSON.stringify(tool.inputSchema))) return [];
        return { key, name: toFunctionName(label, tool.name, taken), tool, connection };
      }),
    );
  }

  /** The definitions of the tools that a chat offers. Waits for servers that are starting, up to a limit. */
  async definitions({ settings }: Pick<Chat, 'settings'>, signal: AbortSignal): Promise<object[]> {
    const chosen = Object.keys((settings[TOOLS] ?? {}) as object);
    const labels = new Set(chosen.flatMap((key) => (key.includes(SEPARATOR) ? key.split(SEPARATOR, 1) : [])));
    if (labels.size === 0) return [];
    await this.#syncing;
    const used = [...this.#connections].filter(([label]) => labels.has(label)).map(([, connection]) => connection);
    for (const connection of used) connection.start();
    const listings = used.flatMap(({ listing }) => listing ?? []);
    if (listings.length > 0) await within(Promise.all(listings), START_WAIT_MS, signal);
    return this.#offered()
      .filter(({ key }) => chosen.includes(key))
      .map(({ name, tool: { description, inputSchema } }) => ({ name, description, parameters: inputSchema }));
  }

  /**
   * Runs a call that a message of the chat has and that the user has allowed. Failures of the tool are results.
   * @throws {ChasquiError} `not_found`; `invalid_value`; `chat_busy`; `permission_denied`
   */
  async call(
    chat: Chat,
    { message, call: id, server, tool, once }: McpCall,
    signal: AbortSignal,
  ): Promise<McpCallResult> {
    const calls = chat.messages.find((each) => each.id === message)?.toolCalls ?? [];
    const call = calls.find((each) => each.id === id);
    if (call === undefined) throw new ChasquiError('not_found', `The chat has no call \`${id}\` in this message.`);
    if (call.state !== undefined) throw invalidValue('The call has a result already.', 'call');
    const key = server + SEPARATOR + tool;
    const offered = this.#offered().find(({ name }) => name === call.name);
    if (offered?.key !== key) {
      throw new ChasquiError('not_found', `No running MCP server \`${server}\` has the tool \`${tool}\` now.`);
    }
    const chosen = (chat.settings[TOOLS] ?? {}) as Record<string, unknown>;
    const { identity } = offered.connection;
    const isAllowed =
      once || chosen[key] === `chat:${identity}` || this.parts.allowed().includes(key + SEPARATOR + identity);
    if (!Object.hasOwn(chosen, key) || !isAllowed) {
      throw new ChasquiError('permission_denied', `The user has not allowed calls of \`${tool}\` in this chat.`);
    }
    const args = parseArguments(call.arguments);
    if (args === null) return { state: 'failed', result: 'The arguments are not a JSON object.' };
    const running = JSON.stringify([chat.id, message, id]);
    if (this.#calls.has(running)) throw new ChasquiError('chat_busy', 'The call is running already.');
    this.#calls.add(running);
    try {
      const { output, error } = await offered.connection.server.callTool(offered.tool.name, args, signal);
      if (error === null) return { state: 'done', result: bounded(output) };
      return { state: 'failed', result: bounded(withoutSecrets(error, offered.connection)) };
    } finally {
      // The call may have restarted the server.
      if (offered.connection.server.failure === null) offered.connection.start();
      this.#calls.delete(running);
    }
  }

  /** Ends all programs. */
  async close(): Promise<void> {
    await this.#syncing;
    for (const connection of this.#connections.values()) this.#close(connection);
    await Promise.all(this.#closing);
  }
}

/** Keys of a server's tools begin with this. */
export function keyPrefix(label: string): string {
  return label + SEPARATOR;
}

function toShownTool({ key, name, tool, connection: { identity } }: Offered): McpTool {
  return { key, identity, name, tool: tool.name, description: tool.description.slice(0, MAX_SHOWN_DESCRIPTION) };
}

function bounded(text: string): string {
  if (text.length <= MAX_RESULT_LENGTH) return text;
  return `${text.slice(0, MAX_RESULT_LENGTH)}\n[${text.length - MAX_RESULT_LENGTH} characters omitted]`;
}

/** Programs may print their environment when they fail. */
function withoutSecrets(text: string, { json }: McpConnection): string {
  const secrets = secretsOf(JSON.parse(json)).filter(({ length }) => length >= MIN_SECRET_LENGTH);
  return secrets.reduce((shown, secret) => shown.replaceAll(secret, '…'), text);
}

/** Resolves also at the limit, or when the signal aborts. */
async function within(work: Promise<unknown>, limitMs: number, signal: AbortSignal): Promise<void> {
  const stop = new AbortController();
  const limit = AbortSignal.any([signal, stop.signal]);
  const timer = setTimeout(() => stop.abort(), limitMs);
  const stopped = new Promise<void>((resolve) => {
    if (limit.aborted) resolve();
    limit.addEventListener('abort', () => resolve(), { once: true });
  });
  await Promise.race([work, stopped]).finally(() => clearTimeout(timer));
}
