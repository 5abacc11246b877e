/** The data folder, for files that outlive a process, and the demo model. */
import { homedir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const DEMO_MODEL = fileURLToPath(new URL('../../prebuilds/demo/chasqui-demo.gguf', import.meta.url));

export function dataDir(given: string | undefined): string {
  return given ?? path.join(homedir(), '.chasqui');
}

/** The data folder set in the environment, or the default. */
export function dataFolder(): string {
  return path.resolve(dataDir(process.env.CHASQUI_HOME || undefined));
}
