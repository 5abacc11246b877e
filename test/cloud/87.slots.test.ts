// A runner that computes, and requests that share it.
import fs from 'node:fs';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { TestCloud } from '../support/cloud.js';
import { ENDLESS, ENDLESS_CONTEXT } from '../support/long-answer.js';
import { Exposition } from '../support/read-metrics.js';
import { requestOverSocket } from '../support/request-over-socket.js';
import { until } from '../support/until.js';

const test = suite('cloud: slots');
let cloud: TestCloud;

test.before(async () => {
  cloud = await TestCloud.start();
});
test.after(async () => {
  assert.equal(await cloud.stop(), { code: 0, signal: null });
});

/** Metrics of the only runner. */
async function metrics(): Promise<Exposition> {
  const [runner] = (await cloud.status('shared')).runners;
  const entries = fs.readdirSync(cloud.home, { recursive: true, encoding: 'utf8' });
  const socket = entries.find((entry) => entry.endsWith(`${runner?.id}.sock`)) as string;
  return new Exposition(await requestOverSocket(path.join(cloud.home, socket), '/metrics'));
}

test('a runner computes several requests in one step', async () => {
  await cloud.deployed('shared', { slots: 4, context: ENDLESS_CONTEXT, scale: { min: 1, max: 1 } });
  // With a seed nothing is drafted, so one request alone takes a step for each token.
  const ask = () => cloud.post('shared', { ...ENDLESS, seed: 1, temperature: 9, stream: true });
  const replies = await Promise.all([ask(), ask(), ask(), ask()]);
  const readers = replies.map(({ body }) => (body as ReadableStream<Uint8Array>).getReader());
  const ends = readers.map(async (reader) => {
    while (!(await reader.read()).done);
  });
  await until(async () => (await metrics()).value('chasqui_num_requests_running') === 4, 'all are computed');
  const before = await metrics();
  let after = before;
  const since = (name: string, labels = {}) => after.value(name, labels) - before.value(name, labels);
  // Each token takes a cell. The engine counts cells and steps at the same moment.
  const tokens = () => since('chasqui_kv_cache_cells', { state: 'used' });
  const areEnough = async () => {
    after = await metrics();
    return tokens() >= 1000;
  };
  await until(areEnough, '1,000 tokens', 300_000);
  const steps = since('chasqui_engine_steps_total');
  assert.ok(steps > 0 && steps < 0.75 * tokens(), `${steps} steps for ${tokens()} tokens`);
  await Promise.all(readers.map((reader) => reader.cancel()));
  await Promise.all(ends);
});

test.run();
