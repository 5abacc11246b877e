import { setMaxListeners } from 'node:events';
import { connect } from 'node:net';
import type { StreamTimes } from '../work.js';
import type { RunningServer } from './running-server.js';

/** One streamed chat completion. */
export interface Chat {
  system?: string;
  /** Text before the image. */
  before?: string;
  /** A data URI. */
  image?: string;
  user: string;
  predictTokens: number;
  /** Additional or overriding fields of the request body. */
  fields?: object;
}

export interface ChatResult extends StreamTimes {
  promptTokens: number;
}

export interface ChatOptions {
  /** Origin of the reported times, by `performance.now()`. */
  start: number;
  /** Aborts the request and rejects the promise. */
  signal: AbortSignal;
  /** Called for each chunk from the first token on, with the milliseconds since `start`. */
  onText?(atMs: number): void;
}

/** A timeout signal that any number of chats can share. */
export function timeLimit(milliseconds: number): AbortSignal {
  const signal = AbortSignal.timeout(milliseconds);
  setMaxListeners(0, signal);
  return signal;
}

/**
 * Sends a chat request and reads the stream. The client shares the machine with the server, so it only records bytes and
 * times, and parses them after the stream has ended.
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

/** The server closes the connection after its reply. */
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
      // The first chunk has a role but no text.
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
