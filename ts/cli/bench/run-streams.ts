/** Runs completions that start together, and records the arrival times of their tokens. */
import type { Engine } from '../../engine/engine.js';
import { completeJob } from '../../engine/job.js';

/** Result of one completion; times in milliseconds since the common start. */
export interface StreamTimes {
  firstTokenMs: number;
  lastTokenMs: number;
  /** From the first token to the last, timed by the engine, because several tokens can arrive together. */
  decodeMs: number;
  /** Number of prompt tokens reused from the cache. */
  cachedTokens: number;
}

export interface StreamsWork {
  prompts: readonly (readonly number[])[];
  /** Tokens per completion; end-of-text tokens are ignored. */
  newTokens: number;
}

/** Rejects with the error of a completion, or with the signal's reason. */
export function runStreams(engine: Engine, work: StreamsWork, signal: AbortSignal): Promise<StreamTimes[]> {
  const start = performance.now();
  return Promise.all(work.prompts.map((prompt) => runStream(engine, prompt, work.newTokens, { start, signal })));
}

async function runStream(
  engine: Engine,
  prompt: readonly number[],
  maxTokens: number,
  { start, signal }: { start: number; signal: AbortSignal },
): Promise<StreamTimes> {
  const times: StreamTimes = { firstTokenMs: 0, lastTokenMs: 0, decodeMs: 0, cachedTokens: 0 };
  const job = completeJob({ prompt, maxTokens, ignoreEos: true, temperature: 0 });
  await engine.submit(job, { signal }).forEachBatch((tokens) => {
    times.lastTokenMs = performance.now() - start;
    times.firstTokenMs ||= times.lastTokenMs;
    const finish = tokens.at(-1)?.finish;
    times.cachedTokens = finish?.cachedTokens ?? 0;
    times.decodeMs = finish?.timings.predictedMs ?? 0;
  });
  return times;
}
