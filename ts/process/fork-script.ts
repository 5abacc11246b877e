/** Starts scripts in processes of their own, for work that can end or hang the process that does it. */
import { type ChildProcess, fork, type StdioOptions } from 'node:child_process';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { withPipes } from './open-files.js';

/** How long Node itself may take to start on a busy machine. */
export const START_LIMIT_MS = 60_000;
const KEPT_COMPLAINT = 4000;

const extension = extname(import.meta.url);

/** The system gives no process: it has run out of memory, or this process of files. */
export class ForkFailed extends Error {}

export interface ForkedScript {
  child: ChildProcess;
  /** That it crashed and how, in words, with the last line it wrote to standard error. */
  describeCrash(code: number | null, signal: NodeJS.Signals | null): string;
  /** That line, or the one that says most; empty when there is none. */
  lastWords(): string;
}

export interface ForkOptions {
  /** Beside the four that every script has: standard input, output and error, and the channel for messages. */
  pipes?: number;
  /** Given what the script writes to standard error. */
  onStderr?: (text: Buffer) => void;
}

/**
 * `script`: its address without extension. The child ends with this process, if that ends in good order.
 * @throws {ForkFailed} Another failure to start is the child's `error` event, which nobody has to listen to.
 */
export function forkScript(script: URL, args: readonly string[] = [], options: ForkOptions = {}): ForkedScript {
  const stdio: StdioOptions = ['ignore', 'ignore', 'pipe', 'ipc', ...extraPipes(options.pipes ?? 0)];
  const child = tryFork(`${fileURLToPath(script)}${extension}`, args, stdio);
  let complaint = '';
  child.stderr?.on('data', (data: Buffer) => {
    complaint = `${complaint}${data}`.slice(-KEPT_COMPLAINT);
    options.onStderr?.(data);
  });
  if (child.pid !== undefined) endWithParent(child);
  const saidLast = () => lastWords(complaint);
  return { child, describeCrash: (code, signal) => describeCrash(code, signal, saidLast()), lastWords: saidLast };
}

/** Where Windows would have a pipe that cannot be read and written at a time, this asks for one that can. */
function extraPipes(count: number): 'overlapped'[] {
  return Array<'overlapped'>(count).fill('overlapped');
}

function tryFork(file: string, args: readonly string[], stdio: StdioOptions): ChildProcess {
  let child: ChildProcess;
  try {
    child = fork(file, [...args], {
      // Run from its source, the script needs what its parent was started with to be understood.
      execArgv: extension === '.ts' ? process.execArgv : [],
      stdio,
    });
  } catch (error) {
    throw new ForkFailed((error as Error).message, { cause: error });
  }
  // Without a listener the event would end this process.
  child.on('error', () => {});
  try {
    return withPipes(child, 'A process');
  } catch (cause) {
    throw new ForkFailed('too many files are open', { cause });
  }
}

const running = new Set<ChildProcess>();

function endWithParent(child: ChildProcess): void {
  // One listener for all of them: of many, Node warns.
  if (running.size === 0) process.on('exit', killRunning);
  running.add(child);
  child.once('close', () => {
    running.delete(child);
    if (running.size === 0) process.off('exit', killRunning);
  });
}

function killRunning(): void {
  for (const child of running) child.kill('SIGKILL');
}

/** How a process ended, in words. */
export function describeExit(code: number | null, signal: NodeJS.Signals | null): string {
  return signal ? `it was ended by ${signal}` : `it ended with exit code ${code}`;
}

function describeCrash(code: number | null, signal: NodeJS.Signals | null, said: string): string {
  return `the process that tried it crashed: ${describeExit(code, signal)}${said ? ` (${said})` : ''}`;
}

/** A failed assertion, or an error that nobody caught, says more than what is printed after it. */
export function lastWords(complaint: string): string {
  const lines = complaint
    .split('\n')
    .map((line) => withoutControls(line).trim())
    .filter(Boolean);
  const telling = (line: string) => /assert|abort|terminate called|^\w*Error: |FATAL ERROR/i.test(line);
  return lines.findLast(telling) ?? lines.at(-1) ?? '';
}

/** Replaces control characters by spaces: text of other programs must not control a terminal. */
export function withoutControls(text: string): string {
  return text.replaceAll(/\p{Cc}+/gu, ' ');
}
