/** Notices that a process gives no sign of life. */
import { readdirSync, readFileSync } from 'node:fs';

/** On a busy machine a process gets the time on top that it waits for a processor, up to this many times the limit. */
const BUSY_FACTOR = 6;
const LOOK_MS = 1000;
/** More time than this is not counted from look to look: the machine, or both processes, were suspended. */
const MAX_PER_LOOK_MS = 2 * LOOK_MS;

export class HangWatch {
  readonly #pid: number | undefined;
  readonly #onHang: (limitMs: number) => void;
  #timer: NodeJS.Timeout | undefined;

  /** `onHang` is given the limit, in milliseconds, that the last `expectSign` set. */
  constructor(pid: number | undefined, onHang: (limitMs: number) => void) {
    this.#pid = pid;
    this.#onHang = onHang;
  }

  /** A sign has come; the next is due within `limitMs`. */
  expectSign(limitMs: number): void {
    this.stop();
    const waitedBefore = waitedForProcessor(this.#pid);
    let last = performance.now();
    let passed = 0;
    const lookIn = (leftMs: number) => {
      this.#timer = setTimeout(look, Math.min(leftMs, LOOK_MS));
    };
    const look = () => {
      const now = performance.now();
      passed += Math.min(now - last, MAX_PER_LOOK_MS);
      last = now;
      if (passed < limitMs) return lookIn(limitMs - passed);
      const waited = waitedForProcessor(this.#pid) - waitedBefore;
      const left = Math.min(limitMs + waited, BUSY_FACTOR * limitMs) - passed;
      if (left > 0) lookIn(left);
      else this.#onHang(limitMs);
    };
    lookIn(limitMs);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}

/** Of its threads the longest time in which one was ready to run and did not, in milliseconds; 0 where it is not known. */
function waitedForProcessor(pid: number | undefined): number {
  const tasks = `/proc/${pid}/task`;
  return Math.max(0, ...list(tasks).map((task) => runDelay(`${tasks}/${task}/schedstat`)));
}

/** Only Linux has the folder, and a process may end while it is read. */
function list(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

/** The file holds nanoseconds spent running, nanoseconds ready to run, and how often it ran. */
function runDelay(file: string): number {
  try {
    return Number(readFileSync(file, 'utf8').split(' ')[1] ?? 0) / 1e6;
  } catch {
    return 0;
  }
}
