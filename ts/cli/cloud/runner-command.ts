/** How this installation starts a runner. */
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { RunnerCommand } from '../../cloud/runners/runner-process.js';
import { ChasquiError } from '../../errors.js';

export const DEMO_MODEL = fileURLToPath(new URL('../../../prebuilds/demo/chasqui-demo.gguf', import.meta.url));

export function runnerCommand(): RunnerCommand {
  const extension = path.extname(import.meta.url);
  const main = fileURLToPath(new URL(`./runner-main${extension}`, import.meta.url));
  // Run from its source, it needs what this process was started with to be understood.
  const node = extension === '.ts' ? process.execArgv : [];
  return { command: [process.execPath, ...node, main], environment: process.env };
}

/** What the options say about containers; undefined: runners are processes. */
export function podmanOf(options: {
  isolation?: 'process' | 'podman';
  runnerImage?: string;
}): { image: string | null } | undefined {
  const { isolation = 'process', runnerImage } = options;
  if (isolation === 'podman') return { image: runnerImage ?? null };
  if (runnerImage === undefined) return undefined;
  throw new ChasquiError('invalid_options', '`runnerImage` is for containers: `isolation` must be podman with it.');
}
