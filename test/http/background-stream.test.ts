// Streams of background responses: reading, disconnecting, resuming.
import type { FastifyInstance } from 'fastify';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { closeApps, listeningApp } from '../support/build-app.js';
import { expectError } from '../support/expect-error.js';
import type { FakeEngine } from '../support/fake-engine.js';
import { readNamedEvents } from '../support/post-to.js';
import { readJson } from '../support/read-json.js';
import { until } from '../support/until.js';

const test = suite('http: streams in the background');

test.after.each(closeApps);

const URL = '/v1/responses';
const HEADERS = { 'content-type': 'application/json' };

function begin(url: string, body: object = {}, signal?: AbortSignal): Promise<Response> {
  const all = { model: 'fake', input: 'Hi', background: true, stream: true, ...body };
  return fetch(url + URL, { method: 'POST', headers: HEADERS, body: JSON.stringify(all), ...(signal && { signal }) });
}

/** Reads a stream piece by piece. */
function reading(reply: Response) {
  const reader = (reply.body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  let text = '';
  const more = async (): Promise<boolean> => {
    const { done, value } = await reader.read();
    text += decoder.decode(value, { stream: true });
    return !done;
  };
  return {
    /** All events up to the first of this type, and perhaps some after it. */
    until: async (type: string) => {
      while (!text.includes(`event: ${type}\n`) || !text.endsWith('\n\n')) {
        if (!(await more())) throw new Error(`The stream ended without ${type}: ${text}`);
      }
      return readNamedEvents(text);
    },
    all: async () => {
      while (await more()) {}
      return readNamedEvents(text);
    },
  };
}

async function finish(engine: FakeEngine): Promise<void> {
  while (engine.running.size > 0) {
    engine.step();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const typesOf = (events: { type: string }[]) => events.map(({ type }) => type);
const get = (app: FastifyInstance, path: string, headers = {}) => app.inject({ url: `${URL}/${path}`, headers });

test('a stream begins with the response as it is queued, and ends with the response', async () => {
  const { app, url } = await listeningApp();
  const events = readNamedEvents(await (await begin(url)).text());
  assert.equal(typesOf(events).slice(0, 3), ['response.created', 'response.queued', 'response.in_progress']);
  assert.equal(
    events.slice(0, 3).map(({ response }) => response.status),
    ['queued', 'queued', 'in_progress'],
  );
  assert.is(events.at(-1).type, 'response.completed');
  assert.equal(
    events.map(({ sequence_number }) => sequence_number),
    events.map((_, index) => index),
  );
  const { response } = events.at(-1);
  assert.is(response.output[0].content[0].text, 'Hello!');
  assert.equal((await get(app, response.id)).json(), response);
});

test('a lost stream is gone on with, event by event, while the response is computed and after', async () => {
  const { app, engine, url } = await listeningApp({ manual: true });
  const lost = new AbortController();
  const reply = await begin(url, {}, lost.signal);
  await until(() => engine.running.size === 1, 'the job is submitted');
  engine.step();
  const read = await reading(reply).until('response.output_text.delta');
  lost.abort();
  const { id } = read[0].response;
  const last = read.at(-1).sequence_number;
  const resumed = fetch(`${url}${URL}/${id}?stream=true&starting_after=${last}`).then((each) => each.text());
  await until(() => engine.running.size === 1, 'nobody who leaves ends it');
  await finish(engine);
  const rest = readNamedEvents(await resumed);
  const events = [...read, ...rest];
  assert.equal(
    events.map(({ sequence_number }) => sequence_number),
    events.map((_, index) => index),
  );
  const text = events.map(({ type, delta }) => (type === 'response.output_text.delta' ? delta : '')).join('');
  assert.is(text, 'Hello!');
  // The same once it has ended, from any place.
  assert.equal(readNamedEvents((await get(app, `${id}?stream=true`)).body), events);
  assert.equal(readNamedEvents((await get(app, `${id}?stream=true&starting_after=${last}`)).body), rest);
  const beyond = await get(app, `${id}?stream=true&starting_after=${events.length - 1}`);
  assert.equal([beyond.statusCode, beyond.body], [200, 'data: [DONE]\n\n']);
});

test('the stream of a background response ends with its failure or cancellation', async () => {
  const { app, engine, url } = await listeningApp({ manual: true });
  const unknown = readNamedEvents(await (await begin(url, { model: 'other' })).text());
  assert.equal(typesOf(unknown).slice(-2), ['response.failed', 'error']);
  assert.is(unknown.at(-1).code, 'model_not_found');
  const reply = await begin(url);
  const stream = reading(reply);
  const [{ response }] = await stream.until('response.queued');
  await until(() => engine.running.size === 1, 'the job is submitted');
  engine.step();
  const cancelled = await app.inject({ method: 'POST', url: `${URL}/${response.id}/cancel` });
  assert.is(cancelled.json().status, 'cancelled');
  const events = await stream.all();
  assert.equal([events.at(-1).type, events.at(-1).code], ['error', 'request_cancelled']);
  assert.is(engine.running.size, 0);
});

test('without `stream` the events are not kept, and a number must be one', async () => {
  const { app, url } = await listeningApp();
  const plain = await readJson(await begin(url, { stream: false }));
  expectError(await get(app, `${plain.id}?stream=true`), {
    status: 400,
    code: 'unsupported_parameter',
    param: 'stream',
    says: /background/,
  });
  const [{ response }] = readNamedEvents(await (await begin(url)).text());
  for (const after of ['-1', 'x', '1.5', '99999999999']) {
    const reply = await get(app, `${response.id}?stream=true&starting_after=${after}`);
    expectError(reply, { status: 400, code: 'invalid_value', param: 'starting_after' });
  }
  assert.is((await get(app, `${response.id}?stream=false`)).json().id, response.id);
});

test('one key never sees the events of another, and nobody those of what was deleted', async () => {
  const { app, url } = await listeningApp();
  const [{ response }] = readNamedEvents(await (await begin(url)).text());
  const missing = { status: 404, type: 'not_found_error', code: 'response_not_found' };
  expectError(await get(app, `${response.id}?stream=true`, { authorization: 'Bearer other' }), missing);
  await app.inject({ method: 'DELETE', url: `${URL}/${response.id}` });
  expectError(await get(app, `${response.id}?stream=true`), missing);
});

test('a server that stops ends the stream with an error', async () => {
  const { app, engine, url } = await listeningApp({ manual: true });
  const text = (await begin(url)).text();
  await until(() => engine.running.size === 1, 'the job is submitted');
  await app.close();
  const events = readNamedEvents(await text);
  assert.equal([events.at(-1).type, events.at(-1).code], ['error', 'engine_closed']);
  assert.is(engine.running.size, 0);
});

test.run();
