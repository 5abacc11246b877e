/** Starts scripts of this folder in processes of their own, for work that can end or hang the process that does it. */
import { type ChildProcess, fork } from 'node:child_process';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';

/** How long Node itself may take to start on a busy machine. */
export const START_LIMIT_MS = 60_000;
const KEPT_COMPLAINT = 2000;

const extension = extname(import.meta.url);

export interface ForkedScript {
  child: ChildProcess;
  /** How it ended, in words, with the last line it wrote to standard error. */
  describeEnd(code: number | null, signal: NodeJS.Signals | null): string;
}

/** `name`: without extension. The child ends with this process. */
export function forkScript(name: string, args: readonly string[] = []): ForkedScript {
  const script = fileURLToPath(new URL(`${name}${extension}`, import.meta.url));
  const child = fork(script, [...args], {
    // Run from its source, the script needs what its parent was started with to be understood.
    execArgv: extension === '.ts' ? process.execArgv : [],
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  let complaint = '';
  child.stderr?.on('data', (data) => {
    complaint = `${complaint}${data}`.slice(-KEPT_COMPLAINT);
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
  const said = complaint.trim().split('\n').filter(Boolean).slice(-1).join('');
  const ended = signal ? `it was ended by ${signal}` : `it ended with exit code ${code}`;
  return `the process that tried it crashed: ${ended}${said ? ` (${said})` : ''}`;
}
