// Which OOM kills are counted: those of the own cgroup, where the kernel reports them, and those of the machine.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { countOutOfMemoryKills } from '../../../ts/process/out-of-memory.js';

const test = suite('unit: OOM kills');

const MACHINE = { '/proc/vmstat': 'nr_free_pages 5\noom_kill 7\n' };
const countIn = (files: Readonly<Record<string, string>>) => countOutOfMemoryKills((file) => files[file] ?? '');

test('the own cgroup counts, in both versions', () => {
  const second = {
    '/proc/self/cgroup': '0::/a.service\n',
    '/sys/fs/cgroup/a.service/memory.events': 'oom 1\noom_kill 2\n',
  };
  assert.equal(countIn({ ...MACHINE, ...second }), { own: 2, machine: 7 });
  const first = {
    '/proc/self/cgroup': '4:memory:/a\n0::/\n',
    '/sys/fs/cgroup/memory/a/memory.oom_control': 'oom_kill 0\n',
  };
  assert.equal(countIn({ ...MACHINE, ...first }), { own: 0, machine: 7 });
});

test('without a cgroup of its own, only the kills of the machine are known', () => {
  assert.equal(countIn({ ...MACHINE, '/proc/self/cgroup': '0::/\n' }), { own: null, machine: 7 });
  assert.equal(countIn({}), { own: null, machine: null });
});

test.run();
