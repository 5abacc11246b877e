/** Reads messages from a terminal: history, pasted lines, and `"""` around several lines. */
import fs from 'node:fs';
import path from 'node:path';
import readline from 'node:readline';
import { Writable } from 'node:stream';

const FENCE = '"""';
const PROMPT = '>>> ';
const CONTINUED = '... ';
const HISTORY_SIZE = 1000;
/** Makes terminals mark pasted text. Its line breaks do not end the message. */
const MARK_PASTES = '\u001b[?2004h';
const LEAVE_PASTES = '\u001b[?2004l';

export interface ChatInputOptions {
  input: NodeJS.ReadStream;
  output: NodeJS.WriteStream;
  historyFile: string;
  /** Ctrl-C while no message is read. */
  onInterrupt(): void;
}

export class ChatInput {
  readonly #options: ChatInputOptions;
  readonly #lines: readline.Interface;
  /** Messages that were typed before they were asked for; `null` ends the input. */
  readonly #messages: (string | null)[] = [];
  readonly #pasted: string[] = [];
  #isPasting = false;
  /** The message after `"""` so far. */
  #block: string | null = null;
  #resolve: ((message: string | null) => void) | null = null;

  constructor(options: ChatInputOptions) {
    this.#options = options;
    const { input, output, historyFile } = options;
    this.#lines = readline.createInterface({
      input,
      output: this.#mutedWhileGenerating(),
      terminal: true,
      history: readHistory(historyFile),
      historySize: HISTORY_SIZE,
      removeHistoryDuplicates: true,
    });
    this.#lines.on('line', (line) => this.#add(line));
    this.#lines.on('history', (history) => writeHistory(historyFile, history));
    this.#lines.on('SIGINT', () => this.#interrupt());
    this.#lines.on('close', () => this.#put(null));
    input.on('keypress', (_, key) => {
      if (key?.name === 'paste-start' || key?.name === 'paste-end') this.#isPasting = key.name === 'paste-start';
    });
    output.write(MARK_PASTES);
  }

  /** Resolves with the next message, or with `null` at the end of the input. */
  read(): Promise<string | null> {
    const [next] = this.#messages.splice(0, 1);
    if (next !== undefined) {
      if (next !== null) this.#options.output.write(`${PROMPT}${next}\n`);
      return Promise.resolve(next);
    }
    return new Promise((resolve) => {
      this.#resolve = resolve;
      this.#prompt();
    });
  }

  close(): void {
    this.#lines.close();
    this.#options.output.write(LEAVE_PASTES);
  }

  #add(line: string): void {
    if (this.#isPasting) {
      this.#pasted.push(line);
      return;
    }
    const text = [...this.#pasted.splice(0), line].join('\n');
    const opened = text.startsWith(FENCE) ? text.slice(FENCE.length) : null;
    this.#block = this.#block === null ? opened : `${this.#block}\n${text}`;
    const whole = this.#block?.trimEnd();
    if (whole !== undefined && !whole.endsWith(FENCE)) {
      this.#prompt();
      return;
    }
    this.#block = null;
    this.#put(whole?.slice(0, -FENCE.length) ?? text);
  }

  #put(message: string | null): void {
    const resolve = this.#resolve;
    this.#resolve = null;
    if (resolve === null) this.#messages.push(message);
    else resolve(message);
  }

  /** Drops what was typed; ends the input if that is nothing. */
  #interrupt(): void {
    const isEmpty = this.#lines.line === '' && this.#block === null && this.#pasted.length === 0;
    if (this.#resolve === null) this.#options.onInterrupt();
    else if (isEmpty) this.#lines.close();
    else this.#restart();
  }

  #restart(): void {
    this.#block = null;
    this.#pasted.length = 0;
    this.#options.output.write('\n');
    // Ctrl-E and Ctrl-U delete the line.
    this.#lines.write(null, { ctrl: true, name: 'e' });
    this.#lines.write(null, { ctrl: true, name: 'u' });
    this.#prompt();
  }

  #prompt(): void {
    if (this.#resolve === null) return;
    this.#lines.setPrompt(this.#block === null ? PROMPT : CONTINUED);
    this.#lines.prompt();
  }

  /** What is typed during an answer is not shown within it. */
  #mutedWhileGenerating(): Writable {
    const { output } = this.#options;
    const muted = new Writable({
      write: (chunk, _, done) => {
        if (this.#resolve !== null) output.write(chunk);
        done();
      },
    });
    Object.defineProperty(muted, 'columns', { get: () => output.columns });
    output.on('resize', () => muted.emit('resize'));
    return muted;
  }
}

/** Newest first, as readline wants it. */
function readHistory(file: string): string[] {
  try {
    return fs.readFileSync(file, 'utf8').split('\n').filter(Boolean).reverse();
  } catch {
    return [];
  }
}

/** A history that cannot be written is kept for this chat only. */
function writeHistory(file: string, history: readonly string[]): void {
  try {
    fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
    fs.writeFileSync(file, `${[...history].reverse().join('\n')}\n`, { mode: 0o600 });
  } catch {}
}
