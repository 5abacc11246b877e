import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { buildApp } from '../../ts/api/app.js';
import { runtime } from '../../ts/profiles/runtime.js';
import { serverless } from '../../ts/profiles/serverless.js';
import { testApp } from '../support/build-app.js';
import { expectError } from '../support/expect-error.js';
import { FakeSource, poolOf } from '../support/fake-source.js';
import { DEPLOYMENT } from '../support/modes.js';
import { until } from '../support/until.js';

const test = suite('http: the health of an engine');

async function healthAt(stepAgeMs: number) {
  const { app, engine } = testApp();
  const stats = engine.stats.bind(engine);
  engine.stats = async () => ({ ...(await stats()), stepAgeMs });
  return app.inject('/health');
}

test('an engine that makes its steps is well, and one that has none to make', async () => {
  for (const age of [0, 100, 29_000]) assert.is((await healthAt(age)).statusCode, 200, String(age));
});

test('one that does not finish its step is not', async () => {
  const stalled = { status: 503, type: 'server_error', code: 'engine_stalled' };
  const reply = await healthAt(95_500);
  expectError(reply, { ...stalled, says: /has not finished a step for 95 seconds/ });
  assert.is(reply.headers['retry-after'], '30');
});

test('one that does not even say so is not waited for', async () => {
  const { app, engine } = testApp();
  engine.stats = () => new Promise(() => undefined);
  expectError(await app.inject('/health'), { status: 503, type: 'server_error', code: 'engine_stalled' });
});

test('a server without models is well; one whose models all failed is not', async () => {
  const a = new FakeSource('a', true);
  const { pool } = await poolOf([a]);
  const app = buildApp(pool, runtime);
  const refused = pool.acquire('a', {}).catch(() => {});
  await until(() => a.engines.length === 1, 'the load');
  a.fail(new Error('broken'));
  await refused;
  for (const url of ['/health', '/ready']) {
    expectError(await app.inject(url), { status: 503, type: 'server_error', code: 'engine_failed' });
  }
  pool.remove('a');
  const { status, model, active } = (await app.inject('/health')).json();
  assert.equal([status, model, active], ['ok', null, 0]);
  assert.is((await app.inject('/ready')).statusCode, 200);
});

test('models that are partly on the CPU are named with the remedy', async () => {
  const { app, engine } = testApp();
  assert.equal((await app.inject('/health')).json().warnings, []);
  Object.assign(engine, { model: { ...engine.model, unfitted: 'All layers fit with `parallel` 12' } });
  assert.equal((await app.inject('/health')).json().warnings, [
    `${engine.model.id}: All layers fit with \`parallel\` 12`,
  ]);
});

test('the process lives all the same', async () => {
  const { app, engine } = testApp({}, { deployment: DEPLOYMENT, access: 'public' }, serverless);
  engine.stats = () => new Promise(() => undefined);
  assert.equal((await app.inject('/health')).json(), { status: 'ok' });
});

test.run();
