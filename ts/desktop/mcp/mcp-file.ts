/** `mcp.json` in the data folder, in the format of Claude and LM Studio. Unknown fields of it are kept. */
import { createHash, randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { ChasquiError, invalidValue, onStore } from '../../errors.js';
import { isDisabled, MAX_FILE_BYTES, MAX_SERVERS, readDefinition } from '../../mcp/mcp-config.js';

/** Replaces values of `env` and `headers` in texts for pages. */
const STORED = '<stored>';
const SECRET_FIELDS = ['env', 'headers'];

type Fields = Readonly<Record<string, unknown>>;

export class McpFile {
  readonly file: string;

  constructor(private readonly folder: string) {
    this.file = path.join(path.resolve(folder), 'mcp.json');
  }

  /**
   * The definitions by label, unchecked.
   * @throws {ChasquiError} `invalid_value`, without text of the file, which has secrets
   */
  get servers(): ReadonlyMap<string, unknown> {
    return new Map(Object.entries(serversOf(this.#root)));
  }

  /** The definition as JSON, without secrets. @throws {ChasquiError} `not_found` */
  text(label: string): string {
    const definition = this.#find(label);
    const shown = isObject(definition) ? mapSecrets(definition, () => STORED) : definition;
    return JSON.stringify({ [label]: shown }, null, 2);
  }

  /**
   * Adds the servers of a text, or replaces the server `replaced`. The text can keep secrets of that server.
   * @throws {ChasquiError} `invalid_value`, which names the field
   */
  save(text: string, replaced: string | null): void {
    const { servers } = this;
    const before = replaced === null ? undefined : this.#find(replaced);
    const given = Object.entries(definitionsIn(text));
    if (given.length === 0) throw invalid('The text defines no server.');
    if (replaced !== null && given.length > 1) throw invalid('The text must define one server.');
    const added = given.map(([label, definition]): [string, unknown] => {
      if (servers.has(label) && label !== replaced) throw invalid(`A server named \`${label}\` exists already.`);
      const whole = isObject(definition) ? withSecrets(definition, before) : definition;
      checked(() => readDefinition(label, whole, this.folder));
      return [label, whole];
    });
    const kept = [...servers].flatMap((entry) => (entry[0] === replaced ? added : [entry]));
    this.#write(replaced === null ? [...kept, ...added] : kept);
  }

  /** @throws {ChasquiError} `not_found`; `invalid_value` */
  enable(label: string, isOn: boolean): void {
    const definition = this.#find(label);
    if (!isObject(definition)) throw invalid(`The definition of \`${label}\` must be an object.`);
    const { disabled: _, ...rest } = definition;
    const changed = isOn ? rest : { ...rest, disabled: true };
    if (isDisabled(definition) !== isOn) return;
    this.#write([...this.servers].map((entry) => (entry[0] === label ? [label, changed] : entry)));
  }

  /** @throws {ChasquiError} `not_found` */
  remove(label: string): void {
    this.#find(label);
    this.#write([...this.servers].filter(([each]) => each !== label));
  }

  #find(label: string): unknown {
    const { servers } = this;
    if (servers.has(label)) return servers.get(label);
    throw new ChasquiError('not_found', `There is no MCP server named \`${label}\`.`);
  }

  get #root(): Fields {
    if (!fs.existsSync(this.file)) return {};
    const text = onStore('store_failed', `Could not read ${this.file}`, () => {
      if (fs.statSync(this.file).size > MAX_FILE_BYTES) throw new Error(`it has more than ${MAX_FILE_BYTES} bytes`);
      return fs.readFileSync(this.file, 'utf8');
    });
    const root = parse(text);
    if (isObject(root) && isObject(serversOf(root))) return root;
    throw invalid(`${this.file} must be a JSON object with an object \`mcpServers\`. Correct the file or delete it.`);
  }

  #write(servers: readonly (readonly [string, unknown])[]): void {
    if (servers.length > MAX_SERVERS) throw invalid(`There can be at most ${MAX_SERVERS} servers.`);
    const text = `${JSON.stringify({ ...this.#root, mcpServers: Object.fromEntries(servers) }, null, 2)}\n`;
    if (Buffer.byteLength(text) > MAX_FILE_BYTES) throw invalid(`The file would exceed ${MAX_FILE_BYTES} bytes.`);
    onStore('store_failed', `Could not write ${this.file}`, () => {
      // The file may be a link into a folder of other settings.
      const target = fs.existsSync(this.file) ? fs.realpathSync(this.file) : this.file;
      const draft = `${target}.${randomBytes(6).toString('hex')}`;
      fs.writeFileSync(draft, text, { mode: 0o600 });
      fs.renameSync(draft, target);
    });
  }
}

function serversOf(root: Fields): Fields {
  return (root.mcpServers ?? {}) as Fields;
}

/** Accepts the whole format, and the object within `mcpServers`. */
function definitionsIn(text: string): Fields {
  const root = parse(text);
  if (root === undefined) throw invalid(`The text is not JSON: ${reasonOf(text)}`);
  const servers = isObject(root) ? (root.mcpServers ?? root) : null;
  if (!isObject(servers)) throw invalid('The text must be an object: {"name": {"command": "…"}}.');
  if (['command', 'url'].some((name) => typeof servers[name] === 'string')) {
    throw invalid('The definition needs a name: {"name": {"command": "…"}}.');
  }
  return servers;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function reasonOf(text: string): string {
  try {
    JSON.parse(text);
    return '';
  } catch (error) {
    return (error as Error).message;
  }
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function mapSecrets(definition: Fields, map: (field: string, name: string, value: unknown) => unknown): Fields {
  const fields = Object.entries(definition).map(([field, values]) => {
    if (!SECRET_FIELDS.includes(field)) return [field, values];
    if (!isObject(values)) return [field, map(field, '', values)];
    return [field, Object.fromEntries(Object.entries(values).map(([name, each]) => [name, map(field, name, each)]))];
  });
  return Object.fromEntries(fields);
}

/** @throws {ChasquiError} `invalid_value` if there is no stored value */
function withSecrets(definition: Fields, before: unknown): Fields {
  return mapSecrets(definition, (field, name, value) => {
    if (value !== STORED) return value;
    const stored = isObject(before) ? before[field] : undefined;
    if (isObject(stored) && Object.hasOwn(stored, name)) return stored[name];
    throw invalid(`\`${field}.${name}\` has no stored value. Enter its value.`);
  });
}

/** Identifies the program or URL of a definition in permissions. Secrets are not part of it. */
export function identityOf(definition: unknown): string {
  const { command, args, cwd, url } = definition as Fields;
  return createHash('sha256')
    .update(JSON.stringify([command, args, cwd, url]))
    .digest('base64url')
    .slice(0, 22);
}

/** The values of `env` and `headers`. */
export function secretsOf(definition: unknown): string[] {
  const found: string[] = [];
  if (!isObject(definition)) return found;
  mapSecrets(definition, (_field, _name, value) => found.push(String(value)));
  return found;
}

/** Runs a check of the configuration; its errors name a field of the text. */
export function checked<T>(check: () => T): T {
  try {
    return check();
  } catch (error) {
    throw invalid((error as Error).message.replace(/^`mcpConfig`: /, ''));
  }
}

function invalid(message: string): ChasquiError {
  return invalidValue(message, 'text');
}
