// How far a prompt is, in the streams that ask for it.
import net from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { closeApps, listeningApp, testApp } from '../support/build-app.js';
import type { FakeStream } from '../support/fake-stream.js';
import { readNamedEvents } from '../support/post-to.js';
import { readSse } from '../support/read-sse.js';
import { until } from '../support/until.js';

const test = suite('http: progress of a prompt');

test.after.each(closeApps);

const MIB = 2 ** 20;

const PROMPTS: Record<string, object> = {
  '/v1/chat/completions': { messages: [{ role: 'user', content: 'Hi' }] },
  '/v1/completions': { prompt: 'Hi' },
  '/completion': { prompt: 'Hi' },
  '/v1/responses': { input: 'Hi' },
};

interface Event {
  type?: string;
  prompt_progress?: { total: number; cache: number; processed: number; time_ms: number };
  timings?: Record<string, number>;
}

/** Those of responses have names. */
const readEvents = (path: string, text: string): Event[] =>
  path === '/v1/responses' ? readNamedEvents(text) : (readSse(text).events as Event[]);

for (const [path, prompt] of Object.entries(PROMPTS)) {
  const begin = async (fields: object = {}) => {
    const { engine, url } = await listeningApp({ manual: true });
    const body = JSON.stringify({ model: 'fake', ...prompt, stream: true, return_progress: true, ...fields });
    const headers = { 'content-type': 'application/json' };
    const reply = fetch(url + path, { method: 'POST', headers, body });
    await until(() => engine.running.size === 1, 'the job is submitted');
    const [stream] = engine.running as Set<FakeStream>;
    return { engine, reply, stream: stream as FakeStream };
  };

  test(`${path} tells what was cached, and each step, until the first token`, async () => {
    const { engine, reply, stream } = await begin();
    stream.prefill = { computed: 0, total: 100 };
    stream.prefill = { computed: 40, total: 100, cached: 10 };
    const { body } = await reply;
    const decoder = new TextDecoder();
    let text = '';
    const reader = (body as ReadableStream<Uint8Array>).getReader();
    const read = async (): Promise<boolean> => {
      const { done, value } = await reader.read();
      text += decoder.decode(value, { stream: true });
      return done;
    };
    while (!text.includes('"processed":40')) await read();
    stream.prefill = { computed: 100, total: 100, cached: 10 };
    while (engine.running.size > 0) {
      engine.step();
      await new Promise((resolve) => setImmediate(resolve));
    }
    while (!(await read()));
    const events = readEvents(path, text);
    const reports = events.flatMap(({ prompt_progress }) => prompt_progress ?? []);
    assert.equal(
      reports.map(({ total, cache, processed }) => [total, cache, processed]),
      [
        [100, 10, 10],
        [100, 10, 40],
        [100, 10, 100],
      ],
    );
    assert.ok(reports.every(({ time_ms }) => Number.isInteger(time_ms) && time_ms >= 0));
    const last = events.findLastIndex(({ prompt_progress }) => prompt_progress !== undefined);
    assert.not.match(JSON.stringify(events.slice(0, last + 1)), /Hel/);
    assert.match(JSON.stringify(events.slice(last + 1)), /Hel/);
  });

  test(`${path} tells it of a prompt that took one step, with the times if they are asked for`, async () => {
    const { engine, reply, stream } = await begin({ timings_per_token: true });
    stream.prefill = { computed: 7, total: 7, cached: 3 };
    while (engine.running.size > 0) {
      engine.step();
      await new Promise((resolve) => setImmediate(resolve));
    }
    const events = readEvents(path, await (await reply).text());
    const told = events.filter(({ prompt_progress }) => prompt_progress !== undefined);
    assert.equal(
      told.map(({ prompt_progress: report }) => [report?.cache, report?.processed]),
      [
        [3, 3],
        [3, 7],
      ],
    );
    const promptOf = ({ cache_n, prompt_n, prompt_ms, prompt_per_second }: Record<string, number> = {}) =>
      (prompt_ms as number) > 0 === (prompt_per_second as number) > 0 && [cache_n, prompt_n, (prompt_ms as number) > 0];
    assert.equal(
      told.map(({ timings }) => promptOf(timings)),
      [
        [3, 0, false],
        [3, 4, true],
      ],
    );
    for (const { timings } of told) assert.equal([timings?.predicted_n, timings?.predicted_ms], [0, 0]);
    if (path !== '/v1/responses') return;
    const begun = ['response.created', 'response.in_progress', 'response.in_progress', 'response.in_progress'];
    assert.equal(
      events.slice(0, 4).map(({ type }) => type),
      begun,
    );
  });

  test(`${path} says nothing of it otherwise`, async () => {
    const { send } = testApp();
    const asked = { model: 'fake', ...prompt, stream: true };
    assert.not.match((await send(path, asked)).body, /prompt_progress/);
    const whole = await send(path, { ...asked, stream: false, return_progress: true });
    assert.is(whole.statusCode, 200, whole.body);
    assert.not.match(whole.body, /prompt_progress/);
  });
}

test('progress is reported for each prompt, with its first choice', async () => {
  const { engine, url } = await listeningApp({ manual: true });
  const body = JSON.stringify({ model: 'fake', prompt: ['a', 'b'], n: 2, stream: true, return_progress: true });
  const reply = fetch(`${url}/v1/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  });
  await until(() => engine.running.size === 4, 'the jobs are submitted');
  let computed = 0;
  for (const stream of engine.running) {
    computed += 1;
    stream.prefill = { computed, total: computed, cached: 0 };
  }
  while (engine.running.size > 0) {
    engine.step();
    await new Promise((resolve) => setImmediate(resolve));
  }
  const { events } = readSse(await (await reply).text());
  const told = events.filter(({ prompt_progress }: Event) => prompt_progress !== undefined);
  assert.equal(
    told.map((event: Event & { choices: { index: number }[] }) => [
      event.choices[0]?.index,
      event.prompt_progress?.processed,
    ]),
    [
      [0, 0],
      [0, 1],
      [2, 0],
      [2, 3],
    ],
  );
});

test('a client that does not read is not sent more and more reports', async () => {
  const { app, engine, url } = await listeningApp({ manual: true });
  const sockets: net.Socket[] = [];
  app.server.on('connection', (socket: net.Socket) => sockets.push(socket));
  const instructions = 'x'.repeat(2 * MIB);
  const body = JSON.stringify({ model: 'fake', input: 'Hi', instructions, stream: true, return_progress: true });
  const client = net.connect(Number(new URL(url).port), '127.0.0.1').pause();
  client.write(
    `POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  await until(() => engine.running.size === 1, 'the job is submitted');
  const [stream] = engine.running as Set<FakeStream>;
  // Each report has the whole response, and there is one in a tenth of a second.
  for (let computed = 1; computed <= 25; computed++) {
    (stream as FakeStream).prefill = { computed, total: 100, cached: 0 };
    await new Promise((resolve) => setTimeout(resolve, 110));
  }
  const [socket] = sockets as [net.Socket];
  const unread = socket.writableLength;
  client.destroy();
  assert.ok(unread > 0, 'the client reads nothing');
  assert.ok(unread < 16 * MIB, `${unread} bytes wait for it`);
});

test.run();
