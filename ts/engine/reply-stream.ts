/** The completion of a library user's request: tokens with their parsed growth, or the whole. */
import { AsyncResource } from 'node:async_hooks';
import { ChasquiError } from '../errors.js';
import type {
  ChatToolCall,
  Finish,
  FinishReason,
  Prefill,
  ReplyDelta,
  Token,
  TokenLogprobs,
  TokenStream,
} from './engine-types.js';
import type { Job } from './job.js';

export interface ToolCallDelta {
  /** Position of the call in `Reply.toolCalls`. */
  index: number;
  /** In the first delta of a call. */
  id?: string;
  name?: string;
  /** A piece of JSON. */
  arguments?: string;
}

export interface ReplyFinish extends Omit<Finish, 'reason'> {
  /** `tool_calls`: the completion stopped and calls tools. */
  reason: FinishReason | 'tool_calls';
}

/** One sampled token, and the parsed text that became known with it, which may include that of earlier tokens. */
export interface ReplyToken extends Omit<Token, 'finish' | 'deltas'> {
  /** Text without reasoning and tool calls; for a `prompt`, all text. */
  text: string;
  /** Text of the model's reasoning. */
  reasoning: string;
  toolCalls: readonly ToolCallDelta[];
  /** On the last token only. */
  finish?: ReplyFinish;
}

/** Most tokens belong to no call. Shared, because a list for each token is a sixth of the JavaScript time of a stream. */
const NO_CALLS: readonly ToolCallDelta[] = Object.freeze([]);

/** A whole completion. */
export interface Reply {
  text: string;
  reasoning: string;
  /** For `toolCalls` of a message of the assistant. */
  toolCalls: ChatToolCall[];
  finish: ReplyFinish;
}

/**
 * The tokens of one completion, to be iterated once. `break`, `return()` and the AbortSignal free the sequence within one
 * engine step. A failure rejects `next()` with a `ChasquiError`, an abort with the signal's reason.
 */
export class ReplyStream implements AsyncIterableIterator<ReplyToken> {
  readonly #tokens: TokenStream;
  readonly #whole: Omit<Reply, 'finish'> = { text: '', reasoning: '', toolCalls: [] };
  #finish: ReplyFinish | undefined;
  /** Whether the engine parses the completion. */
  #isParsed = false;
  #isOver = false;
  #result: Promise<Reply> | undefined;

  /** `job` is the one of `tokens`. */
  constructor(tokens: TokenStream, job: Promise<Pick<Job, 'format'>>) {
    this.#tokens = tokens;
    job.then(
      ({ format }) => {
        this.#isParsed = format !== null;
      },
      // The stream rejects.
      () => {},
    );
  }

  /** `null` before the length of the prompt is known. */
  get prefill(): Prefill | null {
    return this.#tokens.prefill ?? null;
  }

  /** Log-probabilities of the computed prompt tokens except the first; empty without the option `promptLogprobs`. */
  get promptLogprobs(): readonly TokenLogprobs[] {
    return this.#tokens.promptLogprobs ?? [];
  }

  next(): Promise<IteratorResult<ReplyToken>> {
    return this.#tokens.next().then(this.#readResult);
  }

  async return(): Promise<IteratorResult<ReplyToken>> {
    this.#isOver = true;
    await this.#tokens.return();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    if (this.#isOver) throw consumed('The tokens of this completion have been read. `result()` returns all of it.');
    return this;
  }

  /**
   * Calls `take` with all tokens that are ready, within the wake of the engine; resolves at the end. Waits for promises that
   * `take` returns. If it throws or its promise rejects, this promise rejects and the sequence is freed.
   */
  forEachBatch(take: (tokens: ReplyToken[]) => void | Promise<void>): Promise<void> {
    // The engine's wakes belong to no asynchronous context.
    const inContext = AsyncResource.bind(take);
    return this.#tokens.forEachBatch((tokens) => inContext(tokens.map((token) => this.#read(token))));
  }

  /** Reads the rest, and returns the whole text without reasoning and tool calls. */
  async text(): Promise<string> {
    return (await this.result()).text;
  }

  /** Reads the rest, and returns the whole completion. */
  result(): Promise<Reply> {
    this.#result ??= this.#readAll();
    return this.#result;
  }

  async #readAll(): Promise<Reply> {
    while (!(await this.next()).done);
    if (this.#finish === undefined) throw consumed('The completion was left before its end.');
    return { ...this.#whole, finish: this.#finish };
  }

  readonly #readResult = ({ done, value }: IteratorResult<Token>): IteratorResult<ReplyToken> => {
    if (!done) return { done: false, value: this.#read(value) };
    this.#isOver = true;
    return { done, value };
  };

  #read({ id, text, logprobs, deltas, finish }: Token): ReplyToken {
    const read: ReplyToken = { id, text: this.#isParsed ? '' : text, reasoning: '', toolCalls: NO_CALLS };
    if (logprobs !== undefined) read.logprobs = logprobs;
    for (const { content = '', reasoning = '', ...call } of deltas ?? []) {
      read.text += content;
      read.reasoning += reasoning;
      if (call.toolIndex === undefined) continue;
      read.toolCalls = [...read.toolCalls, toCallDelta({ ...call, toolIndex: call.toolIndex })];
    }
    this.#add(read);
    if (finish === undefined) return read;
    const calls = this.#whole.toolCalls.length > 0 && finish.reason === 'stop';
    this.#finish = { ...finish, reason: calls ? 'tool_calls' : finish.reason };
    read.finish = this.#finish;
    return read;
  }

  #add({ text, reasoning, toolCalls }: ReplyToken): void {
    const whole = this.#whole;
    whole.text += text;
    whole.reasoning += reasoning;
    for (const { index, id, name = '', arguments: piece = '' } of toolCalls) {
      whole.toolCalls[index] ??= { name: '', arguments: '' };
      const call = whole.toolCalls[index];
      if (id !== undefined) call.id = id;
      call.name += name;
      call.arguments += piece;
    }
  }
}

function consumed(message: string): ChasquiError {
  return new ChasquiError('stream_consumed', message);
}

function toCallDelta({
  toolIndex,
  toolId,
  toolName,
  toolArguments,
}: ReplyDelta & { toolIndex: number }): ToolCallDelta {
  return {
    index: toolIndex,
    ...(toolId !== undefined && { id: toolId }),
    ...(toolName !== undefined && { name: toolName }),
    ...(toolArguments !== undefined && { arguments: toolArguments }),
  };
}
