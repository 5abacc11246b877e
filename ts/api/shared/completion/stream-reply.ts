/** A completion as the streamed reply of a route, in the events of its protocol. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Engine, Siblings, SubmitOptions, Token, TokenStream } from '../../../engine/engine.js';
import type { Job } from '../../../engine/job.js';
import type { ErrorBody } from '../../../http/error-body.js';
import { toChasquiError, toErrorBody } from '../../../http/error-handler.js';
import { beginEvents, EventStream, type Framing, type SseEvent } from '../../../http/sse.js';
import type { AppContext } from '../../context.js';

/** Converts a completion to events. */
export interface EventEncoder {
  encode(batch: ChoiceBatch): readonly SseEvent[];
  /** The events that report the progress of the prompt, if the request asked for them. Called until the first batch. */
  progress?: (() => readonly SseEvent[]) | undefined;
  /**
   * Returns the events after the last token. Throws if the completion has not ended: an interrupted stream must not
   * look complete.
   */
  end(): readonly SseEvent[];
  /** The events that report a failure and end the stream. */
  fail(body: ErrorBody): readonly SseEvent[];
}

/** Returns the failure in the form of OpenAI. */
export function dataFailure(body: ErrorBody): readonly SseEvent[] {
  return [JSON.stringify(body)];
}

/** The last event of streams that consist of chunks without names. */
export const DONE: readonly SseEvent[] = ['[DONE]'];

/** The shortest interval between two progress reports of a prompt. */
const PROGRESS_MS = 100;

/** A streamed reply, whatever its events. */
export interface EventReply {
  /** Aborted, among other reasons, when the client disconnects. */
  signal: AbortSignal;
  /** The events that report a failure and end the stream. */
  fail: EventEncoder['fail'];
  /** Translates the names of fields in errors to those of the request. */
  translate?(thrown: unknown): unknown;
  /** Default: server-sent events. */
  framing?: Framing | undefined;
}

/**
 * Resolves with undefined when the stream has ended. A failure before the first event rejects, so that the route sends an
 * ordinary error; a later failure is sent as an error event.
 */
export async function streamEvents(
  request: FastifyRequest,
  reply: FastifyReply,
  { signal, fail, translate, framing }: EventReply,
  options: AppContext['options'],
  send: (events: EventStream) => Promise<unknown>,
): Promise<undefined> {
  const events = new EventStream(reply, { ...options, signal, framing });
  try {
    await send(events);
  } catch (thrown) {
    if (!events.begun) throw thrown;
    const error = translate === undefined ? thrown : translate(thrown);
    events.write(fail(toErrorBody(toChasquiError(error, request, options))));
  } finally {
    events.end();
  }
}

export interface StreamedCompletion extends Omit<EventReply, 'fail'> {
  streams: readonly TokenStream[];
  encoder: EventEncoder;
}

/** Streams a completion while it is computed. */
export function streamCompletion(
  request: FastifyRequest,
  reply: FastifyReply,
  { streams, encoder, ...completion }: StreamedCompletion,
  options: AppContext['options'],
): Promise<undefined> {
  const fail: EventReply['fail'] = (body) => encoder.fail(body);
  return streamEvents(request, reply, { ...completion, fail }, options, async (events) => {
    // Only the latest report matters, so none are queued for a slow client.
    const report = (): void => {
      if (!events.isBehind) events.write(encoder.progress?.() ?? []);
    };
    const reports = encoder.progress && setInterval(report, PROGRESS_MS);
    try {
      await forEachChoice(streams, (batch) => {
        clearInterval(reports);
        return events.write(encoder.encode(batch)) ? undefined : events.drained();
      });
      events.write(encoder.end());
    } finally {
      clearInterval(reports);
    }
  });
}

/** The same for events that are stored: a slow client does not delay the completion. */
export function streamStoredEvents(
  request: FastifyRequest,
  reply: FastifyReply,
  { batches, ...stored }: EventReply & { batches: AsyncIterable<readonly SseEvent[]> },
  options: AppContext['options'],
): Promise<undefined> {
  return streamEvents(request, reply, stored, options, async (events) => {
    for await (const batch of batches) if (!events.write(batch)) await events.drained();
    if (!events.begun) beginEvents(reply, stored.framing);
  });
}

/** The tokens that arrived for one choice in one wake of the engine. */
export interface ChoiceBatch {
  index: number;
  tokens: readonly Token[];
}

/** Submits the job `n` times; a given seed counts up from choice to choice. */
export function submitChoices(
  engine: Engine,
  job: Job,
  n: number,
  options: Pick<SubmitOptions, 'signal' | 'whole'>,
): TokenStream[] {
  const { seed } = job.sampling;
  const siblings: Siblings = { count: n };
  return Array.from({ length: n }, (_, index) => {
    const ownSeed = seed === null ? null : (seed + index) >>> 0;
    return engine.submit({ ...job, sampling: { ...job.sampling, seed: ownSeed } }, { ...options, siblings });
  });
}

/**
 * Calls `take` with the batches of all streams as they come; resolves when all have ended. While the promise that
 * `take` returned is pending, that choice delivers no further batch. When one choice fails, or `take` does, all are
 * cancelled.
 */
export async function forEachChoice(
  streams: readonly TokenStream[],
  take: (batch: ChoiceBatch) => void | Promise<void>,
): Promise<void> {
  try {
    await Promise.all(streams.map((stream, index) => stream.forEachBatch((tokens) => take({ index, tokens }))));
  } catch (reason) {
    await Promise.all(streams.map((stream) => stream.return()));
    throw reason;
  }
}
