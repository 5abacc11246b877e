/** What runners write: a file for each, of which the newest of an app are kept. */
import fs from 'node:fs';
import path from 'node:path';

const KEPT_LOGS = 20;
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

/** Up to `maxBytes` from `offset` on, or the last of them when there is no offset; whole lines. */
export function readLog(file: string, offset: number | null, maxBytes: number): { text: string; next: number } {
  let size: number;
  try {
    size = fs.statSync(file).size;
  } catch {
    return { text: '', next: offset ?? 0 };
  }
  const from = offset ?? Math.max(0, size - maxBytes);
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

/** The last line that says something; empty when there is none. */
export function lastLineOf(file: string): string {
  const lines = readLog(file, null, TAIL_BYTES).text.split('\n');
  const last = lines.map((line) => line.replaceAll(/\p{Cc}+/gu, ' ').trim()).findLast((line) => line !== '');
  return (last ?? '').slice(0, MAX_LINE);
}
