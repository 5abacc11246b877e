/** Keeps the computer from going to sleep by itself while it computes or downloads. */
import { type ChildProcess, spawn } from 'node:child_process';

const CHECK_EVERY_MS = 2000;
/** Between two requests of a conversation it need not be asked anew. */
const LINGER_MS = 30_000;

/** What holds the computer awake for as long as it runs, or until its input is closed. */
const HOLDERS: Readonly<Partial<Record<NodeJS.Platform, readonly string[]>>> = {
  linux: ['systemd-inhibit', '--what=idle:sleep', '--who=chasqui', '--why=A model is at work', '--mode=block', 'cat'],
  // It ends with the process that it is told to wait for.
  darwin: ['caffeinate', '-i', '-w', String(process.pid)],
};

export class Awake {
  readonly #isBusy: () => boolean;
  readonly #command: readonly string[] | undefined;
  readonly #timer: NodeJS.Timeout;
  #holder: ChildProcess | null = null;
  #busyAt = 0;
  /** Where the system has no such program, it is not looked for again. */
  #isImpossible: boolean;

  constructor(isBusy: () => boolean, command = HOLDERS[process.platform], checkEveryMs = CHECK_EVERY_MS) {
    this.#isBusy = isBusy;
    this.#command = command;
    this.#isImpossible = command === undefined;
    this.#timer = setInterval(() => this.check(), checkEveryMs);
    this.#timer.unref();
  }

  get isHolding(): boolean {
    return this.#holder !== null;
  }

  check(lingerMs = LINGER_MS): void {
    const now = Date.now();
    if (this.#isBusy()) {
      this.#busyAt = now;
      this.#hold();
    } else if (now - this.#busyAt >= lingerMs) {
      this.#let();
    }
  }

  close(): void {
    clearInterval(this.#timer);
    this.#let();
  }

  #hold(): void {
    if (this.#holder !== null || this.#isImpossible) return;
    const [program = '', ...args] = this.#command ?? [];
    const began = Date.now();
    // The end of this process closes the pipe, however it ends, and that ends the holder.
    const holder = spawn(program, args, { stdio: ['pipe', 'ignore', 'ignore'] });
    holder.unref();
    holder.stdin?.on('error', () => undefined);
    holder.on('error', () => {
      this.#isImpossible = true;
      this.#holder = null;
    });
    holder.on('exit', (code) => {
      if (this.#holder !== holder) return;
      this.#holder = null;
      // One that ends by itself at once is not allowed to, or has nobody to ask.
      if (code !== 0 || Date.now() - began < CHECK_EVERY_MS) this.#isImpossible = true;
    });
    this.#holder = holder;
  }

  #let(): void {
    const holder = this.#holder;
    this.#holder = null;
    holder?.stdin?.end();
    holder?.kill();
  }
}
