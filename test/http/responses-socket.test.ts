import net from 'node:net';
import OpenAI from 'openai';
import { ResponsesWS } from 'openai/resources/responses/ws';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { WebSocket } from 'ws';
import { closeApps, listeningApp } from '../support/build-app.js';
import { until } from '../support/until.js';

const test = suite('http: responses over a WebSocket');

test.after.each(closeApps);

type Message = Record<string, unknown> & { response?: { id: string; status: string }; error?: { code: string } };

interface Client {
  socket: WebSocket;
  messages: Message[];
  /** Sends a message and resolves with the event that ends its turn. */
  turn(fields: object): Promise<Message>;
  next(): Promise<Message>;
}

const END = /^(response\.(completed|incomplete|failed)|error)$/;

async function connect(url: string, options: object = {}): Promise<Client> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/responses`, options);
  const messages: Message[] = [];
  const waiting: ((message: Message) => void)[] = [];
  socket.on('message', (data) => {
    const message = JSON.parse(String(data)) as Message;
    messages.push(message);
    if (END.test(String(message.type))) waiting.shift()?.(message);
  });
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
  const next = () => new Promise<Message>((resolve) => waiting.push(resolve));
  const turn = (fields: object) => {
    const ended = next();
    socket.send(JSON.stringify({ type: 'response.create', model: 'fake', input: 'Hi', ...fields }));
    return ended;
  };
  return { socket, messages, turn, next };
}

test('the events of a response are messages, one response after the other', async () => {
  const { url } = await listeningApp();
  const { turn, messages } = await connect(url);
  assert.is((await turn({})).response?.status, 'completed');
  assert.equal(
    messages.map(({ sequence_number: number }) => number),
    messages.map((_, index) => index),
  );
  assert.is(messages[0]?.type, 'response.created');
  const before = messages.length;
  assert.is((await turn({ stream: false })).response?.status, 'completed');
  assert.is(messages[before]?.sequence_number, 0);
});

test("OpenAI's client speaks with it", async () => {
  const { url } = await listeningApp();
  const client = new OpenAI({ apiKey: 'x', baseURL: `${url}/v1` });
  const socket = new ResponsesWS(client);
  const text = await new Promise<string>((resolve, reject) => {
    socket.on('error', reject);
    socket.on('response.completed', ({ response }) => resolve(JSON.stringify(response.output)));
    socket.send({ type: 'response.create', model: 'fake', input: 'Hi' });
  });
  socket.close();
  assert.match(text, /Hello!/);
});

test('a response that is not stored is continued on its connection only, until a continuation fails', async () => {
  const { url, engine } = await listeningApp();
  const one = await connect(url);
  const first = (await one.turn({ store: false, input: 'Remember this' })).response?.id;
  const second = await one.turn({ store: false, previous_response_id: first, input: 'What was it?' });
  assert.is(second.response?.status, 'completed');
  assert.is(engine.conversations.at(-1)?.length, 3);
  const other = await connect(url);
  const continuation = { store: false, previous_response_id: second.response?.id };
  assert.is((await other.turn(continuation)).error?.code, 'previous_response_not_found');
  const output = [{ type: 'function_call_output', call_id: 'call_none', output: '' }];
  const failed = await one.turn({ ...continuation, input: output });
  assert.equal([failed.status, failed.error?.code], [400, 'invalid_value']);
  assert.is((await one.turn(continuation)).error?.code, 'previous_response_not_found');
});

const HOSTILE: [name: string, message: string | Buffer, code: string][] = [
  ['no JSON', '{"type":', 'invalid_json'],
  ['bytes', Buffer.from([1, 2, 3]), 'invalid_json'],
  ['a list', '[]', 'invalid_type'],
  ['null', 'null', 'invalid_type'],
  ['no type', '{}', 'invalid_value'],
  ['another type', '{"type":"response.cancel"}', 'invalid_value'],
  ['no model', '{"type":"response.create","input":"Hi"}', 'missing_required_parameter'],
  ['a wrong type', '{"type":"response.create","model":"fake","input":5}', 'invalid_type'],
  ['the prototype', '{"type":"response.create","model":"fake","input":"Hi","__proto__":{"a":1}}', 'invalid_json'],
  [
    'the background',
    '{"type":"response.create","model":"fake","input":"Hi","background":true}',
    'unsupported_parameter',
  ],
  ['no generation', '{"type":"response.create","model":"fake","input":"Hi","generate":false}', 'unsupported_parameter'],
  [
    'more levels than the stack',
    `{"type":"response.create","model":"fake","input":${'['.repeat(100_000)}${']'.repeat(100_000)}}`,
    'invalid_value',
  ],
  [
    'many levels',
    `{"type":"response.create","model":"fake","input":${'['.repeat(500)}${']'.repeat(500)}}`,
    'invalid_value',
  ],
];

for (const [name, message, code] of HOSTILE) {
  test(`refused, and the connection stays: ${name}`, async () => {
    const { url, serverErrors } = await listeningApp();
    const { socket, next, turn } = await connect(url);
    const refused = next();
    socket.send(message);
    const { error, status } = await refused;
    assert.equal([error?.code, status], [code, 400]);
    assert.is((await turn({})).response?.status, 'completed');
    assert.equal(serverErrors, []);
  });
}

test('a message that is too large closes the connection', async () => {
  const { url } = await listeningApp();
  const { socket } = await connect(url);
  const closed = new Promise<number>((resolve) => socket.once('close', resolve));
  socket.send(' '.repeat(4 * 2 ** 20 + 1));
  assert.is(await closed, 1009);
});

test('a second request while one runs is refused, and the end of the connection ends the request', async () => {
  const { url, engine } = await listeningApp({ manual: true });
  const { socket, turn } = await connect(url);
  void turn({});
  await until(() => engine.running.size === 1, 'the job is submitted');
  const refused = new Promise<Message>((resolve) => {
    socket.on('message', (data) => {
      const message = JSON.parse(String(data)) as Message;
      if (message.type === 'error') resolve(message);
    });
  });
  socket.send(JSON.stringify({ type: 'response.create', model: 'fake', input: 'Hi' }));
  const { error, status } = await refused;
  assert.equal([error?.code, status], ['queue_full', 429]);
  engine.step();
  socket.terminate();
  await until(() => engine.cancelled === 1, 'the job is cancelled');
  assert.is(engine.running.size, 0);
});

test('a client that sends without reading is disconnected', async () => {
  const { url, engine } = await listeningApp({ manual: true });
  const { socket, turn } = await connect(url);
  socket.on('error', () => {});
  void turn({});
  await until(() => engine.running.size === 1, 'the job is submitted');
  socket.pause();
  const sendMore = () => {
    for (let count = 0; count < 1000; count += 1) socket.send('{}');
    return engine.cancelled === 1;
  };
  await until(sendMore, 'the job is cancelled');
  socket.terminate();
});

test('only pages of allowed origins open one', async () => {
  const { url } = await listeningApp();
  const statusOf = (origin: string) =>
    new Promise((resolve) => {
      const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/responses`, { origin });
      socket.once('open', () => resolve(101)).once('error', () => {});
      socket.once('unexpected-response', (_request, { statusCode }) => resolve(statusCode));
    });
  assert.is(await statusOf('http://evil.example'), 403);
  assert.is(await statusOf('http://localhost:5173'), 101);
  assert.is(await statusOf(url), 101);
});

test('a plain request is refused, and one that offers another protocol is served without it', async () => {
  const { url } = await listeningApp();
  const plain = await fetch(`${url}/v1/responses`);
  assert.equal([plain.status, plain.headers.get('allow')], [405, 'POST']);
  const body = '{"model":"fake","input":"Hi"}';
  const offer =
    'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA';
  const head = `POST /v1/responses HTTP/1.1\r\nHost: localhost\r\n${offer}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}`;
  const socket = net.connect(Number(new URL(url).port), '127.0.0.1');
  socket.write(`${head}\r\n\r\n${body.slice(0, 9)}`);
  const reply = new Promise<string>((resolve) => {
    let text = '';
    socket.on('data', (data) => {
      text += data;
      if (text.includes('"object":"response"') && text.trimEnd().endsWith('}')) resolve(text);
    });
  });
  socket.write(body.slice(9));
  assert.match(await reply, /^HTTP\/1.1 200 /);
  socket.destroy();
});

test('the server stops although a client does not reply to its close', async () => {
  const { url, app } = await listeningApp();
  const { socket } = await connect(url);
  socket.pause();
  await app.close();
  socket.terminate();
});

test.run();
