import { type ChildProcess, spawn } from 'node:child_process';
import fs from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../test/support/free-port.js';
import { killAtExit } from '../kill-at-exit.js';

/** GPU drivers compile shaders at the first start, which takes minutes with a software driver. */
const startTimeoutMs = 1_800_000;
const stopTimeoutMs = 10_000;

export interface ServerCommand {
  name: string;
  command: string;
  /** Arguments without the port. */
  args: string[];
  /** Log file of the server. */
  log: string;
}

/** A server process with an OpenAI-compatible API. */
export interface RunningServer {
  name: string;
  pid: number;
  port: number;
  close(): Promise<void>;
}

/** Starts a server on a free port and waits until it is ready. */
export async function startServer(server: ServerCommand): Promise<RunningServer> {
  const port = await freePort();
  const log = fs.openSync(server.log, 'w');
  const child = spawn(server.command, [...server.args, '--port', String(port)], { stdio: ['ignore', log, log] });
  fs.closeSync(log);
  killAtExit(child);
  await untilHealthy(server, child, port);
  return { name: server.name, pid: child.pid as number, port, close: () => stop(child) };
}

async function untilHealthy(server: ServerCommand, child: ChildProcess, port: number): Promise<void> {
  const end = performance.now() + startTimeoutMs;
  let failure: Error | undefined;
  child.once('error', (error) => {
    failure = error;
  });
  while (performance.now() < end) {
    if (failure) throw failure;
    if (child.exitCode !== null || child.signalCode !== null) break;
    const request = fetch(`http://127.0.0.1:${port}/health`, { signal: AbortSignal.timeout(1000) });
    const healthy = await request.then(
      (response) => response.ok,
      () => false,
    );
    if (healthy) return;
    await sleep(10);
  }
  child.kill('SIGKILL');
  throw new Error(`${server.name} did not start:\n${fs.readFileSync(server.log, 'utf8').slice(-2000)}`);
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = new Promise((resolve) => child.once('exit', resolve));
  const impatience = setTimeout(() => child.kill('SIGKILL'), stopTimeoutMs);
  child.kill('SIGTERM');
  await exited;
  clearTimeout(impatience);
}
