import { modelWeights } from '../model-weights.js';
import { startRounds } from './rounds-program.js';

/** Totals per second over all threads. */
interface Line {
  bytesRead: number;
  /** Multiply-accumulate operations on bytes; 0 if this CPU has no supported instruction. */
  products: number;
}

/** Upper limits of this machine for a model, in tokens per second. */
export interface MachineLimits {
  /** One stream, where each token reads every weight once. */
  decodeRate: number;
  /** Prompts, where each token multiplies every weight of the layers once. NaN if it cannot be measured. */
  promptRate: number;
}

/** Runs the program machine-limits. */
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
