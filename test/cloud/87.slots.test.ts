// A runner that computes, and requests that share it.
import fs from 'node:fs';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { TestCloud } from '../support/cloud.js';
import { requestOverSocket } from '../support/request-over-socket.js';

const test = suite('cloud: slots');
let cloud: TestCloud;

test.before(async () => {
  cloud = await TestCloud.start();
});
test.after(async () => {
  assert.equal(await cloud.stop(), { code: 0, signal: null });
});

/** Steps that the engine of the only runner has computed. */
async function steps(): Promise<number> {
  const [runner] = (await cloud.status('shared')).runners;
  const entries = fs.readdirSync(cloud.home, { recursive: true, encoding: 'utf8' });
  const socket = entries.find((entry) => entry.endsWith(`${runner?.id}.sock`)) as string;
  const metrics = await requestOverSocket(path.join(cloud.home, socket), '/metrics');
  return Number(/^chasqui_engine_steps_total\{.*\} (\d+)$/m.exec(metrics)?.[1]);
}

test('a runner computes several requests in one step', async () => {
  await cloud.deployed('shared', { slots: 4, context: 2048, scale: { min: 1, max: 1 } });
  const before = await steps();
  // With a seed nothing is drafted, so that one request alone takes a step for each token.
  const ask = () => cloud.stream('shared', { max_tokens: 1000, ignore_eos: true, seed: 1 });
  const ends = await Promise.all([ask(), ask(), ask(), ask()]);
  assert.equal(new Set(ends.map(({ end }) => end)), new Set(['done']));
  const computed = (await steps()) - before;
  assert.ok(computed >= 1000 && computed < 3000, `${computed} steps for 4,000 tokens`);
});

test.run();
