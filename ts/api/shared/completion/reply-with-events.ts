/** A completion as the streamed reply of a route, whichever protocol its events are in. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { TokenStream } from '../../../engine/engine.js';
import { toChasquiError } from '../../../http/error-handler.js';
import type { Framing, SseEvent } from '../../../http/framing.js';
import type { AppContext } from '../../context.js';
import { type EventEncoder, sendEvents, sendKeptEvents } from './event-stream.js';

export interface StreamedCompletion {
  streams: readonly TokenStream[];
  encoder: EventEncoder;
  /** Aborted, among other reasons, when the client goes away. */
  signal: AbortSignal;
  /** What was thrown → the same in the words of the request. */
  translate(thrown: unknown): unknown;
  /** Default: server-sent events. */
  framing?: Framing;
}

/**
 * Resolves when the stream has ended; a route has nothing to return then. Rejects with what was thrown as long as
 * nothing has been sent: the reply is then an ordinary error.
 */
export async function replyWithEvents(
  request: FastifyRequest,
  reply: FastifyReply,
  { streams, encoder, signal, translate, framing }: StreamedCompletion,
  options: AppContext['options'],
): Promise<void> {
  const { keepAliveMs, stallTimeoutMs } = options;
  const toError = (thrown: unknown) => toChasquiError(translate(thrown), request, options);
  await sendEvents(reply, streams, encoder, { signal, keepAliveMs, stallTimeoutMs, toError, framing });
}

export interface KeptEvents {
  batches: AsyncIterable<readonly SseEvent[]>;
  /** The events that tell of a failure. */
  fail: EventEncoder['fail'];
  /** Aborted, among other reasons, when the client goes away. */
  signal: AbortSignal;
}

/** The same for events that are kept elsewhere. */
export async function replyWithKeptEvents(
  request: FastifyRequest,
  reply: FastifyReply,
  { batches, fail, signal }: KeptEvents,
  options: AppContext['options'],
): Promise<void> {
  const { keepAliveMs, stallTimeoutMs } = options;
  const toError = (thrown: unknown) => toChasquiError(thrown, request, options);
  await sendKeptEvents(reply, batches, fail, { signal, keepAliveMs, stallTimeoutMs, toError });
}
