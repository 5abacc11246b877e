import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { killAtExit } from '../kill-at-exit.js';

/** Where the addon and the programs of the bench are built. */
export const modules = fileURLToPath(new URL('../../build/Release/', import.meta.url));

/** A program of the bench that does a round for each line that it reads, and prints a line of JSON for it. */
export interface RoundsProgram<Line> {
  pid: number;
  /** @param task the line that it reads; some programs do not look at it */
  round(task?: string): Promise<Line>;
  close(): Promise<void>;
}

export function startRounds<Line>(program: string, args: readonly string[]): RoundsProgram<Line> {
  const child = spawn(modules + program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  killAtExit(child);
  const exited = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  return {
    pid: child.pid as number,
    async round(task = '') {
      child.stdin.write(`${task}\n`);
      const { value } = await lines.next();
      if (value === undefined) throw new Error(`${program} has ended`);
      return JSON.parse(value) as Line;
    },
    async close() {
      child.stdin.end();
      await exited;
    },
  };
}
