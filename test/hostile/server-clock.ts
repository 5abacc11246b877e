import { readFileSync } from 'node:fs';
import { statFields } from '../support/process-tree.js';

const SAMPLE_MS = 100;
const MS_PER_TICK = 10;

/** CPU time of a server and of its child processes, sampled every 100 ms. Stands still where there is no /proc. */
export class ServerClock {
  readonly #pid: number;
  readonly #timer: NodeJS.Timeout;
  #cpuMs = 0;

  constructor(pid: number) {
    this.#pid = pid;
    this.#timer = setInterval(() => this.#sample(), SAMPLE_MS);
    this.#timer.unref();
  }

  get cpuMs(): number {
    return this.#cpuMs;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #sample(): void {
    try {
      const children = readFileSync(`/proc/${this.#pid}/task/${this.#pid}/children`, 'utf8').trim();
      // For the server, includes cutime and cstime: the CPU time of ended children.
      const ticks = [...children.split(' ').filter(Boolean).map(Number), this.#pid].map((pid) => {
        const [user, system, ofChildren, systemOfChildren] = statFields(pid).slice(11, 15).map(Number);
        const own = (user ?? 0) + (system ?? 0);
        return pid === this.#pid ? own + (ofChildren ?? 0) + (systemOfChildren ?? 0) : own;
      });
      const sum = ticks.reduce((a, b) => a + b, 0) * MS_PER_TICK;
      this.#cpuMs = Math.max(this.#cpuMs, sum);
    } catch {
      // A process has ended meanwhile: the next sample counts it.
    }
  }
}
