/** Prevents idle sleep while the computer computes or downloads. */
import { type ChildProcess, spawn } from 'node:child_process';

const CHECK_EVERY_MS = 2000;
/** Keeps the inhibitor between two requests of a conversation. */
const LINGER_MS = 30_000;

/** Commands that inhibit sleep until they end or their input is closed. */
const HOLDERS: Readonly<Partial<Record<NodeJS.Platform, readonly string[]>>> = {
  linux: ['systemd-inhibit', '--what=idle:sleep', '--who=chasqui', '--why=A model is at work', '--mode=block', 'cat'],
  // Ends with this process.
  darwin: ['caffeinate', '-i', '-w', String(process.pid)],
};

export class Awake {
  readonly #command: readonly string[] | undefined;
  readonly #timer: NodeJS.Timeout;
  #holder: ChildProcess | null = null;
  #busyAt = 0;
  /** True after the first failure: the system has no such program. */
  #isImpossible: boolean;

  constructor(
    private readonly isBusy: () => boolean,
    command = HOLDERS[process.platform],
    checkEveryMs = CHECK_EVERY_MS,
  ) {
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
    if (this.isBusy()) {
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
    // The pipe closes when this process ends in any way, which ends the inhibitor.
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
      // An inhibitor that exits at once lacks permission or a session.
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
