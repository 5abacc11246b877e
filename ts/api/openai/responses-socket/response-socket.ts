/** One WebSocket. Its requests run one after another, through the guards, limits and handler of HTTP requests. */
import type { Readable } from 'node:stream';
import type { FastifyRequest, InjectOptions } from 'fastify';
import type { RawData, WebSocket } from 'ws';
import { ChasquiError, ERRORS, invalidValue, unsupportedParameter } from '../../../errors.js';
import { parseJsonBody } from '../../../http/body/json-body.js';
import { toErrorBody } from '../../../http/error-handler.js';
import type { InjectedRequests } from '../../../http/injected-requests.js';
import type { AppContext } from '../../context.js';

interface Server {
  requests: InjectedRequests;
  options: AppContext['options'];
}

/** Headers of the handshake, which do not apply to its requests. */
const OF_HANDSHAKE = /^(connection|upgrade|sec-websocket-.*|content-.*|transfer-encoding|accept.*|expect|te|trailer)$/;
/** Waits for a slow reader beyond this. */
const MAX_BUFFERED_BYTES = 64 * 1024;
/** Limit of the conversation that the next request may continue, in UTF-16 units of JSON. */
const MAX_LOCAL_LENGTH = 4 * 2 ** 20;

type Body = Record<string, unknown>;

/** A response that is not stored. Only this connection can continue it. */
interface LocalResponse {
  id: string;
  /** Its input and output, as JSON. */
  items: string;
}

interface Turn {
  body: Body;
  /** The input with all earlier items. */
  input: unknown[];
}

export class ResponseSocket {
  readonly #socket: WebSocket;
  readonly #request: FastifyRequest;
  readonly #options: AppContext['options'];
  readonly #requests: InjectedRequests;
  readonly #closed = new AbortController();
  #isRunning = false;
  #isAlive = true;
  #local: LocalResponse | null = null;

  constructor(socket: WebSocket, request: FastifyRequest, { requests, options }: Server) {
    this.#socket = socket;
    this.#request = request;
    this.#options = options;
    this.#requests = requests;
    const pings = setInterval(() => this.#ping(), options.keepAliveMs);
    socket.on('pong', () => {
      this.#isAlive = true;
    });
    socket.on('message', (data, isBinary) => void this.#receive(data, isBinary));
    socket.on('close', () => {
      clearInterval(pings);
      this.#closed.abort();
    });
  }

  /** Disconnects a client that has not replied to the last ping. */
  #ping(): void {
    if (!this.#isAlive && !this.#isRunning) this.#socket.terminate();
    this.#isAlive = false;
    this.#socket.ping();
  }

  async #receive(data: RawData, isBinary: boolean): Promise<void> {
    if (this.#isRunning) {
      const isReading = this.#socket.bufferedAmount <= MAX_BUFFERED_BYTES;
      if (!isReading) return this.#socket.terminate();
      return this.#fail(
        new ChasquiError('queue_full', 'This connection is computing another response. Wait for its end.'),
      );
    }
    this.#isRunning = true;
    try {
      await this.#run(this.#toTurn(isBinary ? undefined : (data as Buffer)));
    } catch (thrown) {
      if (!this.#closed.signal.aborted) await this.#fail(thrown);
    } finally {
      this.#isRunning = false;
    }
  }

  #toTurn(text: Buffer | undefined): Turn {
    const { type, stream: _stream, ...body } = parseEvent(text);
    if (type !== 'response.create') throw invalid('type', 'must be `response.create`');
    for (const field of ['background', 'generate', 'stream_options']) {
      if (body[field] === undefined || body[field] === null || body[field] === (field === 'generate')) continue;
      throw unsupportedParameter(`\`${field}\` is not supported over a WebSocket.`, field);
    }
    const { input = [], previous_response_id: previous } = body;
    const items = typeof input === 'string' ? [{ type: 'message', role: 'user', content: input }] : input;
    if (!Array.isArray(items)) return { body, input: [] };
    if (this.#local === null || this.#local.id !== previous) return { body, input: items };
    // A failed turn evicts the response.
    const earlier = JSON.parse(this.#local.items) as unknown[];
    this.#local = null;
    const all = [...earlier, ...items];
    const { previous_response_id: _previous, ...rest } = body;
    refuseUnknownCalls(items, all);
    return { body: { ...rest, input: all }, input: all };
  }

  async #run({ body, input }: Turn): Promise<void> {
    const { headers, ip, url } = this.#request;
    const own = Object.entries(headers).filter(([name]) => !OF_HANDSHAKE.test(name));
    const options: InjectOptions = {
      method: 'POST',
      url: url.split('?', 1)[0] as string,
      headers: { ...Object.fromEntries(own), 'content-type': 'application/json' },
      payload: JSON.stringify({ ...body, stream: true }),
      remoteAddress: ip,
      payloadAsStream: true,
    };
    const reply = await this.#requests.send(options, this.#closed.signal);
    const stream = reply.stream();
    if (reply.statusCode !== 200) return this.#send(await toErrorEvent(reply.statusCode, stream));
    for await (const event of eventsOf(stream)) {
      await this.#send(event);
      if (body.store === false && ENDS.test(event)) this.#keep(event, input);
      if (this.#closed.signal.aborted) return;
    }
  }

  #keep(event: string, input: unknown[]): void {
    const { response } = JSON.parse(event) as { response: { id: string; output: unknown[] } };
    const items = JSON.stringify([...input, ...response.output]);
    this.#local = items.length > MAX_LOCAL_LENGTH ? null : { id: response.id, items };
  }

  #fail(thrown: unknown): Promise<void> {
    const error = thrown instanceof ChasquiError ? thrown : new ChasquiError('internal_error', 'The request failed.');
    return this.#send(errorEvent(ERRORS[error.code].status, toErrorBody(error)));
  }

  /** Waits for slow readers, and disconnects those that read nothing for `stallTimeoutMs`. */
  #send(event: string): Promise<void> {
    return new Promise((resolve) => {
      const { stallTimeoutMs } = this.#options;
      const isBehind = this.#socket.bufferedAmount > MAX_BUFFERED_BYTES;
      const stall =
        isBehind && stallTimeoutMs > 0 ? setTimeout(() => this.#socket.terminate(), stallTimeoutMs) : undefined;
      this.#socket.send(event, () => {
        clearTimeout(stall);
        resolve();
      });
      if (!isBehind) resolve();
    });
  }
}

function parseEvent(text: Buffer | undefined): Body {
  if (text === undefined) throw new ChasquiError('invalid_json', 'A message must be text, not binary.');
  const event = parseJsonBody(text);
  if (typeof event === 'object' && event !== null && !Array.isArray(event)) return event as Body;
  throw new ChasquiError('invalid_type', 'A message must be a JSON object.');
}

function invalid(field: string, says: string): ChasquiError {
  return invalidValue(`\`${field}\` ${says}.`, field);
}

/** Results of calls that the conversation does not contain. */
function refuseUnknownCalls(items: readonly unknown[], all: readonly unknown[]): void {
  const typed = (all as Body[]).filter((item) => typeof item === 'object' && item !== null);
  const known = new Set(typed.filter(({ type }) => /_call$/.test(String(type))).map(({ call_id: id }) => id));
  const at = (items as Body[]).findIndex(
    (item) => /_call_output$/.test(String(item?.type)) && !known.has(item.call_id),
  );
  if (at >= 0) throw invalid(`input[${at}].call_id`, 'does not match any call of this conversation');
}

/** Events that end a response with output that can be continued. */
const ENDS = /^\{"type":"response\.(completed|incomplete)"/;

async function* eventsOf(stream: Readable): AsyncGenerator<string> {
  let rest = '';
  for await (const text of stream.setEncoding('utf8')) {
    const lines = (rest + text).split('\n');
    rest = lines.pop() as string;
    for (const line of lines) if (line.startsWith('data: {')) yield line.slice('data: '.length);
  }
}

async function toErrorEvent(status: number, stream: Readable): Promise<string> {
  let text = '';
  for await (const piece of stream.setEncoding('utf8')) text += piece;
  return errorEvent(status, JSON.parse(text) as object);
}

function errorEvent(status: number, body: object): string {
  return JSON.stringify({ type: 'error', status, ...body });
}
