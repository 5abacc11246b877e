/** A reply as a stream of events. All events of one wake of the engine are sent by one write. */
import type { OutgoingHttpHeaders } from 'node:http';
import type { FastifyReply } from 'fastify';
import type { TokenStream } from '../../../engine/engine.js';
import type { ChasquiError } from '../../../errors.js';
import { ChunkedBody } from '../../../http/chunked-body.js';
import type { ErrorBody } from '../../../http/error-body.js';
import { toErrorBody } from '../../../http/error-handler.js';
import { type Framing, type SseEvent, serverSentEvents } from '../../../http/framing.js';
import { reportUsageAtEnd } from '../../../http/report-usage.js';
import type { ChunkEncoder } from '../../openai/chat/stream.js';
import { type ChoiceBatch, forEachChoice } from './choices.js';

/** Makes the events of a completion. */
export interface EventEncoder {
  encode(batch: ChoiceBatch): readonly SseEvent[];
  /** The events that tell how far the prompt is, where the request asked for them; called until the first batch. */
  progress?: (() => readonly SseEvent[]) | undefined;
  /**
   * The events after the last token. Throws when the completion has not ended: a stream that just stops must not look
   * complete.
   */
  end(): readonly SseEvent[];
  /** The events that tell of a failure and end the stream. */
  fail(body: ErrorBody): readonly SseEvent[];
}

/** A failure as OpenAI's clients read it. */
export function dataFailure(body: ErrorBody): readonly SseEvent[] {
  return [JSON.stringify(body)];
}

type Chunks = Pick<ChunkEncoder, 'encode' | 'assertFinished'> & Partial<Pick<ChunkEncoder, 'progress'>>;

/** Chunks as OpenAI's clients read them: events without names, then `[DONE]`. */
export function dataEvents(chunks: Chunks, returnsProgress = false): EventEncoder {
  return {
    encode: (batch) => chunks.encode(batch),
    progress: returnsProgress ? () => chunks.progress?.() ?? [] : undefined,
    end: () => {
      chunks.assertFinished();
      return ['[DONE]'];
    },
    fail: dataFailure,
  };
}

export interface EventOptions {
  /** Aborted, among other reasons, when the client goes away. */
  signal: AbortSignal;
  /** After at most so much silence a comment is sent, so that no proxy takes the connection for dead. */
  keepAliveMs: number;
  /** A client that reads nothing for so long, while data waits for it, is disconnected; 0 is for ever. */
  stallTimeoutMs: number;
  /** What was thrown → what the caller is told. */
  toError(thrown: unknown): ChasquiError;
  /** Default: server-sent events. */
  framing?: Framing | undefined;
}

/** How often a stream says how far its prompt is, at most. */
const PROGRESS_MS = 100;
/** Silence is counted in parts of `keepAliveMs`, because a timer that each token set anew would take longer than its JSON. */
const SILENCE_PARTS = 4;

/** Sends the headers of a reply of events; whatever comes after them is the caller's. */
export function beginEvents(reply: FastifyReply, { contentType }: Framing = serverSentEvents): void {
  reply.hijack();
  reply.raw.writeHead(200, {
    ...(reply.getHeaders() as OutgoingHttpHeaders),
    'content-type': contentType,
    'cache-control': 'no-cache',
    'x-accel-buffering': 'no',
  });
}

/**
 * The reply begins with the first event, or with a comment after a long wait. A failure before that makes this function
 * reject, so that the route sends an ordinary error reply. A failure after that is sent as an error event.
 */
export async function sendEvents(
  reply: FastifyReply,
  streams: readonly TokenStream[],
  encoder: EventEncoder,
  options: EventOptions,
): Promise<void> {
  const events = new EventWriter(reply, options);
  const { progress } = encoder;
  // What a client does not read is not told it: only the latest report means anything, and a prompt may take minutes.
  const report = (): void => {
    if (progress && !events.isBehind) events.write(progress.call(encoder));
  };
  const reports = progress && setInterval(report, PROGRESS_MS);
  try {
    await forEachChoice(streams, (batch) => {
      clearInterval(reports);
      return events.write(encoder.encode(batch)) ? undefined : events.drained();
    });
    events.write(encoder.end());
  } catch (thrown) {
    if (!events.begun) throw thrown;
    events.write(encoder.fail(toErrorBody(options.toError(thrown))));
  } finally {
    clearInterval(reports);
    events.end();
  }
}

/** The same for events that are kept elsewhere, which a client that is slow or leaves does not hold up. */
export async function sendKeptEvents(
  reply: FastifyReply,
  batches: AsyncIterable<readonly SseEvent[]>,
  fail: EventEncoder['fail'],
  options: EventOptions,
): Promise<void> {
  const events = new EventWriter(reply, options);
  try {
    for await (const batch of batches) if (!events.write(batch)) await events.drained();
    events.begin();
  } catch (thrown) {
    if (!events.begun) throw thrown;
    events.write(fail(toErrorBody(options.toError(thrown))));
  } finally {
    events.end();
  }
}

class EventWriter {
  readonly #reply: FastifyReply;
  readonly #body: ChunkedBody;
  readonly #options: EventOptions;
  readonly #framing: Framing;
  readonly #keepAlive: NodeJS.Timeout;
  #silentParts = 0;
  #begun: boolean;
  #draining: Promise<void> | null = null;

  constructor(reply: FastifyReply, options: EventOptions) {
    this.#reply = reply;
    // It has, with comments, if the model had to be loaded.
    this.#begun = reply.raw.headersSent;
    this.#body = new ChunkedBody(reply.raw);
    this.#options = options;
    this.#framing = options.framing ?? serverSentEvents;
    this.#keepAlive = setInterval(() => {
      this.#silentParts += 1;
      if (this.#silentParts < SILENCE_PARTS) return;
      this.#silentParts = 0;
      if (!this.isBehind) this.#send(this.#framing.keepAlive);
    }, options.keepAliveMs / SILENCE_PARTS);
  }

  get begun(): boolean {
    return this.#begun;
  }

  /** Whether what was written still waits for the client. */
  get isBehind(): boolean {
    return this.#body.needsDrain;
  }

  begin(): void {
    if (this.#begun) return;
    this.#begun = true;
    beginEvents(this.#reply, this.#framing);
  }

  /** Returns false when the client reads too slowly; the caller should wait for `drained()` then. */
  write(events: readonly SseEvent[]): boolean {
    if (events.length === 0) return true;
    this.#silentParts = 0;
    return this.#send(this.#framing.frame(events));
  }

  /**
   * Resolves when more can be written, or when the signal is aborted. A client that never reads would hold its sequence
   * for ever, so it is disconnected after a while, which aborts the signal.
   */
  drained(): Promise<void> {
    this.#draining ??= this.#drain().finally(() => {
      this.#draining = null;
    });
    return this.#draining;
  }

  end(): void {
    clearInterval(this.#keepAlive);
    if (!this.#begun) return;
    reportUsageAtEnd(this.#reply);
    this.#reply.raw.end();
  }

  #drain(): Promise<void> {
    const { signal, stallTimeoutMs } = this.#options;
    if (signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const stalled = stallTimeoutMs > 0 ? setTimeout(() => this.#reply.raw.destroy(), stallTimeoutMs) : undefined;
      const done = (): void => {
        clearTimeout(stalled);
        stopListening();
        signal.removeEventListener('abort', done);
        resolve();
      };
      const stopListening = this.#body.onDrain(done);
      signal.addEventListener('abort', done);
    });
  }

  #send(text: string): boolean {
    this.begin();
    return this.#body.write(text);
  }
}
