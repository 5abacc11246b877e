/** The desktop app in a process of its own, in a folder of its own. */
import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import path from 'node:path';
import * as assert from 'uvu/assert';
import { type Child, startChild, untilWritten } from './child.js';
import { until } from './until.js';

export interface ApiReply<Body = Record<string, unknown>> {
  status: number;
  body: Body;
}

export interface RunningDesktop {
  child: Child;
  /** Address of the app, without the token. */
  url: string;
  token: string;
  folder: string;
  /** Calls the management API as a command does. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into replies of every kind
  api(method: string, path: string, body?: object): Promise<ApiReply<any>>;
  /** The same, which must succeed. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into replies of every kind
  done(method: string, path: string, body?: object): Promise<any>;
  /** Events from now on. */
  watch(): Promise<WatchedEvents>;
  /** Ends it with SIGTERM, which must succeed. */
  stop(): Promise<void>;
  kill(): Promise<void>;
}

export interface WatchedEvents {
  // biome-ignore lint/suspicious/noExplicitAny: events of every kind
  seen: { name: string; data: any }[];
  close(): void;
}

export function desktopFolder(): string {
  return mkdtempSync(path.join(tmpdir(), 'chasqui-desktop-'));
}

const PROBES = path.join('.cache', 'chasqui', 'modules.json');

/** Copies the results of module probes to another home folder. Otherwise its first model would start two more processes. */
export function copyProbes(home: string): void {
  const [from, to] = [path.join(homedir(), PROBES), path.join(home, PROBES)];
  if (existsSync(from) && !existsSync(to)) cpSync(from, to);
}

/** No models but the demo model, and no hub, unless `variables` say otherwise. */
export function desktopVariables(folder: string, variables: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  return {
    CHASQUI_HOME: folder,
    HOME: folder,
    XDG_CONFIG_HOME: path.join(folder, 'config'),
    HF_HOME: path.join(folder, 'hf'),
    HF_ENDPOINT: 'http://127.0.0.1:9',
    DISPLAY: '',
    WAYLAND_DISPLAY: '',
    DBUS_SESSION_BUS_ADDRESS: '',
    ...variables,
  };
}

export async function startDesktop(
  args: readonly string[] = [],
  { folder = desktopFolder(), variables = {} }: { folder?: string; variables?: NodeJS.ProcessEnv } = {},
): Promise<RunningDesktop> {
  copyProbes(folder);
  const all = ['desktop', '--no-open', '--json', '--app-port', '0', ...args];
  const child = startChild('ts/cli.ts', all, desktopVariables(folder, variables));
  const [line] = await untilWritten(child, /^\{.*"url".*\}$/m);
  const address = new URL(JSON.parse(line).url);
  const token = address.searchParams.get('token') ?? '';
  const url = address.origin;
  const headers = { authorization: `Bearer ${token}` };
  const api: RunningDesktop['api'] = async (method, where, body) => {
    const json = body && { 'content-type': 'application/json' };
    const reply = await fetch(url + where, {
      method,
      headers: { ...headers, ...json },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await reply.text();
    return { status: reply.status, body: text === '' ? null : JSON.parse(text) };
  };
  return {
    child,
    url,
    token,
    folder,
    api,
    done: async (...call) => {
      const { status, body } = await api(...call);
      assert.ok(status < 300, `${call.join(' ')}: ${status} ${JSON.stringify(body)}`);
      return body;
    },
    watch: () => watchEvents(`${url}/api/v1/events`, headers),
    stop: async () => {
      child.process.kill('SIGTERM');
      assert.equal(await child.exited, { code: 0, signal: null }, child.output.stderr);
    },
    kill: async () => {
      child.process.kill('SIGKILL');
      await child.exited;
    },
  };
}

async function watchEvents(url: string, headers: Record<string, string>): Promise<WatchedEvents> {
  const stop = new AbortController();
  const reply = await fetch(url, { headers, signal: stop.signal });
  const seen: WatchedEvents['seen'] = [];
  const read = async () => {
    let text = '';
    const decoder = new TextDecoder();
    for await (const bytes of reply.body ?? []) {
      text += decoder.decode(bytes as Uint8Array, { stream: true });
      const frames = text.split('\n\n');
      text = frames.pop() ?? '';
      for (const frame of frames) {
        const [, name, data] = /^event: (\w+)\ndata: (.*)$/.exec(frame) ?? [];
        if (name !== undefined && data !== undefined) seen.push({ name, data: JSON.parse(data) });
      }
    }
  };
  read().catch(() => undefined);
  return { seen, close: () => stop.abort() };
}

/** Waits until the app has measured itself twice, which it does every second: all that it delays by a second is done. */
export async function untilMeasured({ seen }: WatchedEvents): Promise<void> {
  const count = () => seen.filter(({ name }) => name === 'metrics').length;
  const before = count();
  await until(() => count() >= before + 2, 'two measurements');
}

export function removeFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
}
