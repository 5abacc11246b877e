/** Starts scripts in processes of their own, for work that can end or hang the process that does it. */
import { type ChildProcess, fork, type StdioOptions } from 'node:child_process';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';

/** How long Node itself may take to start on a busy machine. */
export const START_LIMIT_MS = 60_000;
const KEPT_COMPLAINT = 4000;

const extension = extname(import.meta.url);

export interface ForkedScript {
  child: ChildProcess;
  /** How it ended, in words, with the last line it wrote to standard error. */
  describeEnd(code: number | null, signal: NodeJS.Signals | null): string;
}

export interface ForkOptions {
  /** Beside the four that every script has: standard input, output and error, and the channel for messages. */
  pipes?: number;
  /** Given what the script writes to standard error. */
  onStderr?: (text: Buffer) => void;
}

/** `script`: its address without extension. The child ends with this process, if that ends in good order. */
export function forkScript(script: URL, args: readonly string[] = [], options: ForkOptions = {}): ForkedScript {
  const stdio: StdioOptions = ['ignore', 'ignore', 'pipe', 'ipc', ...Array<'pipe'>(options.pipes ?? 0).fill('pipe')];
  const child = fork(`${fileURLToPath(script)}${extension}`, [...args], {
    // Run from its source, the script needs what its parent was started with to be understood.
    execArgv: extension === '.ts' ? process.execArgv : [],
    stdio,
  });
  let complaint = '';
  child.stderr?.on('data', (data: Buffer) => {
    complaint = `${complaint}${data}`.slice(-KEPT_COMPLAINT);
    options.onStderr?.(data);
  });
  endWithParent(child);
  return { child, describeEnd: (code, signal) => describeEnd(code, signal, complaint) };
}

function endWithParent(child: ChildProcess): void {
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  child.once('close', () => process.off('exit', kill));
}

function describeEnd(code: number | null, signal: NodeJS.Signals | null, complaint: string): string {
  const said = lastWords(complaint);
  const ended = signal ? `it was ended by ${signal}` : `it ended with exit code ${code}`;
  return `${ended}${said ? ` (${said})` : ''}`;
}

/** A failed assertion says more than what is printed after it. */
function lastWords(complaint: string): string {
  const lines = complaint.trim().split('\n').filter(Boolean);
  return lines.findLast((line) => /assert|abort|terminate called/i.test(line)) ?? lines.at(-1) ?? '';
}
