/** Runs scripts in child processes, for work that can crash or hang. */
import { type ChildProcess, fork, type StdioOptions } from 'node:child_process';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { withPipes } from './open-files.js';

/** For the start of Node on a busy machine. */
export const START_LIMIT_MS = 60_000;
/** Characters of standard error. */
const MAX_KEPT = 4000;

/** Data that is written to such a pipe never arrives (Bun 1.4.5). */
const NO_PIPES_IN_BUN =
  'Bun connects no pipes to child processes; use Node.js or Deno, or load the model without a process of its own';

const extension = extname(import.meta.url);

/** The system is out of memory, this process out of file descriptors, or the runtime cannot connect the child. */
export class ForkFailed extends Error {}

export interface ForkedScript {
  child: ChildProcess;
  /** Describes the crash, with `lastWords`. */
  describeCrash(code: number | null, signal: NodeJS.Signals | null): string;
  /** The most informative of the last lines on standard error; or empty. */
  lastWords(): string;
}

export interface ForkOptions {
  /** Besides stdin, stdout, stderr and the message channel. */
  pipes?: number;
  onStderr?: (text: Buffer) => void;
}

/**
 * `script`: URL without extension. The child is killed when this process exits normally.
 * @throws {ForkFailed} Other failures to start are `error` events of the child, which need no listener.
 */
export function forkScript(script: URL, args: readonly string[] = [], options: ForkOptions = {}): ForkedScript {
  if (options.pipes && process.versions.bun) throw new ForkFailed(NO_PIPES_IN_BUN);
  const stdio: StdioOptions = ['ignore', 'ignore', 'pipe', 'ipc', ...extraPipes(options.pipes ?? 0)];
  const child = tryFork(`${fileURLToPath(script)}${extension}`, args, stdio);
  let complaint = '';
  child.stderr?.on('data', (data: Buffer) => {
    complaint = `${complaint}${data}`.slice(-MAX_KEPT);
    options.onStderr?.(data);
  });
  if (child.pid !== undefined) endWithParent(child);
  const saidLast = () => lastWords(complaint);
  return { child, describeCrash: (code, signal) => describeCrash(code, signal, saidLast()), lastWords: saidLast };
}

/** `overlapped`: on Windows, other pipes cannot be read and written at the same time. */
function extraPipes(count: number): 'overlapped'[] {
  return Array<'overlapped'>(count).fill('overlapped');
}

function tryFork(file: string, args: readonly string[], stdio: StdioOptions): ChildProcess {
  let child: ChildProcess;
  try {
    child = fork(file, [...args], {
      // When run from source, the script needs the parent's TypeScript loader.
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
  // Node warns about many listeners, so all children share one.
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

export function describeExit(code: number | null, signal: NodeJS.Signals | null): string {
  return signal ? `it was ended by ${signal}` : `it ended with exit code ${code}`;
}

function describeCrash(code: number | null, signal: NodeJS.Signals | null, said: string): string {
  return `the process that tried it crashed: ${describeExit(code, signal)}${said ? ` (${said})` : ''}`;
}

/** A failed assertion or an uncaught error is more informative than the lines after it. */
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
