/** What runners write: a file for each, of which the newest of an app are kept. */
import fs from 'node:fs';
import path from 'node:path';
import { lastWords } from '../../process/fork-script.js';

const KEPT_LOGS = 20;
/** A file that has grown larger is cut, and keeps what was written last. */
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
 * Keeps a runner that writes without end from filling the disk. What it writes in the moment of the cut may be lost: it
 * has the file open, and what it writes is appended to whatever is there.
 */
export function boundLog(file: string): void {
  const size = fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (size <= MAX_LOG_BYTES) return;
  const { text } = readLog(file, null, KEPT_BYTES);
  fs.truncateSync(file);
  fs.appendFileSync(file, text);
}

/**
 * Up to `maxBytes` from `offset` on, or the last of them when there is no offset; whole lines. Of a line that has more
 * bytes, whole characters.
 */
export function readLog(file: string, offset: number | null, maxBytes: number): { text: string; next: number } {
  let size: number;
  try {
    size = fs.statSync(file).size;
  } catch {
    return { text: '', next: offset ?? 0 };
  }
  // A file that is shorter than what was read of it has been cut meanwhile.
  const isTail = offset === null || offset > size;
  const from = isTail ? Math.max(0, size - maxBytes) : offset;
  // The byte before says whether a line begins there.
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
  // A line that does not end within the limit is cut.
  const end = lines <= before && read === maxBytes + before ? endOfCharacters(bytes) : lines;
  const begin = before === 0 ? 0 : beginOfTail(bytes, end);
  return { text: bytes.toString('utf8', begin, end), next: from - before + end };
}

/** Where the first whole line begins or, when there is none, the first whole character behind the first byte. */
function beginOfTail(bytes: Buffer, end: number): number {
  const line = bytes.indexOf(NEWLINE) + 1;
  if (line > 0 && line < end) return line;
  const character = bytes.subarray(1, 1 + MAX_CHARACTER_BYTES).findIndex((byte) => !isInsideCharacter(byte));
  return 1 + Math.max(0, character);
}

/** Where a character begins that the bytes do not have to its end; else their own end. */
function endOfCharacters(bytes: Buffer): number {
  const last = bytes.subarray(-MAX_CHARACTER_BYTES).findLastIndex((byte) => !isInsideCharacter(byte));
  const at = Math.max(0, bytes.length - MAX_CHARACTER_BYTES) + last;
  const first = last === -1 ? 0 : (bytes[at] ?? 0);
  const needed = first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  return at + needed > bytes.length ? at : bytes.length;
}

/** Whether a byte goes on with a character of UTF-8 that another one has begun. */
function isInsideCharacter(byte: number): boolean {
  return (byte & 0xc0) === 0x80;
}

/**
 * The line of the last that says most; empty when there is none. It is asked for when a runner has ended, and a log that
 * cannot be opened then, because all files are in use, must end nothing else.
 */
export function lastLineOf(file: string): string {
  try {
    return lastWords(readLog(file, null, TAIL_BYTES).text).slice(0, MAX_LINE);
  } catch {
    return '';
  }
}
