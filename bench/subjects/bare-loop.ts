import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { killAtExit } from '../kill-at-exit.js';
import type { Figures, Subject, Work } from '../work.js';

const modules = fileURLToPath(new URL('../../build/Release/', import.meta.url));

interface Line {
  promptTokens: number;
  promptSeconds: number;
  decodeTokens: number;
  decodeSeconds: number;
}

/**
 * llama_decode and argmax with nothing around them, in a process of its own that does this work and no other.
 * @param gpuModule the file of ggml's module for the GPU that computes it
 */
export function bareLoop(modelPath: string, threads: number, work: Work, gpuModule?: string): Subject {
  const shape = [work.promptTokens, work.predictTokens, work.streams, threads].map(String);
  const child = spawn(`${modules}bare-loop`, [modules, modelPath, ...shape, ...(gpuModule ? [gpuModule] : [])], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  killAtExit(child);
  const exited = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  return {
    name: 'bare loop',
    pid: child.pid as number,
    async run() {
      child.stdin.write('\n');
      const { value } = await lines.next();
      if (value === undefined) throw new Error('the bare loop has ended');
      return figuresOfLine(JSON.parse(value) as Line, work);
    },
    async close() {
      child.stdin.end();
      await exited;
    },
  };
}

function figuresOfLine(line: Line, work: Work): Figures {
  return {
    decodeRate: line.decodeTokens / line.decodeSeconds,
    totalRate: (work.predictTokens * work.streams) / (line.promptSeconds + line.decodeSeconds),
    firstTokenMs: 1000 * line.promptSeconds,
  };
}
