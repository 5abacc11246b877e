import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ChasquiError } from '../../ts/errors.js';
import { serverless } from '../../ts/profiles/serverless.js';
import { CHAT_PATH, chatBody, closeApps, listeningApp, testApp } from '../support/build-app.js';
import { expectError } from '../support/expect-error.js';
import { HELLO } from '../support/fake-engine.js';
import { Exposition } from '../support/read-metrics.js';
import { until } from '../support/until.js';

const test = suite('http: probes');

test.after.each(closeApps);

test('a server at rest is live and ready', async () => {
  const { app } = testApp();
  for (const url of ['/live', '/ready']) {
    const reply = await app.inject(url);
    assert.equal([reply.statusCode, reply.json()], [200, { status: 'ok' }]);
    expectError(await app.inject({ method: 'POST', url }), { status: 405, code: 'method_not_allowed' });
  }
});

test('one whose engine stands still is live, and not ready', async () => {
  const { app, engine } = testApp();
  const counts = await engine.stats();
  engine.stats = async () => ({ ...counts, stepAgeMs: 31_000 });
  assert.is((await app.inject('/live')).statusCode, 200);
  expectError(await app.inject('/ready'), { status: 503, type: 'server_error', code: 'engine_stalled' });
});

test('one whose engine is dead is live, and not ready', async () => {
  const { app, engine } = testApp();
  engine.stats = async () => {
    throw new ChasquiError('engine_closed', 'The engine was closed.');
  };
  assert.is((await app.inject('/live')).statusCode, 200);
  expectError(await app.inject('/ready'), { status: 503, type: 'server_error', code: 'engine_closed' });
});

test('one that stops is live and can be scraped, is not ready, and ends its connections', async () => {
  const { app, engine, url } = await listeningApp({ manual: true }, { drainMs: 60_000 });
  const body = JSON.stringify(chatBody());
  const whole = fetch(url + CHAT_PATH, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  await until(() => engine.running.size === 1, 'the job is submitted');
  const before = await fetch(`${url}/ready`);
  assert.equal([before.status, before.headers.get('connection')], [200, 'keep-alive']);

  const closed = app.close();
  await until(async () => (await fetch(`${url}/ready`)).status === 503, 'it says that it stops');
  const live = await fetch(`${url}/live`);
  assert.equal([live.status, live.headers.get('connection')], [200, 'close']);
  const metrics = new Exposition(await (await fetch(`${url}/metrics`)).text());
  assert.is(metrics.value('chasqui_num_requests_running'), 1);
  const ready = await fetch(`${url}/ready`);
  assert.equal([ready.headers.get('retry-after'), ready.headers.get('connection')], ['5', 'close']);

  for (const _ of HELLO) engine.step();
  const reply = await whole;
  assert.equal([reply.status, reply.headers.get('connection')], [200, 'close']);
  await closed;
});

test('a stream that begins while the server stops says that its connection ends', async () => {
  const { app, engine, url } = await listeningApp({ manual: true }, { drainMs: 60_000 });
  const body = JSON.stringify(chatBody({ stream: true }));
  const stream = fetch(url + CHAT_PATH, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  await until(() => engine.running.size === 1, 'the job is submitted');
  const closed = app.close();
  await until(async () => (await fetch(`${url}/ready`)).status === 503, 'it says that it stops');
  for (const _ of HELLO) engine.step();
  const reply = await stream;
  assert.is(reply.headers.get('connection'), 'close');
  assert.match(await reply.text(), /\[DONE\]\n\n$/);
  await closed;
});

test('a private deployment answers them beside its path without a key, and below it with one', async () => {
  const deployment = { org: 'acme', app: 'chat' };
  const { app } = testApp({}, { deployment, access: (key) => key === 'right' }, serverless);
  for (const url of ['/live', '/ready']) {
    assert.is((await app.inject(url)).statusCode, 200);
    assert.is((await app.inject(`/acme/chat${url}`)).statusCode, 401);
    const headers = { authorization: 'Key right' };
    assert.is((await app.inject({ url: `/acme/chat${url}`, headers })).statusCode, 200);
  }
});

test.run();
