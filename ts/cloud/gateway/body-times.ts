/**
 * How long the body of a request may take. Node has one limit for all requests of a server, which would end a large model
 * that is being sent over a slow line.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { REQUEST_TIMEOUT_MS } from '../../http/connections.js';

export interface BodyTimes {
  /** Of a whole body. */
  totalMs: number;
  /** Of a body that may take any time: how long nothing of it may come. */
  silenceMs: number;
}

/** A disk that is busy keeps the cloud from reading on for a while, which looks like silence. */
export const BODY_TIMES: BodyTimes = { totalMs: REQUEST_TIMEOUT_MS, silenceMs: 60_000 };

/** Calls back when the body takes too long. One that `isLong` may take any time, unless it has been replied to. */
export function limitBodyTime(
  request: IncomingMessage,
  response: ServerResponse,
  { totalMs, silenceMs, isLong }: BodyTimes & { isLong: boolean },
  onLate: () => void,
): void {
  if (!hasBody(request)) return;
  const { socket } = request;
  let read = socket.bytesRead;
  const look = (): void => {
    if (request.complete) return;
    if (isLong && !response.writableEnded && socket.bytesRead > read) read = socket.bytesRead;
    else onLate();
  };
  const timer = setInterval(look, isLong ? silenceMs : totalMs);
  timer.unref();
  request.once('close', () => clearInterval(timer));
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}
