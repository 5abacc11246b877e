/** Where chasqui keeps what must outlast a process. */
import { homedir } from 'node:os';
import path from 'node:path';
import { Option } from 'commander';

export function dataDirOption(): Option {
  return new Option(
    '--data-dir <path>',
    'folder of what chasqui keeps: API keys, models that were fetched (default: ~/.chasqui)',
  ).env('CHASQUI_HOME');
}

export function dataDir(given: string | undefined): string {
  return given || path.join(homedir(), '.chasqui');
}
