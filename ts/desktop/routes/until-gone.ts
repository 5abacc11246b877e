import type { FastifyReply } from 'fastify';
import { ChasquiError } from '../../errors.js';

/** Aborts when the page closes the request. */
export function untilGone({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController();
  raw.once('close', () => {
    if (!raw.writableEnded) gone.abort(new ChasquiError('client_closed_request', 'The client closed the connection.'));
  });
  return gone.signal;
}
