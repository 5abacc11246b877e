/** The data folder, for files that outlive a process, and the demo model. */
import { homedir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { unpacked } from '../native/unpacked.js';

export const DEMO_MODEL = unpacked(fileURLToPath(new URL('../../prebuilds/demo/chasqui-demo.gguf', import.meta.url)));

export function dataDir(given: string | undefined): string {
  return given ?? path.join(homedir(), '.chasqui');
}

/** The data folder set in the environment, or the default. */
export function dataFolder(environment: Readonly<Record<string, string | undefined>>): string {
  return path.resolve(dataDir(environment.CHASQUI_HOME || undefined));
}

/** Whether a name means the built-in model. */
export function isDemo(name: string): boolean {
  return /^(chasqui-)?demo$/.test(name);
}
