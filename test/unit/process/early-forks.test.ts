// Processes that are started early are taken once, while they live, with what they have said; others are ended.
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { endEarlyForks, forkEarly, takeOrFork } from '../../../ts/process/early-forks.js';

const folder = mkdtempSync(join(tmpdir(), 'chasqui-early-'));
const test = suite('unit: processes that are started early');
test.after(() => rmSync(folder, { recursive: true }));

writeFileSync(join(folder, 'waits.ts'), "process.send?.('here'); process.on('message', () => {});");
const script = pathToFileURL(join(folder, 'waits'));

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
  writeFileSync(join(folder, 'ends.ts'), '');
  const ends = pathToFileURL(join(folder, 'ends'));
  forkEarly(ends, {});
  await new Promise((resolve) => setTimeout(resolve, 3000));
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
