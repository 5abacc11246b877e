/** Reads the file of MCP servers, in the format of Claude and llama-server. */
import fs from 'node:fs';
import path from 'node:path';
import { ChasquiError, invalidOptions } from '../errors.js';

interface AnyServer {
  /** The `server_label` of requests. */
  label: string;
  /** Time limit of one call. */
  timeoutMs: number;
}

export interface StdioServerConfig extends AnyServer {
  kind: 'stdio';
  command: string;
  args: readonly string[];
  env: Readonly<Record<string, string>>;
  cwd: string | undefined;
}

export interface HttpServerConfig extends AnyServer {
  kind: 'http';
  url: URL;
  headers: Readonly<Record<string, string>>;
}

export type McpServerConfig = StdioServerConfig | HttpServerConfig;

export interface McpConfig {
  servers: readonly McpServerConfig[];
  /** The paths of fields that have no effect. */
  ignored: readonly string[];
}

export const MAX_FILE_BYTES = 2 ** 20;
export const MAX_SERVERS = 64;
const MAX_LABEL_LENGTH = 64;
const MAX_TIMEOUT_MS = 3_600_000;
const DEFAULT_TIMEOUT_MS = 60_000;

const STDIO_FIELDS = ['command', 'args', 'env', 'cwd'];
const HTTP_FIELDS = ['url', 'headers'];
const COMMON_FIELDS = ['type', 'timeout_ms', 'disabled'];

type Fields = Readonly<Record<string, unknown>>;

/** @throws {ChasquiError} `invalid_options`, which names the field */
export function readMcpConfig(file: string): McpConfig {
  return readServers(parse(readText(file), file, 'the file'), path.dirname(path.resolve(file)));
}

/** The same for JSON text: the option `mcpServersJson`. Paths are relative to the working folder. */
export function readMcpJson(json: string): McpConfig {
  try {
    return readServers(parse(json, 'the text'), process.cwd());
  } catch (error) {
    if (!(error instanceof ChasquiError)) throw error;
    throw error.withMessage(error.message.replace('`mcpConfig`', '`mcpServersJson`'), error.param);
  }
}

function readServers(root: Fields, folder: string): McpConfig {
  const servers: McpServerConfig[] = [];
  const ignored: string[] = [];
  const entries = Object.entries(objectAt(root.mcpServers, 'mcpServers'));
  if (entries.length > MAX_SERVERS) throw invalid('mcpServers', `has more than ${MAX_SERVERS} servers`);
  for (const [label, value] of entries) {
    if (isDisabled(value)) continue;
    const read = readDefinition(label, value, folder);
    servers.push(read.server);
    ignored.push(...read.ignored);
  }
  return { servers, ignored };
}

export function isDisabled(value: unknown): boolean {
  return (value as Fields | null)?.disabled === true;
}

/**
 * Reads the definition of one server. `folder` is that of the file.
 * @throws {ChasquiError} `invalid_options`, which names the field but no value of it
 */
export function readDefinition(
  label: string,
  value: unknown,
  folder: string,
): { server: McpServerConfig; ignored: string[] } {
  const field = `mcpServers.${label.slice(0, MAX_LABEL_LENGTH)}`;
  if (label === '' || label.length > MAX_LABEL_LENGTH || /\p{Cc}/u.test(label)) {
    throw invalid(field, `must have a name of 1 to ${MAX_LABEL_LENGTH} printable characters`);
  }
  const fields = objectAt(value, field);
  const server = readServer(label, fields, field, folder);
  const known = [...COMMON_FIELDS, ...(server.kind === 'stdio' ? STDIO_FIELDS : HTTP_FIELDS)];
  return {
    server,
    ignored: Object.keys(fields).flatMap((name) => (known.includes(name) ? [] : `${field}.${name}`)),
  };
}

function readText(file: string): string {
  try {
    const { size } = fs.statSync(file);
    if (size > MAX_FILE_BYTES) throw new Error(`it has more than ${MAX_FILE_BYTES} bytes`);
    return fs.readFileSync(file, 'utf8');
  } catch (error) {
    throw invalidOptions(`\`mcpConfig\`: ${file} cannot be read: ${(error as Error).message}.`);
  }
}

function parse(text: string, source: string, rootName = source): Fields {
  let root: unknown;
  try {
    root = JSON.parse(text);
  } catch (error) {
    throw invalidOptions(`\`mcpConfig\`: ${source} is not JSON: ${(error as Error).message}`);
  }
  return objectAt(root, rootName);
}

function readServer(label: string, server: Fields, field: string, folder: string): McpServerConfig {
  const { type, command, url } = server;
  const timeoutMs = timeoutAt(server.timeout_ms, `${field}.timeout_ms`);
  if ((command === undefined) === (url === undefined)) throw invalid(field, 'must have either `command` or `url`');
  const types = command === undefined ? ['http', 'streamable-http', 'streamableHttp'] : ['stdio'];
  if (type !== undefined && !types.includes(String(type))) {
    throw invalid(`${field}.type`, `must be "${types[0]}" here; other transports are not supported`);
  }
  if (url !== undefined) {
    const headers = textsAt(server.headers, `${field}.headers`);
    refuseInvalidHeaders(headers, `${field}.headers`);
    return { kind: 'http', label, url: urlAt(url, `${field}.url`), headers, timeoutMs };
  }
  const { args = [], cwd } = server;
  if (!Array.isArray(args)) throw invalid(`${field}.args`, 'must be a list of strings');
  const env = textsAt(server.env, `${field}.env`);
  for (const name of Object.keys(env)) {
    if (!/^[^=\0]+$/.test(name)) throw invalid(`${field}.env`, 'has a name that is empty or contains `=`');
  }
  return {
    kind: 'stdio',
    label,
    command: textAt(command, `${field}.command`),
    args: args.map((each, index) => argumentAt(each, `${field}.args[${index}]`)),
    env,
    cwd: cwd === undefined ? undefined : path.resolve(folder, textAt(cwd, `${field}.cwd`)),
    timeoutMs,
  };
}

function timeoutAt(value: unknown, field: string): number {
  if (value === undefined) return DEFAULT_TIMEOUT_MS;
  if (Number.isInteger(value) && (value as number) >= 1 && (value as number) <= MAX_TIMEOUT_MS) return value as number;
  throw invalid(field, `must be an integer from 1 to ${MAX_TIMEOUT_MS}`);
}

function objectAt(value: unknown, field: string): Fields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields;
  throw invalid(field, 'must be an object');
}

/** The operating system ends arguments and variables at the first NUL. */
function argumentAt(value: unknown, field: string): string {
  if (typeof value === 'string' && !value.includes('\0')) return value;
  throw invalid(field, 'must be a string without NUL');
}

function textAt(value: unknown, field: string): string {
  const text = argumentAt(value, field);
  if (text === '') throw invalid(field, 'must not be empty');
  return text;
}

function textsAt(value: unknown, field: string): Record<string, string> {
  if (value === undefined) return {};
  const entries = Object.entries(objectAt(value, field));
  return Object.fromEntries(entries.map(([name, each]) => [name, argumentAt(each, `${field}.${name}`)]));
}

function urlAt(value: unknown, field: string): URL {
  const text = textAt(value, field);
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) throw invalid(field, 'must be an http or https URL');
  if (url.username === '' && url.password === '') return url;
  throw invalid(field, 'must not contain a user or password: use `headers`');
}

/** The message omits the value, which may be a secret. */
function refuseInvalidHeaders(headers: Readonly<Record<string, string>>, field: string): void {
  for (const [name, value] of Object.entries(headers)) {
    try {
      new Headers([[name, value]]);
    } catch {
      throw invalid(`${field}.${name}`, 'is not a valid HTTP header');
    }
  }
}

function invalid(field: string, says: string): ChasquiError {
  return invalidOptions(`\`mcpConfig\`: \`${field}\` ${says}.`);
}
