/** How an engine ends when it is closed, as those are told who asked something of it. */
import { ChasquiError } from '../errors.js';

export function engineClosed(): ChasquiError {
  return new ChasquiError('engine_closed', 'The engine was closed.');
}

/**
 * The reason of whoever closed the engine, `closedBy`, in place of an error that says only that it was closed: that is a 503,
 * which clients send again.
 */
export function withReason(error: unknown, closedBy: ChasquiError | null): unknown {
  const saysNoMore = error instanceof ChasquiError && error.code === 'engine_closed';
  return saysNoMore && closedBy !== null ? closedBy : error;
}
