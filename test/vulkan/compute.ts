/** Runs scripts with one backend or the other. A process has one backend for all of its life. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

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
export function runWith(backend: 'cpu' | 'vulkan', ...args: string[]) {
  const env = { ...process.env, CHASQUI_BACKEND: backend };
  return spawnSync(process.execPath, ['--import', 'tsx', ...args], {
    encoding: 'utf8',
    env,
    timeout: 600_000,
    maxBuffer: 2 ** 26,
  });
}
