/** The series of one model that requests update. They are looked up once, because some are updated with every step. */
import type { Finish, FinishReason } from '../engine/engine.js';
import type { MetricName } from './catalogue.js';
import type { Registry } from './registry.js';
import type { Counter, Histogram } from './series.js';

/** Why a completion ended. */
export type FinishedReason = FinishReason | 'abort' | 'error';

export class ModelSeries {
  readonly promptTokens: Counter;
  readonly generatedTokens: Counter;
  readonly cacheQueries: Counter;
  readonly cacheHits: Counter;
  readonly firstToken: Histogram;
  readonly betweenTokens: Histogram;
  readonly prefill: Histogram;
  readonly decode: Histogram;
  readonly whole: Histogram;
  /** The most tokens that a prompt and its completion had together so far. */
  longestSequence = 0;
  readonly #perToken: Histogram;
  readonly #queue: Histogram;
  readonly #inference: Histogram;
  readonly #promptLength: Histogram;
  readonly #completionLength: Histogram;
  readonly #ended: Record<FinishedReason, Counter>;

  constructor(registry: Registry<MetricName>, model: string) {
    this.promptTokens = registry.counter('prompt_tokens_total', model);
    this.generatedTokens = registry.counter('generation_tokens_total', model);
    this.cacheQueries = registry.counter('prefix_cache_queries_total', model);
    this.cacheHits = registry.counter('prefix_cache_hits_total', model);
    this.firstToken = registry.histogram('time_to_first_token_seconds', model);
    this.betweenTokens = registry.histogram('inter_token_latency_seconds', model);
    this.prefill = registry.histogram('request_prefill_time_seconds', model);
    this.decode = registry.histogram('request_decode_time_seconds', model);
    this.whole = registry.histogram('e2e_request_latency_seconds', model);
    this.#perToken = registry.histogram('request_time_per_output_token_seconds', model);
    this.#queue = registry.histogram('request_queue_time_seconds', model);
    this.#inference = registry.histogram('request_inference_time_seconds', model);
    this.#promptLength = registry.histogram('request_prompt_tokens', model);
    this.#completionLength = registry.histogram('request_generation_tokens', model);
    const ended = (reason: FinishedReason) => registry.counter('request_success_total', model, reason);
    this.#ended = { stop: ended('stop'), length: ended('length'), abort: ended('abort'), error: ended('error') };
    registry.counter('engine_restarts_total', model);
    registry.counter('preparation_restarts_total', model);
  }

  /** Call this when a completion reached its end. */
  finished({ reason, promptTokens, cachedTokens, completionTokens, timings }: Finish): void {
    const { queuedMs, promptMs, predictedMs } = timings;
    this.#ended[reason].add();
    this.cacheQueries.add(promptTokens);
    this.cacheHits.add(cachedTokens);
    this.#queue.observe(queuedMs / 1000);
    this.prefill.observe(promptMs / 1000);
    this.decode.observe(predictedMs / 1000);
    this.#inference.observe((promptMs + predictedMs) / 1000);
    if (completionTokens > 1) this.#perToken.observe(predictedMs / 1000 / (completionTokens - 1));
    this.#promptLength.observe(promptTokens);
    this.#completionLength.observe(completionTokens);
    this.longestSequence = Math.max(this.longestSequence, promptTokens + completionTokens);
  }

  /** Call this for completions that did not reach their end. */
  unfinished(count: number, reason: 'abort' | 'error'): void {
    this.#ended[reason].add(count);
  }
}
