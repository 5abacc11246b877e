/** Repeats a benchmark run with tinybench. */
import { Bench } from 'tinybench';

/** Tokens per second; samples in ascending order. */
export interface Rate {
  tokens: number;
  mean: number;
  deviation: number;
  samplesMs: readonly number[];
}

/**
 * Rejects with the error of `run`.
 * @param run performs one run, and resolves with the duration of its measured part in milliseconds
 */
export async function repeat(tokens: number, times: number, run: () => Promise<number>): Promise<Rate> {
  const bench = new Bench({ iterations: times, time: 0, warmup: false, retainSamples: true, throws: true });
  bench.add('run', async () => ({ overriddenDuration: await run() }), { async: true });
  const [task] = await bench.run();
  const result = task?.result;
  if (result?.state !== 'completed') throw new Error(`the benchmark did not complete: ${result?.state}`);
  const { latency, throughput } = result;
  // A single sample has no deviation.
  const deviation = latency.samplesCount > 1 ? tokens * throughput.sd : 0;
  return { tokens, mean: tokens * throughput.mean, deviation, samplesMs: [...(latency.samples ?? [])] };
}
