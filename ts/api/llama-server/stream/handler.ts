/**
 * Resumable streams, as in llama-server. A streamed completion with the header `X-Conversation-Id` continues without its
 * client, which can read the rest later.
 */
import type { ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { FastifyInstance, FastifyReply, FastifyRequest, LightMyRequestResponse } from 'fastify';
import { ChasquiError, invalidValue } from '../../../errors.js';
import { InjectedRequests } from '../../../http/injected-requests.js';
import type { Operation } from '../../../http/openapi/operation.js';
import { bodyRoute, IGNORED_HEADER } from '../../../http/read-fields.js';
import { beginEvents } from '../../../http/sse.js';
import type { AppContext } from '../../context.js';
import { ownerOf } from '../../shared/owner.js';
import { type LookupRequest, lookupReplySchema, lookupSchema, MAX_ID_LENGTH, streamEventSchema } from './schema.js';
import { type StreamSession, StreamSessions, type StreamState } from './stream-session.js';

const HEADER = 'x-conversation-id';
const URL = '/v1/stream';
/** Headers of the connection and of this endpoint. */
const NOT_REPEATED = /^(connection|upgrade|expect|te|trailer|transfer-encoding|content-.*|x-conversation-id)$/;
const RESUMABLE = [
  '/v1/chat/completions',
  '/chat/completions',
  '/v1/completions',
  '/completion',
  '/completions',
  '/v1/responses',
  '/responses',
  '/v1/messages',
];

type ByQuery = FastifyRequest<{ Querystring: Record<string, unknown> }>;

export function resumableStreamRoutes(app: FastifyInstance, context: AppContext): void {
  const { running, isBehindGateway } = context;
  const { stallTimeoutMs } = context.options;
  const requests = new InjectedRequests(app);
  const sessions = new StreamSessions();
  const ownerOfRequest = (request: FastifyRequest): string => ownerOf(request, isBehindGateway) ?? '';

  app.addHook('preHandler', async (request, reply) => {
    const { body, headers, routeOptions } = request;
    const id = headers[HEADER];
    const isStream = typeof body === 'object' && body !== null && 'stream' in body && body.stream === true;
    if (id === undefined || !isStream || !RESUMABLE.includes(routeOptions.url ?? '')) return undefined;
    const session = sessions.open(ownerOfRequest(request), checkId(id, HEADER));
    const injected = await begin(request, session).catch((error: unknown) => {
      sessions.remove(session);
      throw session.signal.aborted ? cancelled() : error;
    });
    const { statusCode, headers: own } = injected;
    if (statusCode !== 200) {
      sessions.remove(session);
      if (own['retry-after'] !== undefined) reply.header('retry-after', own['retry-after']);
      return reply
        .code(statusCode)
        .type('application/json')
        .send(await text(injected.stream()));
    }
    const ignored = [reply.getHeader(IGNORED_HEADER) ?? [], own[IGNORED_HEADER] ?? []].flat();
    if (ignored.length > 0) reply.header(IGNORED_HEADER, ignored.join(', '));
    void record(injected.stream(), session);
    await send(session, 0, reply, { signal: running.signalFor(reply.raw), stallTimeoutMs });
    return reply;
  });

  /** Sends the request again without the header. Its client is this server, which does not disconnect. */
  const begin = ({ url, headers, body, ip }: FastifyRequest, session: StreamSession): Promise<LightMyRequestResponse> =>
    requests.send(
      {
        method: 'POST',
        url,
        headers: {
          ...Object.fromEntries(Object.entries(headers).filter(([name]) => !NOT_REPEATED.test(name))),
          'content-type': 'application/json',
        },
        payload: JSON.stringify(body),
        remoteAddress: ip,
        payloadAsStream: true,
      },
      session.signal,
    );

  app.get(URL, { config: { operation: resumeStream } }, async (request: ByQuery, reply) => {
    const id = checkId(request.query.conv_id, 'conv_id');
    const offset = toOffset(request.query.from);
    const session = sessions.get(ownerOfRequest(request), id);
    if (session === null) throw notFound(id);
    session.check(offset);
    await send(session, offset, reply, { signal: running.signalFor(reply.raw), stallTimeoutMs });
  });

  app.delete(URL, { config: { operation: cancelStream } }, async (request: ByQuery, reply) => {
    sessions.cancel(ownerOfRequest(request), checkId(request.query.conv_id, 'conv_id'));
    return reply.code(204).send();
  });

  const lookup = bodyRoute(context, lookupSchema, lookupStreams);
  app.post<{ Body: LookupRequest }>('/v1/streams/lookup', lookup, async (request) => {
    const found = sessions.find(ownerOfRequest(request), request.body.conversation_ids);
    return found.map(({ state }) => state) satisfies StreamState[];
  });
}

/** Never rejects. A stream that breaks off has already sent its error, or was cancelled. */
async function record(source: Readable, session: StreamSession): Promise<void> {
  try {
    for await (const chunk of source) session.append(chunk as Buffer);
  } catch {
    // Readers see the end.
  }
  session.end();
}

interface Reader {
  /** Aborted, among other reasons, when the client disconnects. */
  signal: AbortSignal;
  /** Disconnects a client that reads nothing for this long; 0 never does. */
  stallTimeoutMs: number;
}

/** Sends no comments of its own, because clients count the bytes. The recorded stream has its own comments. */
async function send(session: StreamSession, offset: number, reply: FastifyReply, reader: Reader): Promise<void> {
  const { raw } = reply;
  beginEvents(reply);
  raw.flushHeaders();
  try {
    for await (const chunk of session.from(offset, reader.signal)) if (!raw.write(chunk)) await drained(raw, reader);
    raw.end();
  } catch {
    // The client reads more slowly than the model writes. It can continue at its offset or start again.
    raw.destroy();
  }
}

function drained(raw: ServerResponse, { signal, stallTimeoutMs }: Reader): Promise<void> {
  if (signal.aborted || !raw.writableNeedDrain) return Promise.resolve();
  return new Promise((resolve) => {
    const stall = stallTimeoutMs > 0 ? setTimeout(() => raw.destroy(), stallTimeoutMs) : undefined;
    const done = (): void => {
      clearTimeout(stall);
      raw.off('drain', done);
      signal.removeEventListener('abort', done);
      resolve();
    };
    raw.on('drain', done);
    signal.addEventListener('abort', done);
  });
}

function checkId(id: unknown, param: string): string {
  if (typeof id === 'string' && id !== '' && id.length <= MAX_ID_LENGTH) return id;
  throw invalidValue(`\`${param}\` must be a text of 1 to ${MAX_ID_LENGTH} characters.`, param);
}

function toOffset(from: unknown): number {
  if (from === undefined) return 0;
  if (/^\d{1,12}$/.test(String(from))) return Number(from);
  throw invalidValue('`from` must be a number of bytes.', 'from');
}

function notFound(id: string): ChasquiError {
  const message = `There is no stream \`${id}\`. It was never started, was deleted or replaced, or has expired.`;
  return new ChasquiError('response_not_found', message, 'conv_id');
}

function cancelled(): ChasquiError {
  return new ChasquiError('request_cancelled', 'The stream was cancelled.');
}

const QUERY = 'In the query: `conv_id`, the `X-Conversation-Id` of a streamed completion.';

const resumeStream: Operation = {
  id: 'resumeStream',
  tag: 'llama-server',
  summary: 'Bytes of a resumable stream, including future ones (llama-server).',
  description: `${QUERY} \`from\` is the number of bytes that the client already has (default 0).`,
  errors: ['response_not_found', 'invalid_value'],
  reply: { event: { name: 'ResumedEvent', schema: streamEventSchema } },
};

const cancelStream: Operation = {
  id: 'cancelStream',
  tag: 'llama-server',
  summary: 'Cancels and deletes a resumable stream (llama-server).',
  description: QUERY,
  errors: ['invalid_value'],
  reply: { status: 204 },
};

const lookupStreams: Operation = {
  id: 'lookupStreams',
  tag: 'llama-server',
  summary: 'States of resumable streams (llama-server).',
  reply: { json: { name: 'StreamStates', schema: lookupReplySchema } },
  examples: () => ({
    unknown: { summary: 'No such stream', request: { conversation_ids: ['chat-1'] }, reply: [] },
  }),
};
