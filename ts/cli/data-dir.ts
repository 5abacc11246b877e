/** Where chasqui keeps what must outlast a process. */
import { homedir } from 'node:os';
import path from 'node:path';

export function dataDir(given: string | undefined): string {
  return given ?? path.join(homedir(), '.chasqui');
}
