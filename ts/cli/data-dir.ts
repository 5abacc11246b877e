/** Where chasqui keeps what must outlast a process. */
import { homedir } from 'node:os';
import path from 'node:path';

export function dataDir(given: string | undefined): string {
  return given ?? path.join(homedir(), '.chasqui');
}

/** As the environment says. */
export function dataFolder(): string {
  return path.resolve(dataDir(process.env.CHASQUI_HOME || undefined));
}
