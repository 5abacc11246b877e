/** The application around a fake engine, and the requests that tests send to it. */
import type { FastifyInstance, LightMyRequestResponse } from 'fastify';
import { buildApp } from '../../ts/api/app.js';
import type { AppOptions } from '../../ts/api/context.js';
import { ManagedPool } from '../../ts/models/managed-pool.js';
import type { Naming } from '../../ts/models/pool.js';
import type { Profile } from '../../ts/profiles/profile.js';
import { runtime } from '../../ts/profiles/runtime.js';
import { FakeEngine, type FakeScript } from './fake-engine.js';

export interface TestApp {
  app: FastifyInstance;
  engine: FakeEngine;
  /** What `onServerError` was told. */
  serverErrors: unknown[];
  /** Sends a chat request; `model` and `messages` are there unless `body` has others. */
  chat(body?: Record<string, unknown>): Promise<LightMyRequestResponse>;
  /** Sends `payload` as it is. */
  post(payload: string | undefined, headers?: Record<string, string>): Promise<LightMyRequestResponse>;
  /** Sends a body to any path. */
  send(url: string, body: unknown): Promise<LightMyRequestResponse>;
}

/** Model names that a mode accepts. */
export function namingOf({ checksModelName }: Profile): Naming {
  return { anyName: !checksModelName };
}

export const CHAT_PATH = '/v1/chat/completions';
const JSON_HEADERS = { 'content-type': 'application/json' };

export function chatBody(body: Record<string, unknown> = {}): Record<string, unknown> {
  return { model: 'fake', messages: [{ role: 'user', content: 'Hi' }], ...body };
}

export function testApp(script: FakeScript = {}, options: AppOptions = {}, profile: Profile = runtime): TestApp {
  const engine = new FakeEngine(script);
  const serverErrors: unknown[] = [];
  const pool = ManagedPool.of(engine, namingOf(profile));
  const app = buildApp(pool, profile, { onServerError: (error) => serverErrors.push(error), ...options });
  const { deployment } = options;
  const url = deployment ? `/${deployment.org}/${deployment.app}${CHAT_PATH}` : CHAT_PATH;
  const post: TestApp['post'] = (payload, headers = JSON_HEADERS) =>
    app.inject({ method: 'POST', url, headers, ...(payload === undefined ? {} : { payload }) });
  const send: TestApp['send'] = (path, body) =>
    app.inject({ method: 'POST', url: path, headers: JSON_HEADERS, payload: JSON.stringify(body) });
  return { app, engine, serverErrors, post, send, chat: (body) => post(JSON.stringify(chatBody(body))) };
}

const listening = new Set<FastifyInstance>();

/** The same, on a port of its own. For suites that close what is left open with `test.after.each(closeApps)`. */
export async function listeningApp(
  script: FakeScript = {},
  options: AppOptions = {},
  profile: Profile = runtime,
): Promise<TestApp & { url: string }> {
  const test = testApp(script, options, profile);
  const url = await test.app.listen({ host: '127.0.0.1', port: 0 });
  listening.add(test.app);
  return { ...test, url };
}

/** A server that a failed test left open would keep the whole run from ending. */
export async function closeApps(): Promise<void> {
  for (const app of listening) await app.close();
  listening.clear();
}
