/** Converts the tokens of one completion to OpenAI's deltas. */
import type { Finish, FinishReason, ReplyDelta, Token } from '../../../engine/engine.js';
import { ChasquiError } from '../../../errors.js';
import { isComplete } from './call-arguments.js';
import type { LogprobEntry } from './chat-reply-schema.js';
import { LogprobQueue, ReturnedTokens, toLogprobEntry } from './logprobs.js';

/** A piece of a tool call. The first piece has its id and name. Later ones continue its arguments. */
export interface CallDelta {
  /** Index of the call within the completion. */
  index: number;
  id?: string;
  type?: 'function';
  function: { name?: string; arguments: string };
}

/** Fields are in the order of the model's output. */
export interface CompletionDelta {
  reasoning_content?: string;
  content?: string;
  /** Entries of the content's tokens, if the request asked for them. */
  logprobs?: LogprobEntry[];
  tool_calls?: CallDelta[];
}

const NO_DELTAS: readonly ReplyDelta[] = [];

/** Reads one completion: the parsed deltas if its job has a format, otherwise its text. */
export class CompletionReader {
  /** Only `read` sets it. */
  ended = false;
  readonly #parsed: boolean;
  /** Created for the first token with log-probabilities, for parsed content and for text. */
  #logprobs: LogprobQueue | null = null;
  #returned: ReturnedTokens | null = null;
  /** Entries of text that has not been sent. */
  readonly #entries: LogprobEntry[] = [];
  /** The arguments of each call so far, as JSON. */
  readonly #arguments: string[] = [];
  #finish: Finish | null = null;

  constructor(parsed = false) {
    this.#parsed = parsed;
  }

  /** Throws if the completion has not ended. */
  get finish(): Finish {
    if (!this.#finish) throw new ChasquiError('internal_error', 'The completion ended without a reason.');
    return this.#finish;
  }

  /** `tool_calls` only if all calls are complete. */
  get finishReason(): FinishReason | 'tool_calls' {
    const { reason } = this.finish;
    const calls = this.#arguments;
    return reason === 'stop' && calls.length > 0 && calls.every(isComplete) ? 'tool_calls' : reason;
  }

  /** Number of tokens in the reasoning, including its end mark; `null` for completions without a format. */
  get reasoningTokens(): number | null {
    return this.#finish?.reasoningTokens ?? null;
  }

  read(tokens: readonly Token[]): CompletionDelta[] {
    const deltas: CompletionDelta[] = [];
    for (const token of tokens) {
      if (token.logprobs) this.#addLogprobs(token);
      if (!this.#parsed && token.text !== '') {
        const content = { content: token.text };
        deltas.push(this.#returned === null ? content : withLogprobs(content, this.#entries.splice(0)));
      }
      for (const parsed of (this.#parsed && token.deltas) || NO_DELTAS) {
        const delta = this.#toCompletionDelta(parsed);
        if (delta !== null) deltas.push(delta);
      }
      if (token.finish === undefined) continue;
      this.#finish = token.finish;
      this.ended = true;
    }
    return deltas;
  }

  /** Call this after the last token: returns the entries of tokens without text, except those of a stop string. */
  takeLogprobs(): LogprobEntry[] {
    return this.#entries.splice(0);
  }

  #addLogprobs(token: Token): void {
    if (this.#parsed) {
      this.#logprobs ??= new LogprobQueue();
      this.#logprobs.add(token);
      return;
    }
    this.#returned ??= new ReturnedTokens();
    for (const returned of this.#returned.add(token)) {
      const entry = toLogprobEntry(returned);
      if (entry !== null) this.#entries.push(entry);
    }
  }

  /** Null for a delta that adds nothing. */
  #toCompletionDelta(delta: ReplyDelta): CompletionDelta | null {
    if (delta.toolIndex !== undefined) {
      this.#arguments[delta.toolIndex] = (this.#arguments[delta.toolIndex] ?? '') + (delta.toolArguments ?? '');
      return { tool_calls: [toCallDelta(delta, delta.toolIndex)] };
    }
    const { reasoning, content } = delta;
    if (content === undefined) return reasoning === undefined ? null : { reasoning_content: reasoning };
    const result = reasoning === undefined ? { content } : { reasoning_content: reasoning, content };
    return this.#logprobs === null ? result : withLogprobs(result, this.#logprobs.takeFor(content));
  }
}

function withLogprobs(delta: CompletionDelta, logprobs: LogprobEntry[]): CompletionDelta {
  return logprobs.length === 0 ? delta : { ...delta, logprobs };
}

function toCallDelta({ toolId, toolName, toolArguments = '' }: ReplyDelta, index: number): CallDelta {
  if (toolName === undefined) return { index, function: { arguments: toolArguments } };
  return { index, id: toolId ?? '', type: 'function', function: { name: toolName, arguments: toolArguments } };
}
