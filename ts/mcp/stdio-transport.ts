/**
 * A server process that speaks MCP on its standard streams. The library's transport has no limit that spares other calls,
 * and leaves descendants of the process running.
 */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';
import type { Readable, Writable } from 'node:stream';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import { describeExit, lastWords, withoutControls } from '../process/fork-script.js';
import { withPipes } from '../process/open-files.js';
import type { StdioServerConfig } from './mcp-config.js';
import { MessageLines } from './message-lines.js';
import { tooLong } from './too-long.js';

/** Variables of this process that a server gets beside those of its configuration. */
const INHERITED =
  process.platform === 'win32'
    ? ['APPDATA', 'COMSPEC', 'LOCALAPPDATA', 'PATH', 'PATHEXT', 'PROGRAMFILES', 'SYSTEMROOT', 'TEMP', 'USERPROFILE']
    : ['HOME', 'LANG', 'LOGNAME', 'PATH', 'SHELL', 'TMPDIR', 'USER'];

/** A server may end by itself, then on SIGTERM, for this long each. */
const GRACE_MS = 1000;
const MAX_SAID = 2000;
const MAX_REASON = 300;

export type Environment = Readonly<Record<string, string | undefined>>;

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  #child: Child | null = null;
  #said = '';
  /** Why the process ended; null while it runs. */
  ending: string | null = null;

  constructor(
    private readonly config: StdioServerConfig,
    private readonly environment: Environment,
  ) {}

  async start(): Promise<void> {
    const { command, args, env, cwd } = this.config;
    const child = spawn(command, args, {
      cwd,
      env: { ...inherited(this.environment), ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
      // Its own process group, which can be ended with all descendants.
      detached: process.platform !== 'win32',
      windowsHide: true,
    });
    withPipes(child, `\`${withoutControls(command)}\``);
    child.on('error', (error) => this.onerror?.(error));
    child.stdin.on('error', () => {});
    await once(child, 'spawn');
    this.#child = child;
    const killOnExit = (): void => kill(child, 'SIGKILL');
    process.once('exit', killOnExit);
    child.once('exit', (code, signal) => {
      process.off('exit', killOnExit);
      kill(child, 'SIGKILL');
      const said = lastWords(this.#said).slice(0, MAX_REASON);
      this.ending = describeExit(code, signal) + (said === '' ? '' : ` (${said})`);
      this.onclose?.();
    });
    child.stderr.on('data', (data: Buffer) => {
      this.#said = (this.#said + data.toString('utf8')).slice(-MAX_SAID);
    });
    const lines = new MessageLines({
      line: (text) => this.#receive(text),
      tooLong: (id) => (id === null ? kill(child, 'SIGKILL') : this.onmessage?.(tooLong(id))),
    });
    child.stdout.on('data', (chunk: Buffer) => lines.push(chunk));
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const child = this.#child;
    if (child === null || this.ending !== null) throw new Error('The process has ended.');
    if (!child.stdin.write(`${JSON.stringify(message)}\n`)) {
      // A server that reads nothing is bounded by the time limit of the call.
      await Promise.race([once(child.stdin, 'drain'), once(child, 'exit')]);
    }
  }

  async close(): Promise<void> {
    const child = this.#child;
    if (child === null || this.ending !== null) return;
    const exited = once(child, 'exit');
    child.stdin.end();
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      if (await endsWithin(exited, GRACE_MS)) return;
      kill(child, signal);
    }
    await exited;
  }

  /** Servers that log to standard output are common, so other lines are ignored. */
  #receive(line: string): void {
    let message: unknown;
    try {
      message = JSON.parse(line);
    } catch {
      return;
    }
    if (typeof message === 'object' && message !== null) this.onmessage?.(message as JSONRPCMessage);
  }
}

function inherited(environment: Environment): Record<string, string> {
  const given = INHERITED.map((name) => [name, environment[name]]);
  return Object.fromEntries(given.filter(([, value]) => value !== undefined));
}

async function endsWithin(exited: Promise<unknown>, limitMs: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), limitMs);
  });
  try {
    return await Promise.race([exited.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Ends the process and its descendants. */
function kill({ pid }: Child, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(process.platform === 'win32' ? pid : -pid, signal);
  } catch {
    // They have ended.
  }
}
