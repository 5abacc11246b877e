/** The fields that LM Studio adds to completions: speed, stop reason, model and runtime. */
import type { Finish, ModelInfo, TokenStream } from '../../engine/engine.js';
import type { SseEvent } from '../../http/sse.js';
import { architectureOf, quantisationOf } from '../../models/model-facts.js';
import { VERSION } from '../../version.js';
import type { EventEncoder } from '../shared/completion/stream-reply.js';
import type { LmStudioExtras } from './schema.js';

interface Completed {
  choices: readonly { finish_reason: string | null }[];
}

/** The fields describe the choice that ended last. */
export class CompletionStats {
  #finish: Finish | null = null;

  constructor(
    private readonly model: ModelInfo,
    streams: readonly TokenStream[],
  ) {
    for (const stream of streams) {
      stream.observe((tokens) => {
        this.#finish = tokens.at(-1)?.finish ?? this.#finish;
      });
    }
  }

  /** Adds the fields to a whole reply. */
  extend<Reply extends Completed>(reply: Reply): Reply {
    const ended = reply.choices.find(({ finish_reason: reason }) => reason !== null);
    return ended && this.#finish ? { ...reply, ...this.#extras(this.#finish, ended.finish_reason) } : reply;
  }

  /** Adds the fields to the chunks that end a choice. */
  extendChunks(chunks: EventEncoder): EventEncoder {
    return {
      encode: (batch) => {
        const encoded = chunks.encode(batch);
        return batch.tokens.at(-1)?.finish ? encoded.map((event) => this.#extendChunk(event)) : encoded;
      },
      progress: chunks.progress,
      end: () => chunks.end(),
      fail: (body) => chunks.fail(body),
    };
  }

  /** Chunks of OpenAI's protocol have no names. */
  #extendChunk(event: SseEvent): SseEvent {
    return typeof event === 'string' ? JSON.stringify(this.extend(JSON.parse(event) as Completed)) : event;
  }

  #extras(finish: Finish, reason: string | null): LmStudioExtras {
    const { queuedMs, promptMs, predictedMs } = finish.timings;
    const counted = finish.completionTokens - 1;
    return {
      stats: {
        // The time begins with the first token.
        tokens_per_second: counted > 0 && predictedMs > 0 ? (1000 * counted) / predictedMs : null,
        time_to_first_token: (queuedMs + promptMs) / 1000,
        generation_time: predictedMs / 1000,
        stop_reason: this.#stopReason(finish, reason),
      },
      model_info: {
        arch: architectureOf(this.model),
        quant: quantisationOf(this.model),
        format: 'gguf',
        context_length: this.model.contextLength,
      },
      runtime: { name: 'chasqui', version: VERSION, supported_formats: ['gguf'] },
    };
  }

  #stopReason(finish: Finish, reason: string | null): LmStudioExtras['stats']['stop_reason'] {
    if (reason === 'tool_calls') return 'toolCalls';
    if (finish.reason === 'stop') return finish.stopString === null ? 'eosFound' : 'stopStringFound';
    const isFull = finish.promptTokens + finish.completionTokens >= this.model.contextLength;
    return isFull ? 'contextLengthReached' : 'maxPredictedTokensReached';
  }
}
