import { existsSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ProbeCache } from '../../../ts/native/probe-cache.js';
import { until } from '../../support/until.js';

const test = suite('native: what probes found');
let folder = '';
let file = '';
let addon = '';

test.before.each(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'chasqui-probes-'));
  file = path.join(folder, 'module.so');
  addon = path.join(folder, 'chasqui.node');
  for (const each of [file, addon]) write(each, 'as it was');
});
test.after.each(() => rmSync(folder, { recursive: true, force: true }));

/** With the time of modification that npm gives all files of packages. */
function write(to: string, text: string): void {
  writeFileSync(to, text);
  utimesSync(to, PACKED_AT, PACKED_AT);
}

const PACKED_AT = new Date('1985-10-26T08:15:00.000Z');

const cache = () => new ProbeCache(path.join(folder, 'probes.json'));

test('is found again by another process, for the same files and task', () => {
  const first = cache();
  first.set(first.key('try', file, addon), { reason: 'planted' });
  first.save();
  const second = cache();
  assert.is(second.get(second.key('try', file, addon))?.reason, 'planted');
  assert.is(second.get(second.key('score', file, addon)), undefined);
});

for (const changed of ['module.so', 'chasqui.node']) {
  test(`is not found for other bytes in ${changed}, though their number and time are the same`, async () => {
    const key = cache().key('try', file, addon);
    // The clock of a file system may stand still for some milliseconds.
    await until(() => {
      write(path.join(folder, changed), 'otherwise');
      return cache().key('try', file, addon) !== key;
    }, 'the key to change');
  });
}

for (const name of ['CUDA_VISIBLE_DEVICES', 'GGML_VK_VISIBLE_DEVICES']) {
  test(`is not found when ${name} is set to nothing, which hides all devices`, () => {
    const before = process.env[name];
    try {
      delete process.env[name];
      const key = cache().key('try', file, addon);
      process.env[name] = '';
      assert.is.not(cache().key('try', file, addon), key);
    } finally {
      if (before === undefined) delete process.env[name];
      else process.env[name] = before;
    }
  });
}

test('is not written when there is nothing new', () => {
  cache().save();
  assert.not(existsSync(path.join(folder, 'probes.json')));
});

test.run();
