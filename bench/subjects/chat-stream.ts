import { setMaxListeners } from 'node:events';
import { connect } from 'node:net';
import type { StreamTimes } from '../work.js';
import type { RunningServer } from './running-server.js';

/** One streamed chat completion. */
export interface Chat {
  system?: string;
  /** Stands before the image. */
  before?: string;
  /** A data URI. */
  image?: string;
  user: string;
  predictTokens: number;
  /** More fields of the request's body, and others than the usual ones. */
  fields?: object;
}

export interface ChatResult extends StreamTimes {
  promptTokens: number;
}

export interface ChatOptions {
  /** The moment that times are counted from, by `performance.now()`. */
  start: number;
  /** Ends the request, and with it the promise: it is rejected. */
  signal: AbortSignal;
  /** Called for every piece that arrives after the first token, and for that one, with the milliseconds since start. */
  onText?(atMs: number): void;
}

/** A signal for any number of chats, which all fail when the time is over. */
export function timeLimit(milliseconds: number): AbortSignal {
  const signal = AbortSignal.timeout(milliseconds);
  setMaxListeners(0, signal);
  return signal;
}

/**
 * Sends a chat and reads the answer, no closer than it must: the reader shares the machine with the server, so it has a
 * socket, a buffer and a clock. What came is looked at when all is there.
 */
export function streamChat(server: RunningServer, chat: Chat, options: ChatOptions): Promise<ChatResult> {
  const answer = new Answer(options);
  return new Promise((resolve, reject) => {
    const socket = connect({
      host: '127.0.0.1',
      port: server.port,
      signal: options.signal,
      onread: {
        buffer: Buffer.allocUnsafe(1 << 16),
        callback: (length, bytes) => {
          answer.push(Buffer.from(bytes.subarray(0, length)));
          return true;
        },
      },
    });
    socket.on('error', reject);
    socket.on('end', () => {
      const result = answer.result();
      if (result) resolve(result);
      else reject(new Error(`${server.name} answered: ${answer.text.slice(0, 2000)}`));
    });
    socket.write(requestOf(chat));
  });
}

/** The server closes the connection behind its answer. */
function requestOf(chat: Chat): string {
  const body = bodyOf(chat);
  return [
    'POST /v1/chat/completions HTTP/1.1',
    'Host: 127.0.0.1',
    'Connection: close',
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    '',
    body,
  ].join('\r\n');
}

function bodyOf({ system, before, image, user, predictTokens, fields }: Chat): string {
  const messages: { role: string; content: unknown }[] = [{ role: 'user', content: user }];
  if (image !== undefined) {
    const text = (words: string) => ({ type: 'text', text: words });
    const content = [text(before ?? ''), { type: 'image_url', image_url: { url: image } }, text(user)];
    messages.splice(0, 1, { role: 'user', content });
  }
  if (system !== undefined) messages.unshift({ role: 'system', content: system });
  return JSON.stringify({
    model: 'bench',
    messages,
    max_tokens: predictTokens,
    ignore_eos: true,
    temperature: 0,
    stream: true,
    stream_options: { include_usage: true },
    ...fields,
  });
}

class Answer {
  readonly #pieces: Buffer[] = [];
  #firstTokenMs = 0;
  #lastTokenMs = 0;
  readonly #options: ChatOptions;

  constructor(options: ChatOptions) {
    this.#options = options;
  }

  push(piece: Buffer): void {
    this.#lastTokenMs = performance.now() - this.#options.start;
    this.#pieces.push(piece);
    if (this.#firstTokenMs === 0) {
      // The first chunk has the role and no text.
      if (!/"content":"[^"]/.test(piece.toString())) return;
      this.#firstTokenMs = this.#lastTokenMs;
    }
    this.#options.onText?.(this.#lastTokenMs);
  }

  get text(): string {
    return Buffer.concat(this.#pieces).toString();
  }

  result(): ChatResult | undefined {
    const { text } = this;
    const tokens = /"completion_tokens":(\d+)/.exec(text)?.[1];
    const promptTokens = /"prompt_tokens":(\d+)/.exec(text)?.[1];
    if (!/^HTTP\/1.1 200 /.test(text) || tokens === undefined || promptTokens === undefined) return undefined;
    return {
      firstTokenMs: this.#firstTokenMs || this.#lastTokenMs,
      lastTokenMs: this.#lastTokenMs,
      tokens: Number(tokens),
      promptTokens: Number(promptTokens),
    };
  }
}
