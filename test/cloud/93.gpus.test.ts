// GPUs of runners in a whole cloud: visibility in their processes, exclusive use, and release.
import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { ChasquiError } from '../../ts/errors.js';
import { TestCloud } from '../support/cloud.js';
import { processTree } from '../support/process-tree.js';
import { until } from '../support/until.js';

const test = suite('cloud: GPUs');
let cloud: TestCloud;

test.before(async () => {
  const devices = pathToFileURL(path.resolve('test/support/fake-gpus.mjs')).href;
  cloud = await TestCloud.start(['--keep-runners'], {
    NODE_OPTIONS: `--import ${devices}`,
    CUDA_VISIBLE_DEVICES: undefined,
  });
});
test.after(async () => {
  for (const name of ['one', 'two', 'shared', 'late']) await cloud.client.delete(`/apps/me/${name}`).catch(() => null);
  await until(
    async () => (await cloud.client.get<{ runners: [] }>('/runners')).runners.length === 0,
    'the last runner',
  );
  assert.equal(await cloud.stop(), { code: 0, signal: null });
});

const app = (gpu: number | undefined) => ({ scale: { min: 1 }, machine: gpu === undefined ? {} : { gpu } });

/** `CUDA_VISIBLE_DEVICES` of the runner and its engine. */
async function visible(name: string): Promise<string[]> {
  const [runner] = (await cloud.status(name)).runners;
  const pids = processTree(runner?.pid as number);
  assert.ok(pids.length >= 2, 'the runner has an engine');
  return pids.map((pid) => {
    const variables = fs.readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
    return variables.find((each) => each.startsWith('CUDA_VISIBLE_DEVICES='))?.split('=')[1] ?? 'none';
  });
}

async function untilServes(name: string, except: number | null = null): Promise<number> {
  await cloud.untilApp(name, ({ runners }) => runners.some(({ state, pid }) => state === 'idle' && pid !== except));
  return (await cloud.status(name)).runners[0]?.pid as number;
}

test('runners and their engines see their own GPUs alone', async () => {
  await cloud.deployed('one', app(1));
  await cloud.deployed('two', app(1));
  await cloud.deployed('shared', app(undefined));
  assert.equal(new Set(await visible('one')), new Set(['0']));
  assert.equal(new Set(await visible('two')), new Set(['1']));
  assert.equal(new Set(await visible('shared')), new Set(['2']));
  const refusal = (await cloud.deploy('late', app(4)).catch((error) => error)) as ChasquiError;
  assert.is(refusal.code, 'script_invalid');
  assert.match(refusal.message, 'this machine has 3 GPUs');
});

test('a killed runner releases its GPU, and the next one gets it', async () => {
  const pid = await untilServes('one');
  process.kill(pid, 'SIGKILL');
  await untilServes('one', pid);
  assert.equal(new Set(await visible('one')), new Set(['0']));
});

test('GPUs stay reserved when the cloud is killed, and a runner that needs them waits', async () => {
  await cloud.kill();
  await cloud.begin(['--keep-runners']);
  const pid = await untilServes('two');
  await cloud.deploy('late', app(2));
  await until(async () => /out of GPUs: needs 2, free 1 of 3/.test(await progressOf('late')), 'the wait');
  assert.equal(new Set(await visible('two')), new Set(['1']));
  await cloud.client.put('/apps/me/two/scale', { min: 0, max: 1 });
  const [runner] = (await cloud.status('two')).runners;
  assert.is(runner?.pid, pid);
  await cloud.client.delete(`/runners/${runner?.id}`);
  await untilServes('late');
  assert.equal(new Set(await visible('late')), new Set(['1,2']));
});

async function progressOf(name: string): Promise<string> {
  return (await cloud.status(name)).progress ?? '';
}

test.run();
