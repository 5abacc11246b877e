// Streams that continue without their client, as in llama-server: X-Conversation-Id and /v1/stream.
import { once } from 'node:events';
import net from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { CHAT_PATH, chatBody, closeApps, listeningApp, type TestApp, testApp } from '../support/build-app.js';
import { expectError } from '../support/expect-error.js';
import { HELLO } from '../support/fake-engine.js';
import { openConnections } from '../support/raw-client.js';
import { until } from '../support/until.js';

const test = suite('http: resumable streams');
test.after.each(closeApps);

const KEY = { authorization: 'Bearer one' };

function start(url: string, id: string, { signal, ...body }: Record<string, unknown> = {}): Promise<Response> {
  return fetch(url + CHAT_PATH, {
    method: 'POST',
    headers: { ...KEY, 'content-type': 'application/json', 'x-conversation-id': id },
    body: JSON.stringify(chatBody({ stream: true, ...body })),
    ...(signal instanceof AbortSignal && { signal }),
  });
}

function streamOf({ app }: Pick<TestApp, 'app'>, query: string, method: 'GET' | 'DELETE' = 'GET', headers = KEY) {
  return app.inject({ method, url: `/v1/stream?${query}`, headers });
}

function lookUp({ app }: Pick<TestApp, 'app'>, conversation_ids: unknown, headers = KEY) {
  const all = { ...headers, 'content-type': 'application/json' };
  const payload = JSON.stringify({ conversation_ids });
  return app.inject({ method: 'POST', url: '/v1/streams/lookup', headers: all, payload });
}

test('a stream is the same with the header, and can be read again from any byte', async () => {
  const server = await listeningApp();
  const reply = await start(server.url, 'a');
  assert.equal([reply.status, reply.headers.get('content-type')], [200, 'text/event-stream; charset=utf-8']);
  const text = await reply.text();
  assert.match(text, /^data: \{.*"role":"assistant".*Hel.*data: \[DONE\]\n\n$/s);
  for (const from of [0, 7, text.length]) {
    const again = await streamOf(server, `conv_id=a&from=${from}`);
    assert.equal([again.statusCode, again.body], [200, text.slice(from)]);
  }
  const [state] = (await lookUp(server, ['a', 'b'])).json();
  const { started_at, completed_at, ...rest } = state;
  assert.equal(rest, { conversation_id: 'a', is_done: true, total_bytes: text.length });
  assert.ok(completed_at >= started_at && started_at > 1.7e9);
});

test('a completion continues without its client, and a later one reads all of it', async () => {
  const server = await listeningApp({ manual: true });
  const leaving = new AbortController();
  const reply = await Promise.all([
    start(server.url, 'a', { signal: leaving.signal }),
    until(() => server.engine.running.size === 1, 'the completion runs').then(() => server.engine.step()),
  ]).then(([each]) => each);
  const reader = (reply.body as ReadableStream<Uint8Array>).getReader();
  const { value } = await reader.read();
  leaving.abort();
  await reader.read().catch(() => undefined);
  const first = Buffer.from(value as Uint8Array);
  const rest = fetch(`${server.url}/v1/stream?conv_id=a&from=${first.length}`, { headers: KEY });
  assert.is((await lookUp(server, ['a'])).json()[0].is_done, false);
  while (server.engine.running.size > 0) {
    server.engine.step();
    await new Promise(setImmediate);
  }
  const all = first.toString() + (await (await rest).text());
  assert.equal([server.engine.finished, server.engine.cancelled], [1, 0]);
  const pieces = [...all.matchAll(/^data: (\{.*\})$/gm)].map(([, json]) => JSON.parse(json as string));
  const said = pieces.map(({ choices }) => choices[0]?.delta.content ?? '').join('');
  assert.is(
    said,
    HELLO.flat()
      .map(({ text }) => text)
      .join(''),
  );
  assert.match(all, /data: \[DONE\]\n\n$/);
});

test('deleting a stream cancels it, and so does another one with the same id', async () => {
  const server = await listeningApp({ manual: true });
  const running = (count: number) => until(() => server.engine.running.size === count, `${count} run`);
  const waiting = start(server.url, 'a');
  await running(1);
  assert.is((await streamOf(server, 'conv_id=a', 'DELETE')).statusCode, 204);
  await running(0);
  const refused = await waiting;
  assert.equal(
    [refused.status, ((await refused.json()) as { error: { code: string } }).error.code],
    [400, 'request_cancelled'],
  );
  assert.is((await streamOf(server, 'conv_id=a', 'DELETE')).statusCode, 204);
  const replaced = start(server.url, 'b');
  await running(1);
  const [earlier] = server.engine.running;
  const second = start(server.url, 'b');
  await until(
    () => server.engine.jobs.length === 3 && server.engine.running.size === 1,
    'the second replaces the first',
  );
  assert.not.ok(server.engine.running.has(earlier as never));
  assert.is((await replaced).status, 400);
  assert.is((await lookUp(server, ['b'])).json().length, 1);
  server.engine.step();
  const reader = ((await second).body as ReadableStream).getReader();
  await reader.read();
  await streamOf(server, 'conv_id=b', 'DELETE');
  while (!(await reader.read()).done);
  assert.is((await streamOf(server, 'conv_id=b')).statusCode, 404);
});

test('a stream belongs to its key, and its id may have the model as a suffix', async () => {
  const server = await listeningApp();
  await (await start(server.url, 'a::org/model:Q8')).text();
  assert.is((await lookUp(server, ['a'])).json().length, 1);
  assert.is((await lookUp(server, ['a::org/model:Q8'])).json().length, 1);
  assert.equal((await lookUp(server, ['', 'a:', 'org'])).json(), []);
  const id = `conv_id=${encodeURIComponent('a::org/model:Q8')}`;
  assert.is((await streamOf(server, id)).statusCode, 200);
  const other = { authorization: 'Bearer two' };
  assert.equal((await lookUp(server, ['a'], other)).json(), []);
  expectError(await streamOf(server, id, 'GET', other), {
    status: 404,
    type: 'not_found_error',
    code: 'response_not_found',
    param: 'conv_id',
  });
  assert.is((await streamOf(server, id, 'DELETE', other)).statusCode, 204);
  assert.is((await streamOf(server, id)).statusCode, 200);
});

test('errors are those of other requests, and no stream is kept', async () => {
  const server = await listeningApp();
  for (const body of [{ model: 'other' }, { messages: 7 }, { temperature: -1 }]) {
    const [plain, resumable] = [await server.chat({ stream: true, ...body }), await start(server.url, 'a', body)];
    assert.equal([resumable.status, await resumable.text()], [plain.statusCode, plain.body]);
  }
  assert.is((await streamOf(server, 'conv_id=a')).statusCode, 404);
  const ignored = await start(server.url, 'a', { colour: 1, stream_options: { colour: 1 } });
  assert.is(ignored.headers.get('x-chasqui-ignored'), 'colour, stream_options.colour');
  await ignored.text();
  const whole = await start(server.url, 'whole', { stream: false });
  assert.is(((await whole.json()) as { object: string }).object, 'chat.completion');
  assert.equal((await lookUp(server, ['whole'])).json(), []);
});

test('wrong queries are refused', async () => {
  const server = await listeningApp();
  await (await start(server.url, 'a')).text();
  for (const [query, param] of [
    ['', 'conv_id'],
    ['conv_id=', 'conv_id'],
    ['conv_id=a&conv_id=b', 'conv_id'],
    [`conv_id=${'a'.repeat(513)}`, 'conv_id'],
    ['conv_id=a&from=-1', 'from'],
    ['conv_id=a&from=1e3', 'from'],
  ] as const) {
    expectError(await streamOf(server, query), { status: 400, code: 'invalid_value', param });
  }
  assert.is((await start(server.url, 'a'.repeat(513))).status, 400);
  expectError(await lookUp(server, 'a'), { status: 400, code: 'invalid_type', param: 'conversation_ids' });
  expectError(await lookUp(server, [1]), { status: 400, code: 'invalid_type', param: 'conversation_ids[0]' });
  expectError(await lookUp(server, Array.from({ length: 1001 }, String)), {
    status: 400,
    code: 'invalid_value',
    param: 'conversation_ids',
  });
});

test('the number of streams and the length of each are limited', async () => {
  const long = { batches: () => Array.from({ length: 90 }, () => [{ text: 'x'.repeat(2 ** 16) }]) };
  const server = testApp(long);
  const send = (id: string) =>
    server.app.inject({
      method: 'POST',
      url: CHAT_PATH,
      headers: { ...KEY, 'content-type': 'application/json', 'x-conversation-id': id },
      payload: JSON.stringify(chatBody({ stream: true })),
    });
  const { body } = await send('long');
  assert.ok(body.length > 5 * 2 ** 20);
  expectError(await streamOf(server, 'conv_id=long'), { status: 400, code: 'invalid_value', param: 'from' });
  const rest = await streamOf(server, `conv_id=long&from=${2 ** 21}`);
  assert.equal([rest.statusCode, rest.body.length], [200, body.length - 2 ** 21]);
  server.engine.play({ manual: true });
  const all = Array.from({ length: 32 }, (_, n) => send(`${n}`));
  await until(() => server.engine.running.size === 32, '32 streams run');
  expectError(await send('one more'), { status: 429, type: 'rate_limit_error', code: 'queue_full' });
  for (let n = 0; n < 32; n += 1) await streamOf(server, `conv_id=${n}`, 'DELETE');
  assert.equal([...new Set((await Promise.all(all)).map(({ statusCode }) => statusCode))], [400]);
});

test('a client that does not read is disconnected, and the completion continues', async () => {
  const long = { batches: () => Array.from({ length: 90 }, () => [{ text: 'x'.repeat(2 ** 16) }]) };
  const server = await listeningApp(long, { stallTimeoutMs: 50 });
  const { hostname, port } = new URL(server.url);
  const payload = JSON.stringify(chatBody({ stream: true }));
  const socket = net.connect(Number(port), hostname);
  socket.pause();
  const closed = once(socket, 'close');
  socket.on('error', () => undefined);
  socket.write(
    `POST ${CHAT_PATH} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nx-conversation-id: a\r\n` +
      `authorization: ${KEY.authorization}\r\ncontent-length: ${payload.length}\r\n\r\n${payload}`,
  );
  await until(async () => (await lookUp(server, ['a'])).json()[0]?.is_done, 'the completion has ended');
  await until(async () => (await openConnections(server.app.server)) === 0, 'the client is disconnected');
  assert.is(server.engine.finished, 1);
  socket.resume();
  await closed;
});

test('each endpoint with streams has resumable ones', async () => {
  const server = testApp();
  const headers = { ...KEY, 'content-type': 'application/json', 'x-conversation-id': 'a' };
  const messages = [{ role: 'user', content: 'Hi' }];
  for (const [url, body] of [
    ['/chat/completions', { messages }],
    ['/v1/completions', { prompt: 'Hi' }],
    ['/completion', { prompt: 'Hi' }],
    ['/completions', { prompt: 'Hi' }],
    ['/v1/responses', { input: 'Hi' }],
    ['/responses', { input: 'Hi' }],
    ['/v1/messages', { messages, max_tokens: 9 }],
  ] as const) {
    const payload = JSON.stringify({ model: 'fake', stream: true, ...body });
    const reply = await server.app.inject({ method: 'POST', url, headers, payload });
    assert.equal([reply.statusCode, (await streamOf(server, 'conv_id=a')).body], [200, reply.body], url);
    assert.match(reply.body, 'Hel');
    await streamOf(server, 'conv_id=a', 'DELETE');
  }
});

test.run();
