/** A failure in the middle of a stream of events, as the clients of each protocol read it. */
import { messageFailure } from '../../anthropic/message-events.js';
import { dataFailure, toFrames } from '../../http/sse.js';
import { responseFailure } from '../../responses/response-events.js';
import type { ErrorBody } from '../../schemas/error.js';

export function toFailureFrames(path: string, body: ErrorBody): string {
  if (path.startsWith('/v1/messages')) return toFrames(messageFailure(body));
  return toFrames(path.startsWith('/v1/responses') ? responseFailure(body) : dataFailure(body));
}
