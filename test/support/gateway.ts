/** The gateway on a port, with apps and keys that a test changes at will; runners are whatever listens on a socket. */
import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import type { Server } from 'node:http';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { buildApp } from '../../ts/api/app.js';
import type { CloudKey } from '../../ts/cloud/gateway/access.js';
import type { GatewayOptions } from '../../ts/cloud/gateway/context.js';
import type { Demand, DeployedApp, RunnerAddress } from '../../ts/cloud/gateway/directory.js';
import { createFrontServer, type FrontOptions } from '../../ts/cloud/gateway/front-server.js';
import { Gateway } from '../../ts/cloud/gateway/gateway.js';
import type { RequestUsage, TimedUsage } from '../../ts/cloud/gateway/usage.js';
import { ManagedPool } from '../../ts/models/managed-pool.js';
import { runtime } from '../../ts/profiles/runtime.js';
import { FakeEngine, type FakeScript } from './fake-engine.js';

const cleanups: (() => unknown)[] = [];

/** For `test.after.each`: a server that a failed test left open would keep the whole run from ending. */
export async function closeGateways(): Promise<void> {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
}

export function socketPath(): string {
  const file = path.join(os.tmpdir(), `gw-${randomBytes(16).toString('hex')}`.slice(0, 20));
  cleanups.push(() => rmSync(file, { force: true }));
  return file;
}

/** A deployed app with a state that tests set. */
export class TestDeployment implements DeployedApp {
  readonly id = `app_${randomBytes(16).toString('hex')}`;
  revision = 1;
  bearer = false;
  failure: DeployedApp['failure'] = null;
  progress: string | null = null;
  limits = { startMs: 20_000, requestMs: 0, requests: 64 };
  /** Every demand that was set, in order. */
  readonly demands: Demand[] = [];
  /** Reported failures of runners, as `id: reason`. */
  readonly failures: string[] = [];
  #runners: RunnerAddress[] = [];
  readonly #listeners = new Set<() => void>();

  constructor(
    readonly org: string,
    readonly name: string,
    readonly auth: 'private' | 'public' = 'private',
  ) {}

  get demand(): Demand {
    return this.demands.at(-1) ?? { running: 0, queued: 0 };
  }

  get listeners(): number {
    return this.#listeners.size;
  }

  runners(): readonly RunnerAddress[] {
    return this.#runners;
  }

  setDemand(demand: Demand): void {
    this.demands.push(demand);
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** The runners that take requests, by their sockets; `r1` is the first one. */
  run(...sockets: (string | { id: string; socketPath: string; slots?: number })[]): this {
    this.#runners = sockets.map((socket, index) => {
      const runner = typeof socket === 'string' ? { id: `r${index + 1}`, socketPath: socket } : socket;
      return { slots: 4, ...runner, reportFailure: (reason) => this.failures.push(`${runner.id}: ${reason}`) };
    });
    return this.changed();
  }

  changed(): this {
    for (const listener of [...this.#listeners]) listener();
    return this;
  }
}

export interface TestGateway {
  url: string;
  port: number;
  server: Server;
  gateway: Gateway;
  /** Valid keys by their text. */
  keys: Map<string, CloudKey>;
  usage: TimedUsage[];
  /** Of running requests. */
  progress: RequestUsage[];
  /** Errors of the gateway itself. */
  errors: unknown[];
}

export function cloudKey(
  changes: Partial<Omit<CloudKey, 'limits'>> & { limits?: Partial<CloudKey['limits']> } = {},
): CloudKey {
  const none = { requestsPerMinute: null, tokensPerMinute: null, concurrency: null, bodyBytes: null };
  return { id: 'k1', org: 'acme', app: null, scopes: ['call'], ...changes, limits: { ...none, ...changes.limits } };
}

export const KEY = 'k1:secret';
export const WITH_KEY = { authorization: `Key ${KEY}` };

export async function startGateway(
  apps: readonly DeployedApp[],
  options: Partial<GatewayOptions> = {},
  front: Partial<FrontOptions> = {},
): Promise<TestGateway> {
  const keys = new Map([[KEY, cloudKey()]]);
  const usage: TimedUsage[] = [];
  const progress: RequestUsage[] = [];
  const errors: unknown[] = [];
  const gateway = new Gateway(
    {
      directory: { find: (org, app) => apps.find((each) => each.org === org && each.name === app) ?? null },
      keys: { check: (key) => keys.get(key) ?? null },
      usage: { add: (use) => usage.push(use), progress: (use) => progress.push(use) },
    },
    { onError: (error) => errors.push(error), keyCheckMs: 20, ...options },
  );
  const server = createFrontServer({
    gateway,
    own: (_request, response) => response.end('the cloud itself'),
    ...front,
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as net.AddressInfo;
  cleanups.push(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  const protocol = front.certificate ? 'https' : 'http';
  return { url: `${protocol}://127.0.0.1:${port}`, port, server, gateway, keys, usage, progress, errors };
}

export interface TestRunner {
  socketPath: string;
  engine: FakeEngine;
}

/** The server of a runner, with an engine that answers by a script. */
export async function startRunner(script: FakeScript = {}): Promise<TestRunner> {
  const engine = new FakeEngine(script);
  const app = buildApp(ManagedPool.of(engine), runtime, { onServerError: () => undefined });
  const file = socketPath();
  await app.listen({ path: file });
  cleanups.push(() => app.close());
  return { socketPath: file, engine };
}

/**
 * A runner that replies with raw bytes. `serve` receives each connection and the complete request. Replies are not
 * checked against the API document.
 */
export async function startRawRunner(
  serve: (socket: net.Socket, request: string) => void,
): Promise<{ socketPath: string; sockets: Set<net.Socket>; requests: string[] }> {
  const file = socketPath();
  const sockets = new Set<net.Socket>();
  const requests: string[] = [];
  const server = net.createServer((socket) => {
    let request = '';
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => sockets.delete(socket));
    socket.on('data', (data) => {
      request += data.toString('latin1');
      const head = request.indexOf('\r\n\r\n');
      const length = Number(/content-length: (\d+)/i.exec(request)?.[1] ?? 0);
      if (head < 0 || request.length < head + 4 + length) return;
      requests.push(request);
      serve(socket, request);
    });
  });
  await new Promise<void>((resolve) => server.listen(file, resolve));
  const recorded = process.env.CHASQUI_RECORD_REPLIES;
  delete process.env.CHASQUI_RECORD_REPLIES;
  cleanups.push(() => {
    if (recorded !== undefined) process.env.CHASQUI_RECORD_REPLIES = recorded;
    for (const socket of sockets) socket.destroy();
    return new Promise((resolve) => server.close(resolve));
  });
  return { socketPath: file, sockets, requests };
}

export const CHAT = '/acme/chat/v1/chat/completions';

export function postChat(
  { url }: { url: string },
  body: Record<string, unknown> = {},
  init: { headers?: Record<string, string>; path?: string; signal?: AbortSignal } = {},
): Promise<Response> {
  const { headers = WITH_KEY, path: target = CHAT, signal } = init;
  return fetch(`${url}${target}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model: 'fake', messages: [{ role: 'user', content: 'Hi' }], ...body }),
    ...(signal && { signal }),
  });
}

export async function codeOf(reply: Response): Promise<string> {
  return ((await reply.json()) as { error: { code: string } }).error.code;
}
