import { modelWeights } from '../model-weights.js';
import { startRounds } from './rounds-program.js';

/** In a second, by all threads together. */
interface Line {
  /** Bytes read from memory. */
  bytesRead: number;
  /** Products of bytes that are added up; 0 where the CPU has no instruction for it that is known here. */
  products: number;
}

/** What a machine could do with a model if it did nothing but what cannot be left out, in tokens a second. */
export interface MachineLimits {
  /** One stream: each token reads every weight once. */
  decodeRate: number;
  /** Each token of a prompt multiplies every weight of the layers once. NaN where that cannot be measured. */
  promptRate: number;
}

/** The program machine-limits, in a process of its own. */
export function machineLimits(modelPath: string, threads: number) {
  const { bytesRead, products } = modelWeights(modelPath);
  const program = startRounds<Line>('machine-limits', [String(threads)]);
  return {
    pid: program.pid,
    close: program.close,
    async run(): Promise<MachineLimits> {
      const line = await program.round();
      return {
        decodeRate: line.bytesRead / bytesRead,
        promptRate: line.products > 0 ? line.products / products : Number.NaN,
      };
    },
  };
}
