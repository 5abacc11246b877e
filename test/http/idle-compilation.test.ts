// Body schemas that no request has needed yet are compiled half a minute after the start, one by one, while no reply is
// computed.
import { mock } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Ajv } from 'ajv';
import type { FastifyInstance } from 'fastify';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { CHAT_PATH, chatBody, closeApps, listeningApp } from '../support/build-app.js';
import { type FakeEngine, HELLO } from '../support/fake-engine.js';
import type { FakeStream } from '../support/fake-stream.js';

const test = suite('http: compilation in idle time');
const { compile } = Ajv.prototype;
let compilations = 0;

test.before.each(() => {
  Ajv.prototype.compile = function (this: Ajv, ...args: [never]) {
    compilations += 1;
    return compile.apply(this, args);
  } as typeof compile;
  mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
});
test.after.each(async () => {
  mock.timers.reset();
  Ajv.prototype.compile = compile;
  await closeApps();
});

/** No other test has compiled these. */
const ROUTES = 3;
function ownRoutes(app: FastifyInstance): void {
  for (let i = 0; i < ROUTES; i += 1) {
    const body = { type: 'object', properties: { [`idle${i}`]: { type: 'string' } } };
    app.post(`/idle/${i}`, { schema: { body } }, async () => '');
  }
}

test('a stream is never interrupted, and idle servers compile one schema at a time', async () => {
  const { engine, url } = await listeningApp({ manual: true });
  await listeningApp({}, { routes: ownRoutes });
  await nextTurn();
  const asked = fetch(url + CHAT_PATH, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(chatBody({ stream: true })),
  });
  const stream = await startedStream(engine);
  compilations = 0;
  for (let ms = 0; ms < 60_000; ms += 500) mock.timers.tick(500);
  assert.is(compilations, 0, 'beside a stream of the other server');
  for (let step = 0; step < HELLO.length; step += 1) stream.step();
  await (await asked).text();
  while (compilations < ROUTES) {
    const before = compilations;
    mock.timers.tick(500);
    assert.ok(compilations <= before + 1, `${compilations - before} at once`);
    // The reply of the stream closes in one of the next turns.
    await nextTurn();
  }
});

async function startedStream({ running }: FakeEngine): Promise<FakeStream> {
  while (running.size === 0) await nextTurn();
  return [...running][0] as FakeStream;
}

test.run();
