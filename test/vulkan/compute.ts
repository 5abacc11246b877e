/** Runs scripts with one backend or the other. A process has one backend for all of its life. */
import { spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { nodeArguments } from '../support/node-arguments.mjs';

/** A token that was generated, and the likeliest in its place: id, logprob. */
export interface Next {
  id: number;
  top: [number, number][];
}

/** By model and request. */
export type Answers = Record<string, Record<string, Next[]>>;

/** With llama.cpp's log. */
export function compute(backend: 'cpu' | 'vulkan'): { answers: Answers; log: string } {
  const { status, signal, stdout, stderr } = runWith(backend, fileURLToPath(new URL('answers.ts', import.meta.url)));
  if (status !== 0) throw new Error(`with ${backend}: ${signal ?? status}: ${stderr}`);
  return { answers: JSON.parse(stdout) as Answers, log: stderr };
}

/** Runs a script of this repository, to its end. */
export function runWith(backend: 'cpu' | 'vulkan', script: string, ...args: string[]) {
  const folder = mkdtempSync(join(tmpdir(), 'chasqui-vulkan-'));
  // Node's pipes are non-blocking, so llama.cpp would lose output when the pipe is full.
  const log = openSync(join(folder, 'log'), 'w+');
  try {
    const env = { ...process.env, CHASQUI_BACKEND: backend };
    const result = spawnSync(process.execPath, [...nodeArguments(script), ...args], {
      encoding: 'utf8',
      env,
      stdio: ['ignore', 'pipe', log],
      timeout: 600_000,
      maxBuffer: 2 ** 26,
    });
    return { ...result, stderr: readFileSync(join(folder, 'log'), 'utf8') };
  } finally {
    closeSync(log);
    rmSync(folder, { recursive: true });
  }
}
