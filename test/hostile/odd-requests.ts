/** Requests that are HTTP, and odd: what a proxy, a scanner or a client in another language may send. */
import { gzipSync } from 'node:zlib';
import { ANSWERED, chat, type Entry, REFUSED, type Sender } from './entry.js';
import { raw } from './http-entries.js';
import { type Exchange, RawConnection, rawRequest, send } from './send.js';

const CHAT = '/v1/chat/completions';
const LIMIT_MS = 10_000;
const HOST = 'host: 127.0.0.1';
const NOT_FOUND: readonly number[] = [404];
const NOWHERE: readonly number[] = [400, 404];

const QUESTION = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'Go on.' }], max_tokens: 3 });

function head(line: string, ...headers: string[]): string {
  return `${[line, HOST, ...headers].join('\r\n')}\r\n\r\n`;
}

function posted(body: string | Buffer, ...headers: string[]): Buffer {
  const length = `content-length: ${Buffer.byteLength(body)}`;
  const type = headers.some((each) => each.startsWith('content-type')) ? [] : ['content-type: application/json'];
  return Buffer.concat([Buffer.from(head(`POST ${CHAT} HTTP/1.1`, ...type, length, ...headers)), Buffer.from(body)]);
}

/** One after another on one connection, which is kept; the statuses of the replies have to be these. */
function onOneConnection(name: string, bytes: string, statuses: readonly number[]): Entry {
  const exchange = async ({ port }: Sender): Promise<Exchange> => {
    const started = performance.now();
    const connection = await RawConnection.open(port);
    await connection.write(bytes);
    const seen = () => [...connection.received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
    await connection.until(({ closed }) => closed || seen().length >= statuses.length, LIMIT_MS);
    connection.close();
    const isRight = JSON.stringify(seen()) === JSON.stringify(statuses);
    return { status: isRight ? 200 : 0, text: `${seen()}: ${connection.received}`, ms: performance.now() - started };
  };
  return { name, send: exchange, statuses: ANSWERED };
}

/** All paths with this id. */
function id(name: string, written: string): Entry[] {
  const paths = ['responses', 'conversations', 'models'].map((kind) => `/v1/${kind}/${written}`);
  return [...paths, `/v1/responses/${written}/input_items`, `/v1/conversations/a/items/${written}`].map((path) =>
    raw(`${name} in ${path.slice(0, 40)}`, head(`GET ${path} HTTP/1.1`), NOWHERE),
  );
}

/** A client that half-closes its connection after the request. It may or may not receive the reply. */
async function halfClosed({ port, model }: Sender): Promise<Exchange> {
  for (let i = 0; i < 20; i++) {
    const connection = await RawConnection.open(port);
    await connection.write(rawRequest(CHAT, JSON.stringify({ ...JSON.parse(QUESTION), stream: true, max_tokens: 50 })));
    connection.end();
    await connection.until(({ closed }) => closed, LIMIT_MS);
    connection.close();
  }
  return send(port, CHAT, JSON.stringify({ ...JSON.parse(QUESTION), model }), LIMIT_MS);
}

/** Metadata with unusual names is returned unchanged. */
async function oddMetadata({ port, post }: Sender): Promise<Exchange> {
  const metadata = { constructor: 'a', toString: 'b', hasOwnProperty: 'c', '': 'd', '\u0000': 'e', '0': 'f' };
  const made = await post('/v1/conversations', { metadata });
  if (made.status !== 200) return made;
  const { id: conversation } = JSON.parse(made.text) as { id: string };
  const started = performance.now();
  const reply = await fetch(`http://127.0.0.1:${port}/v1/conversations/${conversation}`);
  const text = await reply.text();
  const same = JSON.stringify(Object.entries(JSON.parse(text).metadata).sort());
  const isRight = same === JSON.stringify(Object.entries(metadata).sort());
  return { status: isRight ? reply.status : 0, text, ms: performance.now() - started };
}

/** Names that every object has, wherever a client may choose names. */
const INHERITED = ['constructor', 'toString', 'hasOwnProperty', 'valueOf', '__defineGetter__'];

function inherited(name: string): object {
  const schema = { type: 'object', properties: { [name]: { type: 'string', enum: ['x'] } }, required: [name] };
  return {
    tools: [{ type: 'function', function: { name, parameters: schema } }],
    tool_choice: 'auto',
    response_format: {
      type: 'json_schema',
      json_schema: { name, schema: { ...schema, $defs: { [name]: schema } }, strict: false },
    },
    chat_template_kwargs: { [name]: name },
    metadata: { [name]: name },
    [name]: 1,
    max_tokens: 20,
  };
}

const PROTO_FIELDS = ['metadata', 'chat_template_kwargs', 'logit_bias', 'response_format', 'stream_options', 'tools'];

const BODIES: readonly Entry[] = [
  raw('a body in gzip', posted(gzipSync(QUESTION), 'content-encoding: gzip'), [415]),
  raw('a body in two encodings', posted(QUESTION, 'content-encoding: br, gzip'), [415]),
  raw('a form', posted('--x\r\n\r\n--x--', 'content-type: multipart/form-data; boundary=x'), [415]),
  raw('a type of odd parameters', posted(QUESTION, 'content-type: application/json; ;;=;charset="'), [200, 400, 415]),
  raw(
    'UTF-8 with a byte order mark',
    posted(Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(QUESTION)])),
    [200],
  ),
  raw('UTF-16', posted(Buffer.from(`\ufeff${QUESTION}`, 'utf16le')), REFUSED),
  raw('UTF-32', posted(Buffer.from([...`\ufeff${QUESTION}`].map((each) => `${each}\0`).join(''), 'utf16le')), REFUSED),
  raw(
    'halves of a character in UTF-8',
    posted(Buffer.from(QUESTION.replace('Go on.', '\u00ed\u00a0\u0080'), 'latin1')),
    [200, 400],
  ),
  raw('an overlong slash', posted(Buffer.from(QUESTION.replace('Go on.', '\u00c0\u00af'), 'latin1')), [200, 400]),
  ...PROTO_FIELDS.map((field) => ({
    name: `__proto__ in ${field}`,
    send: ({ post }: Sender) => post(CHAT, `${QUESTION.slice(0, -1)},"${field}":{"a":[{"__proto__":{"x":1}}]}}`),
    statuses: [400],
  })),
  ...INHERITED.map((name) => chat(`tools, schemas and variables called ${name}`, inherited(name), [200, 400])),
  ...[
    '../../etc/passwd',
    'm/../m',
    '__proto__',
    'constructor',
    'm\u0000',
    'M',
    ' m',
    'm:latest',
    'x'.repeat(100_000),
  ].map((model) => chat(`a model called ${JSON.stringify(model).slice(0, 30)}`, { model }, [200, 400, 404])),
  ...['../x', '__proto__', 'resp_\u0000', '\ud800', 'x'.repeat(100_000)].flatMap((previous) => [
    {
      name: `going on from a response called ${JSON.stringify(previous).slice(0, 20)}`,
      send: ({ post, model }: Sender) => post('/v1/responses', { model, input: 'a', previous_response_id: previous }),
      statuses: NOWHERE,
    },
    {
      name: `going on from a conversation called ${JSON.stringify(previous).slice(0, 20)}`,
      send: ({ post, model }: Sender) => post('/v1/responses', { model, input: 'a', conversation: { id: previous } }),
      statuses: NOWHERE,
    },
  ]),
  { name: 'items of odd types', send: oddItems, statuses: REFUSED },
  { name: 'odd names among what is stored', send: oddMetadata, statuses: ANSWERED },
];

function oddItems({ post, model }: Sender): Promise<Exchange> {
  return post('/v1/responses', { model, input: [{ type: 'constructor', id: 'toString' }] });
}

const QUERIES = ['limit=1e400', 'limit=-1', 'limit=1&limit=2', 'order[]=asc', '__proto__[x]=1&limit=0', 'after=%00'];

export const ODD_REQUESTS: readonly Entry[] = [
  ...BODIES,
  raw('the beginning of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', [400]),
  raw('a transfer in gzip', head(`POST ${CHAT} HTTP/1.1`, 'transfer-encoding: gzip, chunked').concat(QUESTION), [400]),
  raw(
    'chunks that are not the last encoding',
    head(`POST ${CHAT} HTTP/1.1`, 'transfer-encoding: chunked, gzip'),
    [400],
  ),
  ...['-1', '+5', '0x10', '5, 5', '5 5', '1e2', '99999999999999999999'].map((length) =>
    raw(
      `a length of ${length}`,
      head(`POST ${CHAT} HTTP/1.1`, `content-length: ${length}`).concat('{}'),
      [400, 413, 415],
    ),
  ),
  raw('a space before a colon', head('GET /health HTTP/1.1', 'x-odd : 1'), [400]),
  raw('a folded header', head('GET /health HTTP/1.1', 'x-odd: 1\r\n  2'), [200, 400]),
  raw('lines that end in line feeds alone', `GET /health HTTP/1.1\n${HOST}\n\n`, [400]),
  raw('a header with a zero', head('GET /health HTTP/1.1', 'x-odd: \u0000'), [400]),
  raw(
    'three thousand headers',
    head('GET /health HTTP/1.1', ...Array.from({ length: 3000 }, (_, i) => `x${i}: 1`)),
    [431],
  ),
  raw('a version that does not exist', `GET /health HTTP/3.7\r\n${HOST}\r\n\r\n`, [200, 400]),
  raw('the address of another server', head('GET http://other.example/v1/models HTTP/1.1'), [200, 403]),
  raw(
    'a change to another protocol',
    head('GET /v1/models HTTP/1.1', 'connection: upgrade', 'upgrade: websocket'),
    [200],
  ),
  raw('options of the whole server', head('OPTIONS * HTTP/1.1'), [204, 404]),
  ...['TRACE', 'PROPFIND', 'QUERY'].map((method) =>
    raw(`the method ${method}`, head(`${method} ${CHAT} HTTP/1.1`), [405]),
  ),
  raw('a tunnel', head('CONNECT other.example:443 HTTP/1.1'), [400]),
  raw('a method that does not exist', head(`BREW ${CHAT} HTTP/1.1`), [400]),
  ...id('the way to another file', '..%2f..%2fetc%2fpasswd'),
  ...id('a zero', '%00'),
  ...id('a name that every object has', '__proto__'),
  ...id('escapes of half characters', '%ED%A0%80'),
  ...id('an id of ten thousand characters', 'a'.repeat(10_000)),
  ...QUERIES.map((query) =>
    raw(`the query ${query}`, head(`GET /v1/responses/a/input_items?${query} HTTP/1.1`), NOWHERE),
  ),
  ...['1e400', '-1', 'NaN', '%00'].map((after) =>
    raw(`events after ${after}`, head(`GET /v1/responses/a?stream=true&starting_after=${after} HTTP/1.1`), NOWHERE),
  ),
  raw(
    'keys that are none',
    head('GET /v1/responses/a HTTP/1.1', 'authorization: \u00ff\u00fe', 'x-api-key: "'),
    NOT_FOUND,
  ),
  { name: 'connections that are closed by half', send: halfClosed, statuses: ANSWERED },
  onOneConnection(
    'a request after each kind of error',
    [
      head('GET /nothing HTTP/1.1'),
      head(`GET ${CHAT} HTTP/1.1`),
      rawRequest(CHAT, '{"model":"m","messages":[]}'),
      rawRequest(CHAT, QUESTION),
    ].join(''),
    [404, 405, 400, 200],
  ),
  onOneConnection('fifty requests in one piece', head('GET /v1/models HTTP/1.1').repeat(50), Array(50).fill(200)),
];
