/** A request's `n` answers: one job each. The prompt is computed once, because the prefix cache sees that it is shared. */
import type { Engine, RenderedPrompt, ReplyParser, Token, TokenStream } from '../engine/engine.js';
import type { Job } from '../engine/job.js';

/** What one choice brought since it was last heard of. */
export interface ChoiceBatch {
  index: number;
  tokens: readonly Token[];
}

/** Submits the job `n` times; a given seed counts up from choice to choice. */
export function submitChoices(engine: Engine, job: Job, n: number, signal: AbortSignal): TokenStream[] {
  const { seed } = job.sampling;
  return Array.from({ length: n }, (_, index) => {
    const ownSeed = seed === null ? null : (seed + index) >>> 0;
    return engine.submit({ ...job, sampling: { ...job.sampling, seed: ownSeed } }, { signal });
  });
}

/** One for each choice; `undefined` when answers are their text. */
export function openParsers(engine: Engine, { format }: RenderedPrompt, n: number): ReplyParser[] | undefined {
  if (format === null) return undefined;
  return Array.from({ length: n }, () => engine.openParser(format));
}

/** The batches of all streams as they come. When one fails, or the reader leaves, the others are cancelled. */
export function choiceBatches(streams: readonly TokenStream[]): AsyncGenerator<ChoiceBatch, void, void> {
  const [only] = streams;
  return only !== undefined && streams.length === 1 ? batchesOf(only) : mergedBatches(streams);
}

/** Nearly all requests ask for one choice, and every token passes here: nothing to race for. */
async function* batchesOf(stream: TokenStream): AsyncGenerator<ChoiceBatch, void, void> {
  for await (const tokens of stream.batches()) yield { index: 0, tokens };
}

async function* mergedBatches(streams: readonly TokenStream[]): AsyncGenerator<ChoiceBatch, void, void> {
  const iterators = streams.map((stream) => stream.batches());
  const pending = new Map(iterators.map((iterator, index) => [index, arrival(iterator, index)]));
  try {
    while (pending.size > 0) {
      const { index, result } = await Promise.race(pending.values());
      if (result.done) {
        pending.delete(index);
        continue;
      }
      pending.set(index, arrival(iterators[index] as AsyncIterator<Token[]>, index));
      yield { index, tokens: result.value };
    }
  } finally {
    for (const lost of pending.values()) lost.catch(() => {});
    await Promise.all(iterators.map((iterator) => iterator.return?.()));
  }
}

async function arrival(iterator: AsyncIterator<Token[]>, index: number) {
  return { index, result: await iterator.next() };
}
