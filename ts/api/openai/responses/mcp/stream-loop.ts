/** The loop as the streamed reply of a route. */
import type { FastifyReply } from 'fastify';
import { toChasquiError, toErrorBody } from '../../../../http/error-handler.js';
import { EventStream } from '../../../../http/sse.js';
import type { AppContext } from '../../../context.js';
import type { McpOffer } from '../../../shared/mcp/mcp-offer.js';
import type { Leased } from '../../../shared/with-model.js';
import { type ResponseEvents, responseFraming } from '../response-events.js';
import type { ResponseWork } from '../to-job.js';
import { runMcpLoop } from './mcp-loop.js';

/** Failures after the first event are events of the stream. */
export async function streamMcpLoop(
  work: ResponseWork & { offer: McpOffer },
  events: ResponseEvents,
  leased: Leased,
  reply: FastifyReply,
  options: AppContext['options'],
): Promise<undefined> {
  const stream = new EventStream(reply, { ...options, signal: leased.signal, framing: responseFraming });
  try {
    await runMcpLoop(work, events, leased, (batch) => (stream.write(batch) ? undefined : stream.drained()));
  } catch (thrown) {
    if (!stream.begun) throw thrown;
    const error = toChasquiError(work.translate(thrown), work.request, options);
    stream.write(events.fail(toErrorBody(error)));
  } finally {
    stream.end();
  }
}
