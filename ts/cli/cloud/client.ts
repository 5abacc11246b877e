/** Client of the management API of a cloud. */
import fs from 'node:fs';
import path from 'node:path';
import type { AppState, RunnerView } from '../../cloud/apps/views.js';
import { readAddress } from '../../cloud/places.js';
import { ChasquiError, ERRORS, type ErrorCode } from '../../errors.js';
import { dataDir } from '../../hub/data-folder.js';
import { ownCall } from '../../own-call.js';
import { isListenerOf } from '../../process/listener-owner.js';
import { CommandFailed, EXIT } from '../errors/exit-codes.js';

export interface KnownCloud {
  url: string;
  /** An API key, or the token of a cloud on this machine. */
  key: string;
}

const API = '/api/cloud/v1';

export class CloudClient {
  private constructor(
    readonly url: string,
    private readonly key: string,
    /** Whether the cloud shares the file system of this machine. */
    readonly isLocal: boolean,
    /** The default organisation. */
    readonly org: string,
  ) {}

  /** Returns the cloud of this machine if it is running, otherwise that of the last login. */
  static async find(given: string | undefined): Promise<CloudClient> {
    const found = await CloudClient.findIfAny(given);
    if (found !== null) return found;
    const advice = `start one with \`${ownCall()} cloud start\`, or name one with \`${ownCall()} login <url>\``;
    throw new CommandFailed(EXIT.unreachable, `no cloud is running here: ${advice}`);
  }

  /** Returns null if no cloud is running here and there was no login. */
  static async findIfAny(given: string | undefined): Promise<CloudClient | null> {
    const home = dataDir(given);
    const local = await CloudClient.findLocal(home);
    if (local !== null) return local;
    const login = readLogin(home);
    return login === null ? null : CloudClient.of(login);
  }

  /**
   * Returns null if no cloud is running with this data folder. After a crash, another account may listen on the port of the
   * cloud to receive secrets.
   */
  static async findLocal(home: string): Promise<CloudClient | null> {
    const local = readAddress(home);
    if (local === null || !isListenerOf(local.uid, portOf(local.url))) return null;
    const client = new CloudClient(local.url, local.token, true, local.org);
    return (await client.isThere()) ? client : null;
  }

  static async of({ url, key }: KnownCloud): Promise<CloudClient> {
    const stranger = new CloudClient(url, key, false, '');
    const { org } = await stranger.get<{ org: string }>('/about');
    return new CloudClient(url, key, false, org);
  }

  get<T>(route: string): Promise<T> {
    return this.#request('GET', route);
  }

  post<T>(route: string, body: unknown = {}): Promise<T> {
    return this.#request('POST', route, JSON.stringify(body));
  }

  put<T>(route: string, body: unknown): Promise<T> {
    return this.#request('PUT', route, JSON.stringify(body));
  }

  delete<T>(route: string): Promise<T> {
    return this.#request('DELETE', route);
  }

  /** Uploads a file. Returns its path on the machine of the cloud. */
  async upload(file: string, sha256: string): Promise<string> {
    const body = await fs.openAsBlob(file);
    const known = await this.get<{ path: string | null }>(`/models/${sha256}?bytes=${body.size}`);
    if (known.path !== null) return known.path;
    return (await this.#request<{ path: string }>('PUT', `/models/${sha256}`, body)).path;
  }

  /** Includes this revision, regardless of the number of later ones. */
  app(org: string, name: string, revision?: number): Promise<AppState & { runners: RunnerView[] }> {
    return this.get(`${appRoute(org, name)}${revision === undefined ? '' : `?revision=${revision}`}`);
  }

  async isThere(): Promise<boolean> {
    try {
      await this.get('/about');
      return true;
    } catch {
      return false;
    }
  }

  async #request<T>(method: string, route: string, body?: string | Blob): Promise<T> {
    const type = typeof body === 'string' ? 'application/json' : 'application/octet-stream';
    const headers = { authorization: `Key ${this.key}`, ...(body !== undefined && { 'content-type': type }) };
    let response: Response;
    try {
      response = await fetch(`${this.url}${API}${route}`, { method, headers, ...(body !== undefined && { body }) });
    } catch (error) {
      const { cause, message } = error as Error;
      const reason = cause instanceof Error ? cause.message : message;
      throw new CommandFailed(EXIT.unreachable, `the cloud at ${this.url} cannot be reached: ${reason}`);
    }
    const reply: unknown = await response.json().catch(() => null);
    if (response.ok) return reply as T;
    throw toError(reply, response.status);
  }
}

function portOf(url: string): number {
  const { port, protocol } = new URL(url);
  return Number(port) || (protocol === 'https:' ? 443 : 80);
}

export function appRoute(org: string, name: string): string {
  return `/apps/${encodeURIComponent(org)}/${encodeURIComponent(name)}`;
}

/** Readable by this account only, because it contains a key. */
export function writeLogin(home: string, login: KnownCloud): void {
  fs.mkdirSync(home, { recursive: true, mode: 0o700 });
  const part = `${loginFile(home)}.part`;
  fs.writeFileSync(part, `${JSON.stringify(login)}\n`, { mode: 0o600 });
  fs.renameSync(part, loginFile(home));
}

function readLogin(home: string): KnownCloud | null {
  try {
    return JSON.parse(fs.readFileSync(loginFile(home), 'utf8')) as KnownCloud;
  } catch {
    return null;
  }
}

function loginFile(home: string): string {
  return path.join(home, 'login.json');
}

function toError(reply: unknown, status: number): Error {
  const { error } = (reply ?? {}) as { error?: { code?: string; message?: string } };
  const code = error?.code ?? '';
  if (!Object.hasOwn(ERRORS, code)) return new Error(`the cloud replied with status ${status}`);
  return new ChasquiError(code as ErrorCode, error?.message ?? '');
}
