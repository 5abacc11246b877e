/** Detects that a process gives no sign of life. */
import { readdirSync, readFileSync } from 'node:fs';

/** The time that the process waits for a CPU is added to the limit, up to this multiple of it. */
const BUSY_FACTOR = 6;
const LOOK_MS = 1000;
/** A longer time between looks counts as this: the machine or the processes were suspended. */
const MAX_PER_LOOK_MS = 2 * LOOK_MS;

export class HangWatch {
  #timer: NodeJS.Timeout | undefined;

  /** `onHang` gets the limit of the last `expectSign`, in milliseconds. */
  constructor(
    private readonly pid: number | undefined,
    private readonly onHang: (limitMs: number) => void,
  ) {}

  /** A sign has come; the next is due within `limitMs`. */
  expectSign(limitMs: number): void {
    this.stop();
    const waitedBefore = waitedForProcessor(this.pid);
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
      const waited = waitedForProcessor(this.pid) - waitedBefore;
      const left = Math.min(limitMs + waited, BUSY_FACTOR * limitMs) - passed;
      if (left > 0) lookIn(left);
      else this.onHang(limitMs);
    };
    lookIn(limitMs);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}

/** The longest run delay among the threads, in milliseconds; 0: unknown. */
function waitedForProcessor(pid: number | undefined): number {
  const tasks = `/proc/${pid}/task`;
  return Math.max(0, ...list(tasks).map((task) => runDelay(`${tasks}/${task}/schedstat`)));
}

/** Linux only; and the process may end meanwhile. */
function list(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

/** Fields: nanoseconds on a CPU, nanoseconds of run delay, number of time slices. */
function runDelay(file: string): number {
  try {
    return Number(readFileSync(file, 'utf8').split(' ')[1] ?? 0) / 1e6;
  } catch {
    return 0;
  }
}
