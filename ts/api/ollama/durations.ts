/** What the engine measured → Ollama's counts and times, which are whole nanoseconds. */
import type { Finish } from '../../engine/engine.js';
import type { OllamaEnding } from './ollama-reply-schema.js';

/** When a request arrived and when its model was there, in milliseconds since 1970. */
export interface RequestTimes {
  arrivedAt: number;
  loadedAt: number;
}

const NS_PER_MS = 1e6;

export function toNanoseconds(ms: number): number {
  return Math.round(Math.max(ms, 0) * NS_PER_MS);
}

export function toEnding({ arrivedAt, loadedAt }: RequestTimes, finish: Finish): OllamaEnding {
  const { promptMs, predictedMs } = finish.timings;
  return {
    done_reason: finish.reason,
    total_duration: toNanoseconds(Date.now() - arrivedAt),
    load_duration: toNanoseconds(loadedAt - arrivedAt),
    prompt_eval_count: finish.promptTokens,
    prompt_eval_duration: toNanoseconds(promptMs),
    eval_count: finish.completionTokens,
    eval_duration: toNanoseconds(predictedMs),
  };
}
