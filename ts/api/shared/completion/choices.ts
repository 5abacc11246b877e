/**
 * A request's `n` choices: one job each. The prompt is computed once, because the prefix cache sees that it is shared.
 */
import type { Engine, Siblings, SubmitOptions, Token, TokenStream } from '../../../engine/engine.js';
import type { Job } from '../../../engine/job.js';

/** The tokens that arrived for one choice in one wake of the engine. */
export interface ChoiceBatch {
  index: number;
  tokens: readonly Token[];
}

/** Submits the job `n` times; a given seed counts up from choice to choice. */
export function submitChoices(
  engine: Engine,
  job: Job,
  n: number,
  options: Pick<SubmitOptions, 'signal' | 'whole'>,
): TokenStream[] {
  const { seed } = job.sampling;
  const siblings: Siblings = { count: n };
  return Array.from({ length: n }, (_, index) => {
    const ownSeed = seed === null ? null : (seed + index) >>> 0;
    return engine.submit({ ...job, sampling: { ...job.sampling, seed: ownSeed } }, { ...options, siblings });
  });
}

/**
 * Calls `take` with the batches of all streams as they come; resolves when all have ended. While the promise that
 * `take` returned is pending, that choice delivers no further batch. When one choice fails, or `take` does, all are
 * cancelled.
 */
export async function forEachChoice(
  streams: readonly TokenStream[],
  take: (batch: ChoiceBatch) => void | Promise<void>,
): Promise<void> {
  try {
    await Promise.all(streams.map((stream, index) => stream.forEachBatch((tokens) => take({ index, tokens }))));
  } catch (reason) {
    await Promise.all(streams.map((stream) => stream.return()));
    throw reason;
  }
}
