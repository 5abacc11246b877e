// Processes that are started early are taken once, while they live, with what they have said; others are ended.
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { endEarlyForks, forkEarly, takeOrFork } from '../../../ts/process/early-forks.js';
import { writeForkedScript } from '../../support/forked-script.js';
import { until } from '../../support/until.js';

const folder = mkdtempSync(join(tmpdir(), 'chasqui-early-'));
const test = suite('unit: processes that are started early');
test.after(() => rmSync(folder, { recursive: true }));

const script = writeForkedScript(folder, 'waits', "process.send?.('here'); process.on('message', () => {});");

/** Its parent has been told of its end. An empty pid is that of a file still to be written. */
function isReaped(pid: number): boolean {
  try {
    return process.kill(pid, 0) && false;
  } catch {
    return true;
  }
}

test('it is taken once, and what it said before is not lost', async () => {
  forkEarly(script, {});
  const { child } = takeOrFork(script, {});
  const other = takeOrFork(script, {}).child;
  assert.is.not(child.pid, other.pid);
  for (const each of [child, other]) {
    assert.equal(await once(each, 'message'), ['here', undefined]);
    each.kill('SIGKILL');
    await once(each, 'close');
  }
});

test('one that has ended is not taken', async () => {
  const file = join(folder, 'pid');
  const body = `import fs from 'node:fs'; fs.writeFileSync(${JSON.stringify(file)}, String(process.pid));`;
  const ends = writeForkedScript(folder, 'ends', body);
  forkEarly(ends, {});
  await until(() => existsSync(file) && isReaped(Number(readFileSync(file, 'utf8'))), 'the end of the process');
  const { child } = takeOrFork(ends, {});
  assert.is(child.exitCode, null);
  assert.equal(await once(child, 'close'), [0, null]);
});

test('one that nobody takes is ended, and is not taken later', async () => {
  forkEarly(script, {});
  endEarlyForks();
  const { child } = takeOrFork(script, {});
  assert.equal(await once(child, 'message'), ['here', undefined]);
  child.kill('SIGKILL');
  await once(child, 'close');
});

test.run();
