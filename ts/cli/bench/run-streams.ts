/** Runs completions that start together, and notes when their tokens come. */
import type { Engine } from '../../engine/engine.js';
import { completeJob } from '../../engine/job.js';

/** What became of one of them; times in milliseconds since all were started. */
export interface StreamTimes {
  firstTokenMs: number;
  lastTokenMs: number;
  /** From the first token to the last, as the engine itself timed it: several may arrive together. */
  decodeMs: number;
  /** Of the prompt's tokens, how many did not have to be computed. */
  cachedTokens: number;
}

export interface StreamsWork {
  prompts: readonly (readonly number[])[];
  /** Of each completion; the end of text does not end it. */
  newTokens: number;
}

/** Rejects with why a completion failed, or with the signal's reason. */
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
