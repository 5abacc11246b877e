/** Texts → vectors or scores. */
import { ChasquiError } from '../errors.js';
import type { NativeEngine } from '../native/addon.js';
import { checkTokens } from './check-tokens.js';
import type { Embeddings, ModelInfo, Ranking, TextInput } from './engine.js';

export class Embedder {
  readonly #native: NativeEngine;
  readonly #model: ModelInfo;
  /** How many requests may be under way at a time. */
  readonly #most: number;
  #running = 0;
  #lastId = 0;

  constructor(native: NativeEngine, model: ModelInfo, most: number) {
    this.#native = native;
    this.#model = model;
    this.#most = most;
  }

  async embed(inputs: readonly TextInput[], signal?: AbortSignal): Promise<Embeddings> {
    if (this.#model.pooling === 'rank') {
      throw this.#notCapable('ranks documents and makes no embeddings; ask it at `/v1/rerank`');
    }
    const { values, promptTokens } = await this.#admitted(async () => {
      const tokenized = await Promise.all(inputs.map((input) => this.#tokenize(input)));
      return this.#compute(tokenized, 'input', signal);
    });
    return { vectors: slices(values, inputs.length), promptTokens };
  }

  async rank(query: string, documents: readonly string[], signal?: AbortSignal): Promise<Ranking> {
    if (this.#model.pooling !== 'rank') throw this.#notCapable('has no head for ranking documents');
    const { values, promptTokens } = await this.#admitted(async () => {
      const tokenized = await Promise.all(documents.map((document) => this.#native.tokenizePair(query, document)));
      return this.#compute(tokenized, 'documents', signal);
    });
    // A head with several outputs classifies; the first is what llama.cpp ranks by.
    return { scores: slices(values, documents.length).map((scores) => scores[0] ?? 0), promptTokens };
  }

  async #tokenize(input: TextInput): Promise<Int32Array> {
    return typeof input === 'string' ? this.#native.tokenize(input, true, true) : Int32Array.from(input);
  }

  async #admitted<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#most) {
      const error = new ChasquiError(
        'queue_full',
        `${this.#running} requests for embeddings are waiting. Try again later.`,
      );
      error.retryAfterSeconds = 1;
      throw error;
    }
    this.#running += 1;
    try {
      return await work();
    } finally {
      this.#running -= 1;
    }
  }

  async #compute(inputs: readonly Int32Array[], name: string, signal: AbortSignal | undefined) {
    signal?.throwIfAborted();
    for (const [index, tokens] of inputs.entries()) this.#check(tokens, `${name}[${index}]`);
    const lengths = Int32Array.from(inputs, (tokens) => tokens.length);
    const promptTokens = lengths.reduce((sum, length) => sum + length, 0);
    if (inputs.length === 0) return { values: new Float32Array(0), promptTokens };
    const joined = new Int32Array(promptTokens);
    let at = 0;
    for (const tokens of inputs) {
      joined.set(tokens, at);
      at += tokens.length;
    }
    this.#lastId = (this.#lastId + 1) % 2 ** 31;
    const id = this.#lastId;
    const values = await untilAborted(this.#native.embed(id, joined, lengths), signal, () =>
      this.#native.cancelEmbed(id),
    );
    return { values, promptTokens };
  }

  #check(tokens: Int32Array, param: string): void {
    if (tokens.length === 0) throw new ChasquiError('invalid_value', `\`${param}\` holds no text.`, param);
    const most = this.#model.embeddingContextLength;
    if (tokens.length > most) {
      throw new ChasquiError(
        'context_length_exceeded',
        `\`${param}\` has ${tokens.length} tokens, but this model takes at most ${most} at a time. Split or shorten it.`,
        param,
      );
    }
    checkTokens(tokens, param, this.#model.vocabularySize);
  }

  #notCapable(why: string): ChasquiError {
    return new ChasquiError('model_not_capable', `The model \`${this.#model.id}\` ${why}.`);
  }
}

/** Equal parts of `values`. */
function slices(values: Float32Array, count: number): Float32Array[] {
  const length = values.length / count;
  return Array.from({ length: count }, (_, index) => values.subarray(index * length, (index + 1) * length));
}

/** Rejects with the signal's reason as soon as it is aborted, whether or not `work` ever settles. */
function untilAborted<T>(work: Promise<T>, signal: AbortSignal | undefined, onAbort: () => void): Promise<T> {
  if (!signal) return work;
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      onAbort();
      reject(signal.reason);
    };
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
