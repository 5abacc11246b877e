/** The command that starts a runner of this installation. */
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { RunnerCommand } from '../../cloud/runners/runner-process.js';
import { invalidOptions } from '../../errors.js';

export const DEMO_MODEL = fileURLToPath(new URL('../../../prebuilds/demo/chasqui-demo.gguf', import.meta.url));

export function runnerCommand(): RunnerCommand {
  const extension = path.extname(import.meta.url);
  const main = fileURLToPath(new URL(`./runner-main${extension}`, import.meta.url));
  // Running from source requires the same Node.js flags as this process.
  const node = extension === '.ts' ? process.execArgv : [];
  return { command: [process.execPath, ...node, main], environment: process.env };
}

/** The container settings; undefined if runners are plain processes. */
export function podmanOf(options: {
  isolation?: 'process' | 'podman';
  runnerImage?: string;
}): { image: string | null } | undefined {
  const { isolation = 'process', runnerImage } = options;
  if (isolation === 'podman') return { image: runnerImage ?? null };
  if (runnerImage === undefined) return undefined;
  throw invalidOptions('`runnerImage` is for containers: `isolation` must be podman with it.');
}
