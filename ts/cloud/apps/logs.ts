/** Log files: one per runner, the newest of each app are kept. */
import fs from 'node:fs';
import path from 'node:path';
import { lastWords } from '../../process/fork-script.js';

const KEPT_LOGS = 20;
/** A larger file is truncated to its last `KEPT_BYTES`. */
const MAX_LOG_BYTES = 8 * 2 ** 20;
const KEPT_BYTES = 2 ** 20;
const TAIL_BYTES = 8192;
const MAX_LINE = 300;
const NEWLINE = 0x0a;
const MAX_CHARACTER_BYTES = 4;

export function logFileOf(folder: string, app: string, runner: string): string {
  return path.join(folder, app, `${runner}.log`);
}

/** The newest last. */
export function logsOf(folder: string, app: string): { runner: string; file: string; changedAt: number }[] {
  const own = path.join(folder, app);
  const names = fs.existsSync(own) ? fs.readdirSync(own) : [];
  return names
    .filter((name) => name.endsWith('.log'))
    .map((name) => {
      const file = path.join(own, name);
      return { runner: name.slice(0, -'.log'.length), file, changedAt: fs.statSync(file).mtimeMs };
    })
    .sort((one, other) => one.changedAt - other.changedAt);
}

export function pruneLogs(folder: string, app: string): void {
  for (const { file } of logsOf(folder, app).slice(0, -KEPT_LOGS)) fs.rmSync(file, { force: true });
}

/**
 * Keeps a runner from filling the disk. Lines written during the truncation may be lost: the runner has the file open
 * for appending.
 */
export function boundLog(file: string): void {
  const size = fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (size <= MAX_LOG_BYTES) return;
  const { text } = readLog(file, null, KEPT_BYTES);
  fs.truncateSync(file);
  fs.appendFileSync(file, text);
}

/**
 * Returns whole lines: up to `maxBytes` from `offset`, or the last ones if it is null. A longer line is cut at a
 * character.
 */
export function readLog(file: string, offset: number | null, maxBytes: number): { text: string; next: number } {
  let size: number;
  try {
    size = fs.statSync(file).size;
  } catch {
    return { text: '', next: offset ?? 0 };
  }
  // A file shorter than the offset has been truncated since.
  const isTail = offset === null || offset > size;
  const from = isTail ? Math.max(0, size - maxBytes) : offset;
  // The previous byte tells whether a line begins here.
  const before = isTail && from > 0 ? 1 : 0;
  const buffer = Buffer.alloc(Math.max(0, Math.min(maxBytes, size - from)) + before);
  const handle = fs.openSync(file, 'r');
  let read: number;
  try {
    read = fs.readSync(handle, buffer, 0, buffer.length, from - before);
  } finally {
    fs.closeSync(handle);
  }
  const bytes = buffer.subarray(0, read);
  const lines = bytes.lastIndexOf(NEWLINE) + 1;
  // A line longer than the limit is cut.
  const end = lines <= before && read === maxBytes + before ? endOfCharacters(bytes) : lines;
  const begin = before === 0 ? 0 : beginOfTail(bytes, end);
  return { text: bytes.toString('utf8', begin, end), next: from - before + end };
}

/** Start of the first whole line; without one, of the first whole character after the first byte. */
function beginOfTail(bytes: Buffer, end: number): number {
  const line = bytes.indexOf(NEWLINE) + 1;
  if (line > 0 && line < end) return line;
  const character = bytes.subarray(1, 1 + MAX_CHARACTER_BYTES).findIndex((byte) => !isContinuation(byte));
  return 1 + Math.max(0, character);
}

/** Start of an incomplete last character; otherwise the end of the bytes. */
function endOfCharacters(bytes: Buffer): number {
  const last = bytes.subarray(-MAX_CHARACTER_BYTES).findLastIndex((byte) => !isContinuation(byte));
  const at = Math.max(0, bytes.length - MAX_CHARACTER_BYTES) + last;
  const first = last === -1 ? 0 : (bytes[at] ?? 0);
  const needed = first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  return at + needed > bytes.length ? at : bytes.length;
}

function isContinuation(byte: number): boolean {
  return (byte & 0xc0) === 0x80;
}

/**
 * The most informative of the last lines; empty if there is none. Must not throw, not even if no file descriptor is
 * free.
 */
export function lastLineOf(file: string): string {
  try {
    return lastWords(readLog(file, null, TAIL_BYTES).text).slice(0, MAX_LINE);
  } catch {
    return '';
  }
}
