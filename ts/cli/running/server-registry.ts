/**
 * The running servers of a data folder. Each server holds a lock that ends with its process, so entries of killed servers
 * are recognized and removed.
 */
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { ProcessLock } from '../../hub/process-lock.js';

/** Set in background processes: the log file. */
export const LOG_VARIABLE = 'CHASQUI_BACKGROUND_LOG';

export interface ServerEntry {
  pid: number;
  /** Without `/v1`. */
  url: string;
  /** Unix socket that the server listens on instead of the port of `url`. */
  socket: string | null;
  models: readonly string[];
  state: 'loading' | 'ready';
  startedAt: number;
  /** Only of servers in the background. */
  log: string | null;
  /** Process ids are valid only within this namespace, for example inside a container. */
  pidNamespace: string;
}

export class RegisteredServer {
  private constructor(
    private readonly file: string,
    private readonly lock: ProcessLock,
    private entry: ServerEntry,
  ) {}

  /** The entry is removed when the process exits. */
  static add(folder: string, about: Pick<ServerEntry, 'url' | 'socket' | 'log'>): RegisteredServer {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const file = path.join(folder, `server-${randomBytes(16).toString('hex')}.json`);
    const lock = ProcessLock.tryTake(lockOf(file));
    if (lock === null) throw new Error(`${lockOf(file)} is locked`);
    const { pid } = process;
    const entry = { pid, ...about, models: [], state: 'loading', startedAt: Date.now(), pidNamespace } as const;
    const server = new RegisteredServer(file, lock, entry);
    server.#write();
    process.once('exit', () => server.#remove());
    return server;
  }

  setReady(models: readonly string[]): void {
    this.entry = { ...this.entry, models, state: 'ready' };
    this.#write();
  }

  #write(): void {
    const draft = `${this.file}.draft`;
    writeFileSync(draft, `${JSON.stringify(this.entry, null, 2)}\n`, { mode: 0o600 });
    chmodSync(draft, 0o600);
    renameSync(draft, this.file);
  }

  #remove(): void {
    rmSync(this.file, { force: true });
    this.lock.release();
    rmSync(lockOf(this.file), { force: true });
  }
}

/** The oldest first. Removes the entries of servers that were killed. */
export function runningServers(folder: string): ServerEntry[] {
  const found = entryFiles(folder).flatMap((file) => {
    const lock = ProcessLock.tryTake(lockOf(file));
    if (lock === null) return readEntry(file) ?? [];
    rmSync(file, { force: true });
    lock.release();
    rmSync(lockOf(file), { force: true });
    return [];
  });
  return found.sort((a, b) => a.startedAt - b.startedAt);
}

/** Does not check whether the process is running. */
export function entryOfProcess(folder: string, pid: number): ServerEntry | undefined {
  return entryFiles(folder)
    .map(readEntry)
    .find((entry) => entry?.pid === pid && entry.pidNamespace === pidNamespace);
}

/** The log file of this process if it runs in the background. */
export function backgroundLog(): string | null {
  return process.env[LOG_VARIABLE] || null;
}

export function serversFolder(dataFolder: string): string {
  return path.join(path.resolve(dataFolder), 'servers');
}

export function isInThisNamespace(entry: ServerEntry): boolean {
  return entry.pidNamespace === pidNamespace;
}

const pidNamespace = readNamespace();

function readNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    return '';
  }
}

function entryFiles(folder: string): string[] {
  try {
    const names = readdirSync(folder).filter((name) => /^server-[\da-f]+\.json$/.test(name));
    return names.map((name) => path.join(folder, name));
  } catch {
    return [];
  }
}

function readEntry(file: string): ServerEntry | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as ServerEntry;
  } catch {
    return undefined;
  }
}

function lockOf(file: string): string {
  return file.replace(/\.json$/, '.lock');
}
