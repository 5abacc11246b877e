/** Four well-behaved clients: each requests one stream after another and checks every frame. */
import http from 'node:http';
import { until } from '../support/until.js';
import { ServerClock } from './server-clock.js';

const STREAMS = 4;
const MAX_TOKENS = 120;
const PROMPTS = ['Hello!', 'Tell me about the sea.', 'Count to ten.', 'What is a knot?'];

/** Events since the last report. */
export interface Report {
  failures: string[];
  /** Between two frames, or between a request and its first frame. */
  longestGapMs: number;
  /** In CPU time of the server, which other load does not affect. */
  longestCpuGapMs: number;
}

interface Instant {
  ms: number;
  cpuMs: number;
}

export class Bystanders {
  readonly #port: number;
  readonly #model: string;
  readonly #clock: ServerClock;
  readonly #clients: Promise<void>[];
  readonly #requests = new Set<http.ClientRequest>();
  #over = false;
  #failures: string[] = [];
  #longest: Instant = { ms: 0, cpuMs: 0 };
  /** Time of the last frame of each client. */
  readonly #heard: Instant[] = [];
  /** Of each client, in all. */
  readonly #frames = Array<number>(STREAMS).fill(0);

  /** `pid`: the server's. */
  constructor(port: number, model: string, pid: number) {
    this.#port = port;
    this.#model = model;
    this.#clock = new ServerClock(pid);
    this.#clients = Array.from({ length: STREAMS }, (_, index) => this.#ask(index));
  }

  /** Resolves when each client has received so many more frames. */
  async untilServed(frames: number, limitMs: number): Promise<void> {
    const before = [...this.#frames];
    const isServed = () => this.#frames.every((count, index) => count >= (before[index] ?? 0) + frames);
    await until(isServed, `${frames} frames for each bystander`, limitMs);
  }

  /** Starts the next report. */
  report(): Report {
    const now = this.#now();
    // A client that is waiting has waited at least until now.
    for (const heard of this.#heard) this.#countGap(heard, now);
    const { ms: longestGapMs, cpuMs: longestCpuGapMs } = this.#longest;
    const report = { failures: this.#failures, longestGapMs, longestCpuGapMs };
    this.#failures = [];
    this.#longest = { ms: 0, cpuMs: 0 };
    this.#heard.fill(now);
    return report;
  }

  /** Aborts the streams. */
  async leave(): Promise<void> {
    this.#over = true;
    this.#clock.stop();
    for (const request of this.#requests) request.destroy();
    await Promise.all(this.#clients);
  }

  async #ask(index: number): Promise<void> {
    while (!this.#over) {
      this.#heard[index] = this.#now();
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
    const now = this.#now();
    this.#countGap(this.#heard[index] ?? now, now);
    this.#heard[index] = now;
    this.#frames[index] = (this.#frames[index] ?? 0) + 1;
  }

  #countGap(from: Instant, to: Instant): void {
    this.#longest = {
      ms: Math.max(this.#longest.ms, to.ms - from.ms),
      cpuMs: Math.max(this.#longest.cpuMs, to.cpuMs - from.cpuMs),
    };
  }

  #now(): Instant {
    return { ms: performance.now(), cpuMs: this.#clock.cpuMs };
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
