/** Runs the lines of a batch through the server's own endpoints, at the lowest priority. */
import { randomBytes } from 'node:crypto';
import { setImmediate, setTimeout } from 'node:timers/promises';
import type { InjectOptions } from 'fastify';
import { ChasquiError } from '../../../errors.js';
import { toErrorBody } from '../../../http/error-handler.js';
import type { InjectedRequests } from '../../../http/injected-requests.js';
import { MAX_PRIORITY } from '../../shared/chat/chat-schema.js';
import type { BatchLine } from './read-lines.js';

/** Requests of one batch that run at a time. */
const CONCURRENCY = 8;
/** The server was busy, or its engine is being restarted. */
const RETRIED = [429, 503];
const MAX_ATTEMPTS = 120;
const MAX_PAUSE_MS = 5000;

export interface Outcome {
  custom_id: string;
  succeeded: boolean;
  /** One line of the output or error file, without its newline. */
  text: string;
}

export interface LineReply {
  status: number;
  requestId: string;
  /** JSON. */
  body: string;
  /** Milliseconds, or null if the request must not be repeated. */
  retryAfterMs: number | null;
}

export type SendLine = (line: BatchLine, signal: AbortSignal) => Promise<LineReply>;

/** `headers`: include the API key. */
export function sendThrough(
  requests: InjectedRequests,
  basePath: string,
  headers: Readonly<Record<string, string>>,
): SendLine {
  return async ({ url, body }, signal) => {
    const options: InjectOptions = {
      method: 'POST',
      url: basePath + url,
      headers: { ...headers, host: 'localhost', 'content-type': 'application/json' },
      payload: JSON.stringify(url === '/v1/embeddings' ? body : { ...body, priority: lowest(body.priority) }),
    };
    const reply = await requests.send(options, signal);
    const seconds = Number(reply.headers['retry-after'] ?? Number.NaN);
    const isRetried = RETRIED.includes(reply.statusCode) && Number.isFinite(seconds);
    return {
      status: reply.statusCode,
      requestId: String(reply.headers['x-request-id']),
      body: reply.body,
      retryAfterMs: isRetried ? Math.min(seconds * 1000, MAX_PAUSE_MS) : null,
    };
  };
}

/** The endpoint itself refuses an invalid priority. */
function lowest(priority: unknown): unknown {
  return typeof priority === 'number' || priority == null ? -MAX_PRIORITY : priority;
}

export interface RunLinesOptions {
  send: SendLine;
  signal: AbortSignal;
  /** Default 8. */
  concurrency?: number;
  onOutcome(outcome: Outcome): void;
}

/** Resolves when all lines have run. Rejects with the signal's reason and with errors of `onOutcome`. */
export async function runLines(
  lines: AsyncIterator<BatchLine>,
  { send, signal, onOutcome, concurrency = CONCURRENCY }: RunLinesOptions,
): Promise<void> {
  const worker = async (): Promise<void> => {
    for (;;) {
      signal.throwIfAborted();
      const { value, done } = await lines.next();
      if (done) return;
      onOutcome(toOutcome(value, await sendUntilAccepted(value, send, signal)));
      // Requests that fail at once would never let the server read from its sockets.
      await setImmediate();
    }
  };
  const ended = await Promise.allSettled(Array.from({ length: concurrency }, worker));
  const failed = ended.find((each) => each.status === 'rejected');
  if (failed) throw signal.aborted ? signal.reason : failed.reason;
}

async function sendUntilAccepted(line: BatchLine, send: SendLine, signal: AbortSignal): Promise<LineReply> {
  for (let attempt = 1; ; attempt += 1) {
    const reply = await send(line, signal).catch(() => unanswered());
    signal.throwIfAborted();
    if (reply.retryAfterMs === null || attempt === MAX_ATTEMPTS) return reply;
    await setTimeout(reply.retryAfterMs, undefined, { signal });
  }
}

function toOutcome({ custom_id }: BatchLine, { status, requestId, body }: LineReply): Outcome {
  const id = `batch_req_${randomBytes(16).toString('hex')}`;
  const response = `{"status_code":${status},"request_id":${JSON.stringify(requestId)},"body":${body}}`;
  const text = `{"id":"${id}","custom_id":${JSON.stringify(custom_id)},"response":${response},"error":null}`;
  return { custom_id, succeeded: status === 200, text };
}

/** The outcome of a line that did not run. */
export function notRun({ custom_id }: BatchLine, code: string, message: string): Outcome {
  const fields = {
    id: `batch_req_${randomBytes(16).toString('hex')}`,
    custom_id,
    response: null,
    error: { code, message },
  };
  return { custom_id, succeeded: false, text: JSON.stringify(fields) };
}

function unanswered(): LineReply {
  return refusal(new ChasquiError('internal_error', 'The request ended without a reply.'), 500);
}

/** A reply without a request. */
export function refusal(error: ChasquiError, status: number): LineReply {
  return {
    status,
    requestId: `req_${randomBytes(16).toString('hex')}`,
    body: JSON.stringify(toErrorBody(error)),
    retryAfterMs: null,
  };
}
