/** Streamed replies: server-sent events, or lines of JSON. All events of one wake of the engine are sent by one write. */
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { FastifyReply } from 'fastify';
import { reportUsageAtEnd } from './observe-requests.js';

/** One server-sent event: data alone, or data with a name. Neither contains a line break. */
export type SseEvent = string | { name: string; data: string };

/** How the events of a stream are written. */
export interface Framing {
  contentType: string;
  frame(events: readonly SseEvent[]): string;
  /** Whether each event is an HTTP chunk of its own. Default: all events of one write are one chunk. */
  isChunkPerEvent?: boolean;
  /** Clients skip it. Sent after a long silence, so that proxies keep the connection open. */
  keepAlive: string;
  /** Clients skip it. Sent while the model is loading; `percent` is the load progress. */
  loading(percent: number): string;
  /** Sent after the last event. */
  end?: string;
}

export const serverSentEvents: Framing = {
  contentType: 'text/event-stream; charset=utf-8',
  frame: toFrames,
  keepAlive: ': keep-alive\n\n',
  loading: (percent) => `: loading ${percent} %\n\n`,
};

/**
 * One JSON text per line, as in Ollama's streams. The format has no comments: clients skip a space before the next line,
 * whereas many fail on an empty line. Some parse each HTTP chunk as one line.
 */
export const jsonLines: Framing = {
  contentType: 'application/x-ndjson',
  isChunkPerEvent: true,
  frame: (events) => events.map((event) => `${typeof event === 'string' ? event : event.data}\n`).join(''),
  keepAlive: ' ',
  loading: () => ' ',
};

export function toFrames(events: readonly SseEvent[]): string {
  let frames = '';
  for (const event of events) {
    frames += typeof event === 'string' ? `data: ${event}\n\n` : `event: ${event.name}\ndata: ${event.data}\n\n`;
  }
  return frames;
}

/** Sends the headers of a stream. The caller writes the rest to `reply.raw`. */
export function beginEvents(reply: FastifyReply, { contentType }: Framing = serverSentEvents): void {
  reply.hijack();
  reply.raw.writeHead(200, {
    ...(reply.getHeaders() as OutgoingHttpHeaders),
    'content-type': contentType,
    'cache-control': 'no-cache',
    'x-accel-buffering': 'no',
  });
}

export interface EventStreamOptions {
  /** Aborted, among other reasons, when the client disconnects. */
  signal: AbortSignal;
  /** Sends a comment after this much silence, so that proxies keep the connection open. */
  keepAliveMs: number;
  /** Disconnects a client that reads nothing for this long while data is waiting; 0 never does. */
  stallTimeoutMs: number;
  /** Default: server-sent events. */
  framing?: Framing | undefined;
}

/** The keep-alive timer counts fractions of `keepAliveMs`: resetting a timer for each token would cost more than its JSON. */
const SILENCE_PARTS = 4;

/**
 * The body of a streamed reply. It begins with the first event, or with a comment after a long silence.
 *
 * `ServerResponse.write()` splits a chunk into four writes and joins them in the next tick, a fifth of the server's cost per
 * token. Chunks are therefore framed here and written to the socket directly. Exceptions: the first chunk, which Node sends
 * together with the head, and replies that are not chunked (HTTP/1.0) or have no socket yet (injected or pipelined).
 */
export class EventStream {
  readonly #response: ServerResponse;
  readonly #framing: Framing;
  readonly #keepAlive: NodeJS.Timeout;
  #silentParts = 0;
  /** Whether the head has been written, together with the first chunk. */
  #headIsOut = false;
  #draining: Promise<void> | null = null;

  constructor(
    private readonly reply: FastifyReply,
    private readonly options: EventStreamOptions,
  ) {
    this.#response = reply.raw;
    this.#framing = options.framing ?? serverSentEvents;
    this.#keepAlive = setInterval(() => {
      this.#silentParts += 1;
      if (this.#silentParts < SILENCE_PARTS) return;
      this.#silentParts = 0;
      if (!this.isBehind) this.#send(this.#framing.keepAlive);
    }, options.keepAliveMs / SILENCE_PARTS);
  }

  /** Comments about the loading model may have begun it before. */
  get begun(): boolean {
    return this.#response.headersSent;
  }

  /** Whether written data still waits for the client. */
  get isBehind(): boolean {
    return this.#target().writableNeedDrain;
  }

  /** Returns false if the client reads too slowly: wait for `drained()` then. Data for a client that has left is dropped. */
  write(events: readonly SseEvent[]): boolean {
    if (events.length === 0) return true;
    this.#silentParts = 0;
    const { isChunkPerEvent = false } = this.#framing;
    if (!isChunkPerEvent) return this.#send(this.#framing.frame(events));
    let isRead = true;
    for (const event of events) isRead = this.#send(this.#framing.frame([event]));
    return isRead;
  }

  /**
   * Resolves when more can be written or the signal is aborted. Disconnects a client that stops reading, which aborts the
   * signal: its sequence would otherwise occupy a slot for ever.
   */
  drained(): Promise<void> {
    this.#draining ??= this.#drain().finally(() => {
      this.#draining = null;
    });
    return this.#draining;
  }

  end(): void {
    clearInterval(this.#keepAlive);
    if (!this.#response.headersSent) return;
    reportUsageAtEnd(this.reply);
    if (this.#framing.end !== undefined) this.#send(this.#framing.end);
    this.#response.end();
  }

  #drain(): Promise<void> {
    const { signal, stallTimeoutMs } = this.options;
    if (signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const { socket } = this.#response;
      // Ends the connection; starts again whenever the client has read a part of what is waiting.
      const limit = (ms: number) => socket instanceof Socket && socket.setTimeout(ms);
      limit(stallTimeoutMs);
      const target = this.#target();
      const done = (): void => {
        limit(0);
        target.off('drain', done);
        signal.removeEventListener('abort', done);
        resolve();
      };
      target.on('drain', done);
      signal.addEventListener('abort', done);
    });
  }

  #send(text: string): boolean {
    if (!this.#response.headersSent) beginEvents(this.reply, this.#framing);
    const target = this.#headIsOut && this.#response.chunkedEncoding ? this.#target() : this.#response;
    this.#headIsOut = true;
    if (!(target instanceof Socket) || !target.writable) return this.#response.write(text);
    const bytes = Buffer.byteLength(text);
    // Text with as many bytes as characters is ASCII, which Node copies faster as Latin-1.
    return target.write(`${bytes.toString(16)}\r\n${text}\r\n`, bytes === text.length ? 'latin1' : 'utf8');
  }

  /** The socket, or the response if it has no socket of its own. */
  #target(): Socket | ServerResponse {
    const { socket } = this.#response;
    return socket instanceof Socket ? socket : this.#response;
  }
}
