// Runners of an organisation share one cgroup, with the weight of any other organisation.
import fs from 'node:fs';
import os from 'node:os';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { RunnerView } from '../../ts/cloud/apps/views.js';
import { TestCloud } from '../support/cloud.js';
import { until } from '../support/until.js';

const test = suite('cloud: CPU shares');
const CONTROLLER = '/sys/fs/cgroup/cpu';
/** Other clouds of this machine may have the same organisations. */
const OTHER = `other-${process.pid}`;

/** The group of a process, below that of this one. */
function groupOf(pid: number | string): string {
  const [mine, its] = ['self', pid].map(
    (each) => /^\d+:(?:\S+,)?cpu(?:,\S+)?:(.+)$/m.exec(fs.readFileSync(`/proc/${each}/cgroup`, 'utf8'))?.[1] ?? '',
  ) as [string, string];
  assert.ok(its.startsWith(mine));
  return its.slice(mine.length).replace(/^\//, '');
}

function mayCreateGroups(): boolean {
  try {
    const probe = fs.mkdtempSync(`${CONTROLLER}/${groupOf('self')}chasqui-probe-`);
    fs.rmdirSync(probe);
    return true;
  } catch {
    return false;
  }
}

const each = mayCreateGroups() ? test : test.skip;

each('runners are in the group of their organisation, with their engines, and the groups end with them', async () => {
  const cloud = await TestCloud.start();
  try {
    const options = { model: 'demo', context: 512, auth: 'public', scale: { min: 1 } };
    for (const app of ['one', 'two']) await cloud.deployed(app, options);
    await cloud.client.post(`/apps/${OTHER}/chat/revisions`, { options });
    const runners = async () => (await cloud.client.get<{ runners: RunnerView[] }>('/runners')).runners;
    await until(async () => (await runners()).filter(({ state }) => state === 'idle').length === 3, 'three runners');
    const found = await runners();
    for (const { id, org, pid } of found) {
      assert.is(groupOf(pid as number), `chasqui-org-${org}/chasqui-${id}`);
      const children = fs.readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);
      for (const child of children) assert.is(groupOf(child), `chasqui-org-${org}/chasqui-${id}`);
    }
    assert.equal(found.map(({ org }) => org).sort(), ['me', 'me', OTHER]);
    const weights = [OTHER, 'me'].map((org) => fs.readFileSync(`${CONTROLLER}/chasqui-org-${org}/cpu.shares`, 'utf8'));
    assert.equal(weights.map(Number), Array(2).fill(Math.min(1024 * os.availableParallelism(), 262_144)));
    await cloud.client.delete(`/apps/${OTHER}/chat`);
    await until(() => !fs.existsSync(`${CONTROLLER}/chasqui-org-${OTHER}`), 'the removal of the group');
  } finally {
    await cloud.stop();
  }
});

test.run();
