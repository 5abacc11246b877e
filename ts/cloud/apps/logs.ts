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
  const { text } = readLog(file, size - KEPT_BYTES, KEPT_BYTES);
  fs.truncateSync(file);
  fs.appendFileSync(file, text.slice(text.indexOf('\n') + 1));
}

/** Up to `maxBytes` from `offset` on, or the last of them when there is no offset; whole lines. */
export function readLog(file: string, offset: number | null, maxBytes: number): { text: string; next: number } {
  let size: number;
  try {
    size = fs.statSync(file).size;
  } catch {
    return { text: '', next: offset ?? 0 };
  }
  // A file that is shorter than what was read of it has been cut meanwhile.
  const from = offset === null || offset > size ? Math.max(0, size - maxBytes) : offset;
  const buffer = Buffer.alloc(Math.max(0, Math.min(maxBytes, size - from)));
  const handle = fs.openSync(file, 'r');
  const read = fs.readSync(handle, buffer, 0, buffer.length, from);
  fs.closeSync(handle);
  const text = buffer.toString('utf8', 0, read);
  const end = text.lastIndexOf('\n') + 1;
  // A line that does not end within the limit is cut.
  const whole = end === 0 && read === maxBytes ? text : text.slice(0, end);
  return { text: whole, next: from + Buffer.byteLength(whole) };
}

/** The line of the last that says most; empty when there is none. */
export function lastLineOf(file: string): string {
  return lastWords(readLog(file, null, TAIL_BYTES).text).slice(0, MAX_LINE);
}
