/** Prints the log file of a server in the background. */
import type { LogLine } from '../../desktop/api-types.js';
import { printable, toText } from '../output/log-output.js';
import { isAtLeast, LEVELS, type ShownLines } from './app-status.js';
import { followLines, lastLines } from './log-files.js';

export async function printServerLog(file: string, { count, level, follow, json }: ShownLines): Promise<void> {
  const print = (line: string): void => {
    const known = levelOf(line);
    if (known !== null && !isAtLeast(known, level)) return;
    if (json) process.stdout.write(`${known === null ? JSON.stringify({ level: 'info', msg: line }) : line}\n`);
    else process.stdout.write(known === null ? `${printable(line)}\n` : toText(line));
  };
  if (follow) await followLines(file, count, print);
  for (const line of lastLines(file, count)) print(line);
}

function levelOf(line: string): LogLine['level'] | null {
  if (!line.startsWith('{')) return null;
  try {
    const { level, time } = JSON.parse(line) as Record<string, unknown>;
    const known = LEVELS.find((each) => each === level);
    return typeof time === 'string' && known !== undefined ? known : null;
  } catch {
    return null;
  }
}
