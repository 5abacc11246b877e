/** Measures something several times with tinybench. */
import { Bench } from 'tinybench';

/** Tokens per second; samples are from the least to the greatest. */
export interface Rate {
  tokens: number;
  mean: number;
  deviation: number;
  samplesMs: readonly number[];
}

/**
 * @param run does it once, and resolves with how long the part took that counts, in milliseconds
 * Rejects as `run` does.
 */
export async function repeat(tokens: number, times: number, run: () => Promise<number>): Promise<Rate> {
  const bench = new Bench({ iterations: times, time: 0, warmup: false, retainSamples: true, throws: true });
  bench.add('run', async () => ({ overriddenDuration: await run() }), { async: true });
  const [task] = await bench.run();
  const result = task?.result;
  if (result?.state !== 'completed') throw new Error(`it was not measured: ${result?.state}`);
  const { latency, throughput } = result;
  // Of a single sample there is no deviation.
  const deviation = latency.samplesCount > 1 ? tokens * throughput.sd : 0;
  return { tokens, mean: tokens * throughput.mean, deviation, samplesMs: [...(latency.samples ?? [])] };
}
