/** The app's log: recent lines in memory for the page, and rotated files. */
import { appendFileSync, mkdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import type { LogOptions } from '../http/log-levels.js';
import type { LogLine } from './api-types.js';
import type { EventBus } from './event-bus.js';

const MAX_LINES = 2000;
const MAX_FILE_BYTES = 4 * 2 ** 20;
/** Number of rotated files, without the current one. */
const OLD_FILES = 3;

export class DesktopLog {
  readonly folder: string;
  readonly #file: string;
  readonly #lines: LogLine[] = [];
  #bytes: number;

  constructor(
    folder: string,
    private readonly events: EventBus,
  ) {
    this.folder = path.join(folder, 'logs');
    mkdirSync(this.folder, { recursive: true, mode: 0o700 });
    this.#file = path.join(this.folder, 'desktop.log');
    this.#bytes = statSync(this.#file, { throwIfNoEntry: false })?.size ?? 0;
    this.#lines.push(...lastLines(this.#file));
  }

  /** Oldest first. */
  list(limit: number): LogLine[] {
    return this.#lines.slice(-limit);
  }

  say(level: LogLine['level'], message: string): void {
    this.#add({ at: Date.now(), level, message });
  }

  /** Stream for a server's request log. `skip` filters lines out. */
  forServer(logsPrompts: () => boolean, skip: (fields: RequestFields) => boolean = () => false): LogOptions {
    return {
      level: 'info',
      get prompts() {
        return logsPrompts();
      },
      write: (line) => {
        const fields = JSON.parse(line) as RequestFields;
        if (!skip(fields)) this.#add(toLogLine(fields));
      },
    };
  }

  #add(line: LogLine): void {
    this.#lines.push(line);
    if (this.#lines.length > MAX_LINES) this.#lines.shift();
    this.events.publish('log', line);
    this.#write(`${JSON.stringify(line)}\n`);
  }

  /** Ignores write errors. */
  #write(text: string): void {
    try {
      if (this.#bytes > MAX_FILE_BYTES) this.#rotate();
      appendFileSync(this.#file, text, { mode: 0o600 });
      this.#bytes += Buffer.byteLength(text);
    } catch {
      // The disk is full, or the folder was deleted.
    }
  }

  #rotate(): void {
    rmSync(`${this.#file}.${OLD_FILES}`, { force: true });
    for (let number = OLD_FILES - 1; number >= 1; number -= 1)
      rename(`${this.#file}.${number}`, `${this.#file}.${number + 1}`);
    rename(this.#file, `${this.#file}.1`);
    this.#bytes = 0;
  }
}

function rename(from: string, to: string): void {
  if (statSync(from, { throwIfNoEntry: false }) !== undefined) renameSync(from, to);
}

/** A line of a server's log. */
export interface RequestFields extends Readonly<Record<string, unknown>> {
  level: string;
  time: string;
  msg: string;
  id?: string;
  method?: string;
  path?: string;
  status?: number;
  err?: { message?: string };
}

function toLogLine({ level, time, msg, id, err, ...fields }: RequestFields): LogLine {
  const { method, path: asked, status } = fields;
  const what = method === undefined ? [msg, err?.message].filter(Boolean).join(': ') : `${method} ${asked} ${status}`;
  return {
    at: Date.parse(time),
    level: level === 'debug' || level === 'info' || level === 'warn' ? level : 'error',
    message: what,
    ...(id !== undefined && { request: id }),
    ...(method !== undefined && { fields }),
  };
}

/** Reads the lines of earlier processes. */
function lastLines(file: string): LogLine[] {
  try {
    const texts = readFileSync(file, 'utf8')
      .split('\n')
      .slice(-MAX_LINES - 1);
    return texts.flatMap(parseLine);
  } catch {
    return [];
  }
}

/** Skips a truncated last line of a killed process. */
function parseLine(text: string): LogLine[] {
  try {
    return [JSON.parse(text) as LogLine];
  } catch {
    return [];
  }
}
