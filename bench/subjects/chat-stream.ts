import { setMaxListeners } from 'node:events';
import { request } from 'node:http';
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

/** Sends a chat and reads the answer, no closer than it must: the reader shares the machine with the server. */
export function streamChat(server: RunningServer, chat: Chat, options: ChatOptions): Promise<ChatResult> {
  const body = bodyOf(chat);
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
  const { port, agent } = server;
  const path = '/v1/chat/completions';
  return new Promise((resolve, reject) => {
    const call = request({ host: '127.0.0.1', port, path, method: 'POST', agent, headers, signal: options.signal });
    call.on('response', (response) => {
      const answer = new Answer(options);
      response.setEncoding('utf8');
      response.on('data', (data: string) => answer.push(data));
      response.on('error', reject);
      response.on('end', () => {
        const result = response.statusCode === 200 ? answer.result() : undefined;
        if (result) resolve(result);
        else reject(new Error(`${server.name} answered ${response.statusCode}: ${answer.tail}`));
      });
    });
    call.on('error', reject);
    call.end(body);
  });
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
  /** The end of what came, where the usage stands, or an error. */
  tail = '';
  #firstTokenMs = 0;
  #lastTokenMs = 0;
  readonly #options: ChatOptions;

  constructor(options: ChatOptions) {
    this.#options = options;
  }

  push(data: string): void {
    this.#lastTokenMs = performance.now() - this.#options.start;
    this.tail = `${this.tail}${data}`.slice(-2000);
    if (this.#firstTokenMs === 0) {
      // The first chunk has the role and no text.
      if (!/"content":"[^"]/.test(data)) return;
      this.#firstTokenMs = this.#lastTokenMs;
    }
    this.#options.onText?.(this.#lastTokenMs);
  }

  result(): ChatResult | undefined {
    const tokens = /"completion_tokens":(\d+)/.exec(this.tail)?.[1];
    const promptTokens = /"prompt_tokens":(\d+)/.exec(this.tail)?.[1];
    if (tokens === undefined || promptTokens === undefined) return undefined;
    return {
      firstTokenMs: this.#firstTokenMs || this.#lastTokenMs,
      lastTokenMs: this.#lastTokenMs,
      tokens: Number(tokens),
      promptTokens: Number(promptTokens),
    };
  }
}
