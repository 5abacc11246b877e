/** One server of each mode, as people start them, and the same app around an engine that shows what reaches it. */
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { Health } from '../../ts/api/server/health/schema.js';
import type { Job } from '../../ts/engine/job.js';
import { desktop } from '../../ts/profiles/desktop.js';
import type { Profile } from '../../ts/profiles/profile.js';
import { runtime } from '../../ts/profiles/runtime.js';
import { serverless } from '../../ts/profiles/serverless.js';
import { testApp } from './build-app.js';
import { runCli } from './child.js';
import { readSse } from './read-sse.js';
import { type RunningServer, startServer } from './start-server.js';
import { until } from './until.js';

export type Mode = Profile['mode'];

export const PROFILES: Readonly<Record<Mode, Profile>> = { runtime, desktop, serverless };
export const MODES: readonly Mode[] = ['runtime', 'desktop', 'serverless'];
export const MODEL = 'chasqui-demo';
export const DEPLOYMENT = { org: 'acme', app: 'chat' };

export interface Reached {
  job: Job | undefined;
  status: number;
  /** The header that names the ignored fields. */
  ignored: string | undefined;
  body: string;
}

export class HostedMode {
  private constructor(
    readonly mode: Mode,
    readonly server: RunningServer,
    /** Additional headers that this mode requires. */
    readonly authorization: Record<string, string>,
    readonly dataDir: string,
  ) {}

  static async start(mode: Mode, contextSize = 512): Promise<HostedMode> {
    const dataDir = mkdtempSync(path.join(os.tmpdir(), 'chasqui-keys-'));
    const common = ['--mode', mode, '--ctx-size', String(contextSize), '--threads', '1'];
    if (mode !== 'serverless') return new HostedMode(mode, await startServer(common), {}, dataDir);
    const args = ['--org', DEPLOYMENT.org, '--app', DEPLOYMENT.app, '--auth', 'private', '--data-dir', dataDir];
    const { stdout } = await runCli(['keys', 'create', '--json', '--data-dir', dataDir]);
    const { key } = JSON.parse(stdout) as { key: string };
    return new HostedMode(mode, await startServer([...common, ...args]), { authorization: `Key ${key}` }, dataDir);
  }

  get profile(): Profile {
    return PROFILES[this.mode];
  }

  /** `{base_url}` of the specification. */
  get baseUrl(): string {
    return this.server.url;
  }

  get(url: string, headers: Record<string, string> = this.authorization): Promise<Response> {
    return fetch(this.baseUrl + url, { headers });
  }

  async health(): Promise<Health> {
    return (await this.get('/health')).json() as Promise<Health>;
  }

  /** Fails when requests are still held or waiting after some seconds. */
  async untilFree(): Promise<void> {
    await until(async () => {
      const { active, queued } = await this.health();
      return active === 0 && queued === 0;
    }, 'no sequence is held');
  }

  /** A chat request with model and message, unless `body` has others. */
  chat(body: Record<string, unknown> = {}, headers: Record<string, string> = {}): Promise<Response> {
    const messages = [{ role: 'user', content: 'Count from 3 to 9' }];
    return this.post(JSON.stringify({ model: MODEL, messages, temperature: 0, ...body }), headers);
  }

  post(body: string, headers: Record<string, string> = {}): Promise<Response> {
    return fetch(`${this.baseUrl}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...this.authorization, ...headers },
      body,
    });
  }

  /** The text of a whole reply. */
  async answer(body: Record<string, unknown> = {}): Promise<string> {
    const reply = await this.chat(body);
    const completion = (await reply.json()) as { choices: { message: { content: string } }[] };
    return completion.choices[0]?.message.content ?? `no choices, status ${reply.status}`;
  }

  /** The chunks of a streamed reply. */
  async stream(body: Record<string, unknown> = {}) {
    return readSse(await (await this.chat({ ...body, stream: true })).text());
  }

  /** Returns the job that reaches the engine for a request in this mode. */
  async reach(body: Record<string, unknown> = {}): Promise<Reached> {
    const deployed = this.mode === 'serverless' ? { deployment: DEPLOYMENT, access: 'public' as const } : {};
    const { chat, engine } = testApp({}, deployed, this.profile);
    const { statusCode, headers, body: text } = await chat(body);
    const ignored = headers['x-chasqui-ignored'] as string | undefined;
    return { job: engine.jobs[0], status: statusCode, ignored, body: text };
  }

  async stop(): Promise<void> {
    await this.server.stop();
    rmSync(this.dataDir, { recursive: true });
  }
}
