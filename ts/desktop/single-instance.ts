/**
 * There is one app for each data folder. The first holds a lock that the system lets go when its process ends, however it
 * ends, and writes down where it can be reached; a second start finds that.
 */
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import Database from 'libsql';

/** What desktop.json holds, for this account's eyes only. */
export interface InstanceFile {
  /** Of the app's own port, without the token. */
  url: string;
  port: number;
  pid: number;
  token: string;
}

export class InstanceLock {
  readonly #lock: InstanceType<typeof Database>;
  readonly #folder: string;

  private constructor(lock: InstanceType<typeof Database>, folder: string) {
    this.#lock = lock;
    this.#folder = folder;
  }

  /** `null`: another process has it. */
  static take(folder: string): InstanceLock | null {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const lock = new Database(path.join(folder, 'desktop.lock'));
    try {
      lock.exec('BEGIN EXCLUSIVE');
      // Nobody can be reached at what an app left that was killed.
      rmSync(fileIn(folder), { force: true });
      return new InstanceLock(lock, folder);
    } catch (error) {
      lock.close();
      if ((error as { code?: string }).code === 'SQLITE_BUSY') return null;
      throw error;
    }
  }

  announce(instance: InstanceFile): void {
    const file = fileIn(this.#folder);
    const draft = `${file}.${process.pid}`;
    writeFileSync(draft, `${JSON.stringify(instance, null, 2)}\n`, { mode: 0o600 });
    chmodSync(draft, 0o600);
    renameSync(draft, file);
  }

  release(): void {
    rmSync(fileIn(this.#folder), { force: true });
    this.#lock.close();
  }
}

/** `null`: no app runs, or it has not come so far. */
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
