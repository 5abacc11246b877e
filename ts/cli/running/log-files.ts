/** Log files of servers in the background: JSON lines, between messages of chasqui in plain text. */
import {
  closeSync,
  copyFileSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  statSync,
  truncateSync,
} from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const MAX_FILES = 10;
const MAX_FILE_BYTES = 8 * 2 ** 20;
const CHECK_SIZE_EVERY_MS = 2000;
/** Read from the end of a file. */
const MAX_TAIL_BYTES = 2 ** 20;
const FOLLOW_EVERY_MS = 300;

/** Creates a log file, and removes the oldest ones except those in use. */
export function createLogFile(folder: string, used: readonly (string | null)[]): { file: string; descriptor: number } {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const old = logFiles(folder).slice(0, -(MAX_FILES - 1));
  for (const file of old.filter((each) => !used.includes(each))) {
    rmSync(file, { force: true });
    rmSync(olderPart(file), { force: true });
  }
  const time = new Date().toISOString().replaceAll(/[:.]/g, '-');
  const file = path.join(folder, `${time}-${process.pid}.log`);
  return { file, descriptor: openSync(file, 'ax', 0o600) };
}

/**
 * Moves the text of the file to `FILE.1`, instead of an earlier one, when the file has more than 8 MiB. The file stays the
 * same, because this process and its children write to it, and it must be open for appending.
 */
export function limitLogFile(file: string): void {
  const limit = (): void => {
    try {
      if (statSync(file).size <= MAX_FILE_BYTES) return;
      copyFileSync(file, olderPart(file));
      truncateSync(file);
    } catch {
      // The file was deleted, or the disk is full. The server continues.
    }
  };
  setInterval(limit, CHECK_SIZE_EVERY_MS).unref();
}

const olderPart = (file: string): string => `${file}.1`;

/** The oldest first. */
export function logFiles(folder: string): string[] {
  try {
    const names = readdirSync(folder).filter((name) => name.endsWith('.log'));
    return names.sort().map((name) => path.join(folder, name));
  } catch {
    return [];
  }
}

export function lastLines(file: string, count: number): string[] {
  return new LogReader(file).readTail(count);
}

/** Calls `onLine` with the last lines, then with each new line until the process ends. */
export async function followLines(file: string, count: number, onLine: (line: string) => void): Promise<never> {
  const reader = new LogReader(file);
  for (const line of reader.readTail(count)) onLine(line);
  for (;;) {
    for (const line of reader.readNew()) onLine(line);
    await sleep(FOLLOW_EVERY_MS);
  }
}

class LogReader {
  #offset = 0;
  /** Bytes, because a read may end inside a character. */
  #rest = Buffer.alloc(0);

  constructor(private readonly file: string) {}

  readTail(count: number): string[] {
    const lines = this.#read(MAX_TAIL_BYTES);
    return lines.slice(-count);
  }

  readNew(): string[] {
    return this.#read(MAX_TAIL_BYTES);
  }

  /** Skips to the last `limit` bytes if there are more. */
  #read(limit: number): string[] {
    const descriptor = openSync(this.file, 'r');
    try {
      const { size } = fstatSync(descriptor);
      // The file was truncated, for example by logrotate.
      if (size < this.#offset) this.#offset = 0;
      const isCut = size - this.#offset > limit;
      if (isCut) this.#offset = size - limit;
      const buffer = Buffer.alloc(size - this.#offset);
      const read = readSync(descriptor, buffer, 0, buffer.length, this.#offset);
      this.#offset += read;
      const bytes = Buffer.concat([isCut ? Buffer.alloc(0) : this.#rest, buffer.subarray(0, read)]);
      const end = bytes.lastIndexOf('\n') + 1;
      this.#rest = bytes.subarray(end);
      const lines = bytes
        .subarray(0, end)
        .toString()
        .split('\n')
        .slice(isCut ? 1 : 0, -1);
      return lines;
    } finally {
      closeSync(descriptor);
    }
  }
}
