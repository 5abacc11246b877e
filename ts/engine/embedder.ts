/** Texts → vectors or scores. */
import { ChasquiError } from '../errors.js';
import type { NativeTokenLists } from '../native/addon.js';
import { checkTokens } from './check-tokens.js';
import type { EngineCore } from './core.js';
import type { Embeddings, ModelInfo, Ranking, TextInput } from './engine.js';
import type { Preparation } from './preparation.js';
import { untilAborted } from './until-aborted.js';

export class Embedder {
  readonly #core: EngineCore;
  readonly #preparation: Preparation;
  readonly #model: ModelInfo;
  /** How many requests may be under way at a time. */
  readonly #most: number;
  #running = 0;
  #lastId = 0;

  constructor(core: EngineCore, preparation: Preparation, model: ModelInfo, most: number) {
    this.#core = core;
    this.#preparation = preparation;
    this.#model = model;
    this.#most = most;
  }

  async embed(inputs: readonly TextInput[], signal?: AbortSignal): Promise<Embeddings> {
    if (this.#model.pooling === 'rank') {
      throw this.#notCapable('ranks documents and makes no embeddings; ask it to rerank instead');
    }
    const { values, promptTokens } = await this.#admitted(async () => {
      const tokenized = await this.#tokenize(inputs, signal);
      return this.#compute(tokenized, 'input', signal);
    });
    return { vectors: slices(values, inputs.length), promptTokens };
  }

  async rank(query: string, documents: readonly string[], signal?: AbortSignal): Promise<Ranking> {
    if (this.#model.pooling !== 'rank') throw this.#notCapable('has no head for ranking documents');
    const { values, promptTokens } = await this.#admitted(async () => {
      const tokenized = await this.#tokenizePairs(query, documents, signal);
      return this.#compute(tokenized, 'documents', signal);
    });
    // A head with several outputs classifies; the first is what llama.cpp ranks by.
    return { scores: slices(values, documents.length).map((scores) => scores[0] ?? 0), promptTokens };
  }

  /** All texts in one call, which ends at the first that is too long. */
  async #tokenize(inputs: readonly TextInput[], signal: AbortSignal | undefined): Promise<Int32Array[]> {
    const places = inputs.flatMap((input, place) => (typeof input === 'string' ? [place] : []));
    const texts = places.map((place) => inputs[place] as string);
    const lists = await this.#lists(texts, (place) => `input[${places[place]}]`, signal);
    const rest = lists.values();
    return inputs.map((input) =>
      typeof input === 'string' ? (rest.next().value as Int32Array) : Int32Array.from(input),
    );
  }

  async #tokenizePairs(
    query: string,
    documents: readonly string[],
    signal: AbortSignal | undefined,
  ): Promise<Int32Array[]> {
    const most = this.#model.embeddingContextLength;
    const pairs = await this.#preparation.run(signal, (owner) =>
      this.#core.tokenizePairs(query, documents, most, owner),
    );
    // A query that leaves no room is not an error of the document that it was read with.
    if (tooLong(pairs, most)) await this.#lists([query], () => 'query', signal);
    return this.#taken(pairs, (place) => `documents[${place}]`);
  }

  async #lists(
    texts: readonly string[],
    nameOf: (place: number) => string,
    signal: AbortSignal | undefined,
  ): Promise<Int32Array[]> {
    if (texts.length === 0) return [];
    const most = this.#model.embeddingContextLength;
    const lists = await this.#preparation.run(signal, (owner) => this.#core.tokenizeInputs(texts, most, owner));
    return this.#taken(lists, nameOf);
  }

  #taken({ tokens, lengths }: NativeTokenLists, nameOf: (place: number) => string): Int32Array[] {
    let end = 0;
    return Array.from(lengths, (length, place) => {
      this.#checkLength(length, nameOf(place));
      end += length;
      return tokens.subarray(end - length, end);
    });
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
    const values = await untilAborted(this.#core.embed(id, joined, lengths), signal, () => this.#core.cancelEmbed(id));
    return { values, promptTokens };
  }

  #check(tokens: Int32Array, param: string): void {
    if (tokens.length === 0) throw new ChasquiError('invalid_value', `\`${param}\` holds no text.`, param);
    this.#checkLength(tokens.length, param);
    checkTokens(tokens, param, this.#model.vocabularySize);
  }

  /** Of a negative length no more is known than that there are at least as many tokens. */
  #checkLength(length: number, param: string): void {
    const most = this.#model.embeddingContextLength;
    if (length >= 0 && length <= most) return;
    const has = length < 0 ? `at least ${-length}` : `${length}`;
    const error = new ChasquiError(
      'context_length_exceeded',
      `\`${param}\` has ${has} tokens, but this model takes at most ${most} at a time. Split or shorten it.`,
      param,
    );
    throw Object.assign(error, { promptTokens: Math.abs(length), contextLength: most });
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

function tooLong({ lengths }: NativeTokenLists, most: number): boolean {
  return lengths.some((length) => length < 0 || length > most);
}
