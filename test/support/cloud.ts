/** A cloud in a separate process with its own data folder. */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { CloudClient } from '../../ts/cli/cloud/client.js';
import type { Deployed } from '../../ts/cloud/apps/control.js';
import type { AppState, RunnerView } from '../../ts/cloud/apps/views.js';
import { callCli } from './call-cli.js';
import { type Child, type Exit, runCli, startChild, untilWritten } from './child.js';
import { isAlive } from './engine-process.js';
import { readSse } from './read-sse.js';
import { until } from './until.js';

export const ORG = 'me';
const START_LIMIT_MS = 120_000;
/** Each poll is a request to the cloud that is starting runners. */
const POLL_MS = 50;

export class TestCloud {
  child!: Child;
  client!: CloudClient;
  key = '';
  readonly home = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-cloud-'));

  constructor(private readonly more: NodeJS.ProcessEnv = {}) {}

  /** `variables` are set beside those of this process. */
  static async start(args: readonly string[] = [], variables: NodeJS.ProcessEnv = {}): Promise<TestCloud> {
    const cloud = new TestCloud(variables);
    await cloud.begin(args);
    const made = await cloud.client.post<{ key: string }>('/keys', { org: ORG });
    cloud.key = made.key;
    return cloud;
  }

  get variables(): NodeJS.ProcessEnv {
    return { ...this.more, CHASQUI_HOME: this.home };
  }

  get url(): string {
    return this.client.url;
  }

  /** Also after a `kill`. */
  async begin(args: readonly string[] = []): Promise<void> {
    this.child = startChild('ts/cli.ts', ['cloud', 'start', '--port', '0', ...args], this.variables);
    await untilWritten(this.child, /^The cloud is at (http:\S+); /m);
    this.client = await CloudClient.find(this.home);
  }

  cli(...args: string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
    const startsServer = /^(run|cloud start)\b/.test(args.join(' '));
    return startsServer ? runCli(args, this.variables) : callCli(args, this.variables);
  }

  deploy(app: string, options: object, more: object = {}): Promise<Deployed> {
    const body = { options: { model: 'demo', context: 512, auth: 'public', ...options }, ...more };
    return this.client.post(`/apps/${ORG}/${app}/revisions`, body);
  }

  /** Deploys, and waits until the revision takes requests. */
  async deployed(app: string, options: object, more: object = {}): Promise<Deployed> {
    const deployed = await this.deploy(app, options, more);
    await this.untilRevision(app, deployed.revision, 'active');
    return deployed;
  }

  status(app: string): Promise<AppState & { runners: RunnerView[] }> {
    return this.client.app(ORG, app);
  }

  async untilRevision(app: string, number: number, state: string): Promise<void> {
    await this.untilApp(app, ({ revisions }) => {
      const found = revisions.find((each) => each.number === number);
      if (found?.state === 'failed' && state !== 'failed') throw new Error(`It failed: ${found.reason}`);
      return found?.state === state;
    });
  }

  async untilApp(app: string, holds: (state: AppState & { runners: RunnerView[] }) => boolean): Promise<void> {
    await until(async () => holds(await this.status(app)), `${app}: ${holds}`, START_LIMIT_MS, POLL_MS);
  }

  async events(
    app: string,
  ): Promise<{ runner: string | null; revision: number | null; state: string; reason: string }[]> {
    const reply = await this.client.get<{ events: never[] }>(`/apps/${ORG}/${app}/events?limit=1000`);
    return reply.events;
  }

  post(app: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
    const request = { model: 'chasqui-demo', messages: [{ role: 'user', content: 'Hello!' }], ...body };
    return fetch(`${this.url}/${ORG}/${app}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(request),
    });
  }

  /**
   * The text of a streamed completion, and how it ended. Drawn from nearly all tokens, it has nothing to draft, so that it
   * takes its time.
   */
  async stream(app: string, body: object): Promise<{ text: string; end: string }> {
    const response = await this.post(app, { temperature: 9, ...body, stream: true });
    if (response.status !== 200) return { text: '', end: `status ${response.status}: ${await response.text()}` };
    let received: string;
    try {
      received = await response.text();
    } catch (error) {
      return { text: '', end: `broken: ${(error as Error).message}` };
    }
    const { events, done } = readSse(received);
    const text = events.map(({ choices }) => choices?.[0]?.delta.content ?? '').join('');
    const error = events.find((event) => event.error !== undefined)?.error.code;
    return { text, end: error ?? (done ? 'done' : 'closed without a word') };
  }

  async kill(): Promise<void> {
    this.child.process.kill('SIGKILL');
    await this.child.exited;
  }

  /** Stops the cloud and deletes its data folder. */
  async stop(): Promise<Exit> {
    const pids = (await this.client.get<{ runners: RunnerView[] }>('/runners')).runners.map(({ pid }) => pid);
    this.child.process.kill('SIGTERM');
    const exit = await this.child.exited;
    await until(() => pids.every((pid) => pid === null || !isAlive(pid)), 'the end of all runners');
    fs.rmSync(this.home, { recursive: true, force: true });
    return exit;
  }
}

const scriptFolders: string[] = [];
process.once('exit', () => {
  for (const folder of scriptFolders) fs.rmSync(folder, { recursive: true, force: true });
});

/** A script in a folder of its own. */
export function writeScript(text: string, name = 'app.ts'): string {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-script-'));
  scriptFolders.push(folder);
  const file = path.join(folder, name);
  fs.writeFileSync(file, `import { app } from 'chasqui/cloud';\n${text}\n`);
  return file;
}
