/** One completion of a chat: reads the stream of the app's own endpoint, and passes the text on to its followers. */

import type {
  ChatMessage,
  ChatStats,
  CompletionEnd,
  CompletionError,
  CompletionEvent,
  UsedPassages,
} from './api-types.js';
import { type CallDelta, joinCalls } from './chat-tools.js';

/** Sends a request to the app's endpoint for chat completions. */
export type RequestCompletion = (
  body: object,
  signal: AbortSignal,
) => Promise<{ statusCode: number; body: AsyncIterable<Uint8Array> }>;

export type Follower = (event: CompletionEvent) => void;

interface Chunk {
  choices?: {
    delta?: { content?: string | null; reasoning_content?: string; tool_calls?: CallDelta[] };
    finish_reason?: string | null;
  }[];
  usage?: {
    prompt_tokens: number;
    completion_tokens: number;
    prompt_tokens_details?: { cached_tokens: number };
  } | null;
  timings?: { predicted_per_second: number | null };
  error?: CompletionError;
}

const NO_STATS: ChatStats = {
  finishReason: null,
  promptTokens: null,
  completionTokens: null,
  cachedTokens: null,
  tokensPerSecond: null,
  firstTokenMs: null,
};

export class ChatCompletion {
  /** Settles after the last write. */
  done: Promise<void> = Promise.resolve();
  readonly #stop = new AbortController();
  readonly #followers = new Set<Follower>();
  #message: ChatMessage;
  #stats = NO_STATS;
  #hasResult = false;
  #end: CompletionEnd | null = null;

  /** The text is appended to that of `message`. */
  constructor(message: ChatMessage) {
    this.#message = message;
  }

  get message(): ChatMessage {
    return this.#message;
  }

  /** Whether there is text, or the model ended the completion without any. */
  get hasResult(): boolean {
    return this.#hasResult;
  }

  get running(): boolean {
    return this.#end === null;
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  stop(): void {
    this.#stop.abort();
  }

  /** Sends the message so far, then what is added. Returns a function that unsubscribes. */
  follow(follower: Follower): () => void {
    if (this.#end !== null) {
      follower({ name: 'end', data: this.#end });
      return () => undefined;
    }
    follower({ name: 'message', data: this.#message });
    this.#followers.add(follower);
    return () => void this.#followers.delete(follower);
  }

  /** Resolves when the stream ends, with the error if it failed. */
  async read(request: RequestCompletion, body: object, onText: () => void): Promise<CompletionError | null> {
    const started = performance.now();
    const { signal } = this.#stop;
    try {
      const reply = await request(body, signal);
      if (reply.statusCode !== 200) return await errorOf(reply.body);
      for await (const chunks of chunksOf(reply.body)) {
        const error = this.#take(chunks, started);
        if (this.#hasResult) onText();
        if (error !== undefined) return error;
      }
    } catch (error) {
      if (!signal.aborted) return { message: (error as Error).message, code: null };
    }
    if (signal.aborted || this.#stats.finishReason !== null) return null;
    return { message: 'The connection closed before the completion was finished.', code: 'stream_ended' };
  }

  /** The passages of files that the next request contains. */
  usePassages(passages: UsedPassages): void {
    this.#message = { ...this.#message, passages };
  }

  /** Call after the last write. */
  end(end: CompletionEnd): void {
    this.#end = end;
    this.#publish({ name: 'end', data: end });
    this.#followers.clear();
  }

  /** Takes the chunks of one read. Returns the error if one of them is an error. */
  #take(chunks: readonly Chunk[], started: number): CompletionError | undefined {
    let [content, reasoning] = ['', ''];
    const stats = { ...this.#stats };
    let { toolCalls = [] } = this.#message;
    for (const { choices, usage, timings } of chunks) {
      const { delta, finish_reason } = choices?.[0] ?? {};
      content += delta?.content ?? '';
      reasoning += delta?.reasoning_content ?? '';
      toolCalls = joinCalls(toolCalls, delta?.tool_calls ?? []);
      stats.finishReason = finish_reason ?? stats.finishReason;
      stats.tokensPerSecond = timings?.predicted_per_second ?? stats.tokensPerSecond;
      if (!usage) continue;
      stats.promptTokens = usage.prompt_tokens;
      stats.completionTokens = usage.completion_tokens;
      stats.cachedTokens = usage.prompt_tokens_details?.cached_tokens ?? null;
    }
    if (content + reasoning !== '') stats.firstTokenMs ??= performance.now() - started;
    this.#hasResult ||= stats.firstTokenMs !== null || stats.finishReason !== null;
    this.#stats = stats;
    const thought = (this.#message.reasoning ?? '') + reasoning;
    this.#message = {
      ...this.#message,
      content: this.#message.content + content,
      ...(thought && { reasoning: thought }),
      ...(toolCalls.length > 0 && { toolCalls }),
      stats,
    };
    this.#publish({ name: 'delta', data: { content, reasoning, stats } });
    return chunks.find(({ error }) => error !== undefined)?.error;
  }

  #publish(event: CompletionEvent): void {
    for (const follower of this.#followers) follower(event);
  }
}

async function errorOf(body: AsyncIterable<Uint8Array>): Promise<CompletionError> {
  let text = '';
  const decoder = new TextDecoder();
  for await (const bytes of body) text += decoder.decode(bytes, { stream: true });
  return (JSON.parse(text) as { error: CompletionError }).error;
}

/** Parses server-sent events, one list per read; skips comments. */
async function* chunksOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<Chunk[]> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const bytes of body) {
    const frames = (rest + decoder.decode(bytes, { stream: true })).split('\n\n');
    rest = frames.pop() ?? '';
    const data = frames.filter((frame) => frame.startsWith('data: {')).map((frame) => frame.slice('data: '.length));
    if (data.length > 0) yield data.map((json) => JSON.parse(json) as Chunk);
  }
}
