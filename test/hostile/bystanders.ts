/** Four clients who do nothing wrong: one stream each after another, every frame of it looked at. */
import http from 'node:http';

const STREAMS = 4;
const MAX_TOKENS = 120;
const PROMPTS = ['Hello!', 'Tell me about the sea.', 'Count to ten.', 'What is a knot?'];

/** What happened to them since the last time somebody asked. */
export interface Report {
  failures: string[];
  /** Between two frames, or the request and the first one. */
  longestGapMs: number;
  frames: number;
}

export class Bystanders {
  readonly #port: number;
  readonly #model: string;
  readonly #clients: Promise<void>[];
  readonly #requests = new Set<http.ClientRequest>();
  #over = false;
  #failures: string[] = [];
  #longestGapMs = 0;
  #frames = 0;
  /** When each of them last heard anything. */
  readonly #heard: number[] = [];

  constructor(port: number, model: string) {
    this.#port = port;
    this.#model = model;
    this.#clients = Array.from({ length: STREAMS }, (_, index) => this.#ask(index));
  }

  /** Also ends the counting: the next report is about what comes after this one. */
  report(): Report {
    const now = performance.now();
    // Whoever has been waiting until now has waited at least so long.
    for (const heard of this.#heard) this.#longestGapMs = Math.max(this.#longestGapMs, now - heard);
    const report = { failures: this.#failures, longestGapMs: this.#longestGapMs, frames: this.#frames };
    this.#failures = [];
    this.#longestGapMs = 0;
    this.#frames = 0;
    this.#heard.fill(now);
    return report;
  }

  /** Each stream is broken off where it is. */
  async leave(): Promise<void> {
    this.#over = true;
    for (const request of this.#requests) request.destroy();
    await Promise.all(this.#clients);
  }

  async #ask(index: number): Promise<void> {
    while (!this.#over) {
      this.#heard[index] = performance.now();
      const failure = await this.#stream(index);
      if (failure === null || this.#over) continue;
      this.#failures.push(failure);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  #stream(index: number): Promise<string | null> {
    return new Promise((resolve) => {
      const body = JSON.stringify({
        model: this.#model,
        messages: [{ role: 'user', content: PROMPTS[index] }],
        max_tokens: MAX_TOKENS,
        temperature: 0,
        ignore_eos: true,
        stream: true,
      });
      const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
      const path = '/v1/chat/completions';
      const request = http.request({
        host: '127.0.0.1',
        port: this.#port,
        path,
        method: 'POST',
        headers,
        agent: false,
      });
      this.#requests.add(request);
      const finish = (failure: string | null) => {
        this.#requests.delete(request);
        resolve(failure);
      };
      request.on('error', (error) => finish(error.message));
      request.on('response', (reply) => {
        let text = '';
        reply.setEncoding('utf8');
        reply.on('data', (piece: string) => {
          this.#hear(index);
          text += piece;
        });
        reply.on('error', (error) => finish(error.message));
        reply.on('end', () => finish(faultOf(reply.statusCode ?? 0, text)));
      });
      request.end(body);
    });
  }

  #hear(index: number): void {
    const now = performance.now();
    this.#longestGapMs = Math.max(this.#longestGapMs, now - (this.#heard[index] ?? now));
    this.#heard[index] = now;
    this.#frames += 1;
  }
}

function faultOf(status: number, text: string): string | null {
  if (status !== 200) return `status ${status}: ${text.slice(0, 200)}`;
  const frames = text.split('\n\n').filter((frame) => frame.startsWith('data: '));
  if (frames.pop() !== 'data: [DONE]') return `the stream ended early: ${text.slice(-200)}`;
  for (const frame of frames) {
    try {
      if ('error' in JSON.parse(frame.slice(6))) return `an error frame: ${frame}`;
    } catch {
      return `a frame that is no JSON: ${frame}`;
    }
  }
  return null;
}
