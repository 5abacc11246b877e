/** Measures how many bytes per second all cores together read from main memory, in a fraction of a second. */
import { once } from 'node:events';
import os from 'node:os';
import { Worker } from 'node:worker_threads';
import { availableMemory } from '../process/process-usage.js';
import type { SettingsStore } from './store/settings.js';

/** More than the caches of most CPUs hold. */
const READ_BYTES = 2 ** 28;
/** A few threads saturate the memory. */
const MAX_THREADS = 8;
const LIMIT_MS = 10_000;

/** Measured once per computer, because the data folder may move to another one. */
export async function keptBandwidth(settings: SettingsStore): Promise<number | null> {
  const cpu = `${os.cpus()[0]?.model} × ${os.availableParallelism()}`;
  const kept = settings.kept('bandwidth') as { cpu: string; bytesPerSecond: number } | undefined;
  if (kept?.cpu === cpu) return kept.bytesPerSecond;
  const bytesPerSecond = await measureBandwidth();
  if (bytesPerSecond !== null) settings.keep('bandwidth', { cpu, bytesPerSecond });
  return bytesPerSecond;
}

/** `null` if memory is scarce, or if it takes too long. */
export async function measureBandwidth(): Promise<number | null> {
  if (availableMemory() < READ_BYTES * 4) return null;
  const threads = Math.min(os.availableParallelism(), MAX_THREADS);
  const workerData = { ready: new Int32Array(new SharedArrayBuffer(4)), threads, bytes: READ_BYTES / threads };
  const file = new URL('./memory-bandwidth-worker.mjs', import.meta.url);
  const workers = Array.from({ length: threads }, () => new Worker(file, { workerData, execArgv: [] }));
  // Errors after the first one must not end the process.
  for (const worker of workers) worker.on('error', () => undefined);
  try {
    const signal = AbortSignal.timeout(LIMIT_MS);
    const rates = await Promise.all(workers.map((worker) => once(worker, 'message', { signal })));
    return Math.round(rates.reduce((sum, [rate]) => sum + rate, 0));
  } catch {
    return null;
  } finally {
    await Promise.all(workers.map((worker) => worker.terminate()));
  }
}
