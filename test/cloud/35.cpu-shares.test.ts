// The control plane has the largest share of the CPUs, then organisations with waiting clients.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { RunnerView } from '../../ts/cloud/apps/views.js';
import type { CgroupPlaces } from '../../ts/cloud/runners/cgroups.js';
import { CpuShare, prioritizeControlPlane } from '../../ts/cloud/runners/cpu-share.js';
import { MemoryLimit } from '../../ts/cloud/runners/memory-limit.js';
import { TestCloud } from '../support/cloud.js';
import { ENDLESS, ENDLESS_CONTEXT } from '../support/long-answer.js';
import { until } from '../support/until.js';

const test = suite('cloud: CPU shares');
const CPUS = os.availableParallelism();
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

const sharesOf = (group: string): number => Number(fs.readFileSync(`${CONTROLLER}/${group}/cpu.shares`, 'utf8'));

/** A process to limit, and a folder with the files of cgroups, which nothing enforces. */
async function withFakeGroups(
  files: Readonly<Record<string, string>>,
  action: (places: CgroupPlaces, pid: number) => void | Promise<void>,
): Promise<void> {
  const root = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-cgroups-'));
  const child = spawn('sleep', ['600']);
  try {
    for (const [name, text] of Object.entries(files)) {
      fs.mkdirSync(path.dirname(path.join(root, name)), { recursive: true });
      fs.writeFileSync(path.join(root, name), text);
    }
    await action({ root, own: path.join(root, 'own') }, child.pid as number);
  } finally {
    child.kill();
    await once(child, 'exit');
    fs.rmSync(root, { recursive: true });
  }
}

const limitOf = (pid: number, places: CgroupPlaces): MemoryLimit =>
  new MemoryLimit(
    GROUP,
    () => pid,
    2 ** 28,
    () => undefined,
    places,
  );

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
    const options = { model: 'demo', context: ENDLESS_CONTEXT, auth: 'public', scale: { min: 1 } };
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
    assert.is(groupOf(cloud.child.process.pid as number), 'chasqui-control-plane');
    assert.is(sharesOf('chasqui-control-plane'), 262_144);
    const full = Math.min(1024 * CPUS, 262_144);
    // A runner joins with the full share.
    for (const org of [OTHER, 'me']) {
      await until(() => sharesOf(`chasqui-org-${org}`) === full / 8, `the share of ${org} without clients`);
    }
    const reply = await cloud.post('one', { ...ENDLESS, stream: true });
    await until(() => sharesOf('chasqui-org-me') === full, 'the share of an organisation with a client');
    assert.is(sharesOf(`chasqui-org-${OTHER}`), full / 8);
    await reply.body?.cancel();
    await until(() => sharesOf('chasqui-org-me') === full / 8, 'the share without clients');
    await cloud.client.delete(`/apps/${OTHER}/chat`);
    await until(() => !fs.existsSync(`${CONTROLLER}/chasqui-org-${OTHER}`), 'the removal of the group');
  } finally {
    await cloud.stop();
  }
});

const onLinux = process.platform === 'linux' ? test : test.skip;
const GROUP = 'chasqui-org-me/chasqui-r1';

onLinux('version 2: the control plane moves to a child, and runners are in siblings of that', async () => {
  const files = {
    own: '0::/unit\n',
    'unit/cgroup.controllers': 'cpu memory',
    'unit/chasqui-control-plane/cpu.weight': '100',
    'unit/chasqui-org-me/cpu.weight': '100',
    [`unit/${GROUP}/cgroup.controllers`]: 'cpu memory',
  };
  await withFakeGroups(files, async (places, pid) => {
    const read = (name: string): string => fs.readFileSync(path.join(places.root, 'unit', name), 'utf8');
    assert.ok(await prioritizeControlPlane(places));
    assert.is(read('chasqui-control-plane/cgroup.procs'), String(process.pid));
    assert.is(read('chasqui-control-plane/cpu.weight'), '10000');
    assert.is(read('cgroup.subtree_control'), '+memory');
    fs.writeFileSync(places.own, '0::/unit/chasqui-control-plane\n');
    const share = new CpuShare(GROUP, pid, places);
    await share.joined;
    const full = Math.min(100 * CPUS, 10_000);
    assert.is(read('chasqui-org-me/cpu.weight'), String(full));
    share.setHasClients(false);
    assert.is(read('chasqui-org-me/cpu.weight'), String(Math.round(full / 8)));
    share.close();
    const limit = limitOf(pid, places);
    await limit.joined;
    assert.is(read(`${GROUP}/memory.max`), String(2 ** 28));
    assert.is(read(`${GROUP}/cgroup.procs`), String(pid));
    assert.is(limit.killReason(), null);
    fs.writeFileSync(path.join(places.root, 'unit', GROUP, 'memory.events'), 'oom 1\noom_kill 1\n');
    assert.is(limit.killReason(), 'it ran out of memory: its limit is 256 MiB');
    limit.close();
  });
});

onLinux('a folder that is no cgroup gets no groups', async () => {
  await withFakeGroups({ own: '0::/\n' }, async (places, pid) => {
    const limit = limitOf(pid, places);
    await limit.joined;
    assert.equal(fs.readdirSync(places.root), ['own']);
    limit.close();
  });
});

onLinux('without cgroups runners have a lower priority than the control plane', async () => {
  await withFakeGroups({ own: '' }, async (places, pid) => {
    assert.not(await prioritizeControlPlane(places));
    const share = new CpuShare(GROUP, pid, places);
    await share.joined;
    assert.is(os.getPriority(pid), Math.min(os.getPriority() + 5, 19));
    share.setHasClients(false);
    share.close();
  });
});

each('two clouds with the same organisation share its group, which ends with the last runner', async () => {
  const org = `shared-${process.pid}`;
  const clouds = await Promise.all([TestCloud.start(), TestCloud.start()]);
  const options = { model: 'demo', context: ENDLESS_CONTEXT, auth: 'public', scale: { min: 1 } };
  const group = `${CONTROLLER}/chasqui-org-${org}`;
  const isReady = ({ runners }: { runners: RunnerView[] }) => runners.some(({ state }) => state === 'idle');
  try {
    for (const { client } of clouds) {
      await client.post(`/apps/${org}/chat/revisions`, { options });
      await until(async () => isReady(await client.app(org, 'chat')), 'a runner');
    }
    const groups = () => fs.readdirSync(group).filter((name) => name.startsWith('chasqui-'));
    assert.is(groups().length, 2);
    const [first, second] = clouds as [TestCloud, TestCloud];
    await first.client.delete(`/apps/${org}/chat`);
    await until(() => groups().length === 1, 'the removal of one runner');
    const [runner] = (await second.client.app(org, 'chat')).runners;
    assert.is(groupOf(runner?.pid as number), `chasqui-org-${org}/chasqui-${runner?.id}`);
    await second.client.delete(`/apps/${org}/chat`);
    await until(() => !fs.existsSync(group), 'the removal of the group');
  } finally {
    await Promise.all(clouds.map((cloud) => cloud.stop()));
  }
});

test.run();
