import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Figures, Subject, Work } from '../work.js';

const modules = fileURLToPath(new URL('../../build/Release/', import.meta.url));
const run = promisify(execFile);

interface Line {
  promptTokens: number;
  promptSeconds: number;
  decodeTokens: number;
  decodeSeconds: number;
}

/** llama_decode and argmax with nothing around them, in a process of its own for each run; warmed up by a round. */
export function bareLoop(modelPath: string, threads: number): Subject {
  return {
    name: 'bare loop',
    async run(work: Work): Promise<Figures> {
      const shape = [work.promptTokens, work.predictTokens, work.streams, threads].map(String);
      const { stdout } = await run(`${modules}bare-loop`, [modules, modelPath, ...shape, '2']);
      const line = JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Line;
      return {
        decodeRate: line.decodeTokens / line.decodeSeconds,
        totalRate: (work.predictTokens * work.streams) / (line.promptSeconds + line.decodeSeconds),
        firstTokenMs: 1000 * line.promptSeconds,
      };
    },
    close: async () => {},
  };
}
