/** desktop.json in the data folder: how to reach the running app. Readable by this account only. */
import { chmodSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

export interface InstanceFile {
  /** URL of the app's own port, without the token. */
  url: string;
  port: number;
  pid: number;
  token: string;
}

export function writeInstance(folder: string, instance: InstanceFile): void {
  const file = fileIn(folder);
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, `${JSON.stringify(instance, null, 2)}\n`, { mode: 0o600 });
  chmodSync(draft, 0o600);
  renameSync(draft, file);
}

export function removeInstance(folder: string): void {
  rmSync(fileIn(folder), { force: true });
}

/** Returns `null` if no app is running or it is still starting. */
export function findInstance(folder: string): InstanceFile | null {
  try {
    const { url, port, pid, token } = JSON.parse(readFileSync(fileIn(folder), 'utf8')) as InstanceFile;
    return { url, port, pid, token };
  } catch {
    return null;
  }
}

function fileIn(folder: string): string {
  return path.join(folder, 'desktop.json');
}
