import type { Figures, Subject, Work } from '../work.js';
import { modules, startRounds } from './rounds-program.js';

interface Line {
  promptTokens: number;
  promptSeconds: number;
  decodeTokens: number;
  decodeSeconds: number;
}

/**
 * A loop of llama_decode and argmax in a separate process.
 * @param gpuModule path of ggml's GPU module
 */
export function bareLoop(modelPath: string, threads: number, work: Work, gpuModule?: string): Subject {
  const shape = [work.promptTokens, work.predictTokens, work.streams, threads].map(String);
  const program = startRounds<Line>('bare-loop', [modules, modelPath, ...shape, ...(gpuModule ? [gpuModule] : [])]);
  return {
    name: 'bare loop',
    pid: program.pid,
    run: async () => figuresOfLine(await program.round(), work),
    close: program.close,
  };
}

function figuresOfLine(line: Line, work: Work): Figures {
  return {
    decodeRate: line.decodeTokens / line.decodeSeconds,
    totalRate: (work.predictTokens * work.streams) / (line.promptSeconds + line.decodeSeconds),
    firstTokenMs: 1000 * line.promptSeconds,
  };
}
