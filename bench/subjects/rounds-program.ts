import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { killAtExit } from '../kill-at-exit.js';

/** Build folder of the addon and of the benchmark programs. */
export const modules = fileURLToPath(new URL('../../build/Release/', import.meta.url));

/** A benchmark program that runs one round per input line and prints one JSON line for it. */
export interface RoundsProgram<Line> {
  pid: number;
  /** @param task the input line; some programs ignore it */
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
