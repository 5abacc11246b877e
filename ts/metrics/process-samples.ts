/** Samples about this process, and the delay of its event loop. */
import { readdirSync, readFileSync } from 'node:fs';
import process from 'node:process';
import { ownResidentBytes } from '../process/process-usage.js';
import type { MetricName } from './catalogue.js';
import type { CurrentSamples, Histogram } from './registry.js';

/** Counting thousands of descriptors takes too long for each of twenty scrapes a second, so the count is kept. */
const MAX_DESCRIPTORS_AGE_MS = 1000;
const LAG_INTERVAL_MS = 100;

export class ProcessSamples {
  readonly #startedAt = Date.now() / 1000 - process.uptime();
  readonly #maxDescriptors = maxDescriptors();
  #descriptors: number | null = null;
  #countedAt = Number.NEGATIVE_INFINITY;

  addTo(current: CurrentSamples): void {
    const add = (name: MetricName, value: number | null): void => {
      if (value !== null) current.set(name, [{ labels: {}, value }]);
    };
    const { user, system } = process.cpuUsage();
    add('process_cpu_seconds_total', (user + system) / 1e6);
    add('process_resident_memory_bytes', ownResidentBytes());
    add('process_start_time_seconds', this.#startedAt);
    add('process_open_fds', this.#openDescriptors());
    add('process_max_fds', this.#maxDescriptors);
  }

  #openDescriptors(): number | null {
    const now = performance.now();
    if (now - this.#countedAt < MAX_DESCRIPTORS_AGE_MS) return this.#descriptors;
    this.#countedAt = now;
    this.#descriptors = countDescriptors();
    return this.#descriptors;
  }
}

/** Observes how late a timer fires, until the returned function is called. The timer does not keep the process alive. */
export function watchEventLoop(lag: Histogram): () => void {
  let due = performance.now() + LAG_INTERVAL_MS;
  const timer = setInterval(() => {
    const now = performance.now();
    lag.observe(Math.max(0, now - due) / 1000);
    due = now + LAG_INTERVAL_MS;
  }, LAG_INTERVAL_MS);
  timer.unref();
  return () => clearInterval(timer);
}

/** `null` where the system has no such folder, or no descriptor is left to open it with. */
function countDescriptors(): number | null {
  try {
    return readdirSync('/proc/self/fd').length;
  } catch {
    return null;
  }
}

function maxDescriptors(): number | null {
  try {
    const [, soft = ''] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return soft === '' ? null : Number(soft);
  } catch {
    return null;
  }
}
