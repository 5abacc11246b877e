// A disk that is full: a deployment fails with that reason and nothing else does; weights that only old revisions have go.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { KeyStore } from '../../ts/keys/key-store.js';
import { TestCloud } from '../support/cloud.js';
import { demoModelPath } from '../support/demo-model.js';
import { until } from '../support/until.js';

const test = suite('cloud: a full disk');

/** The demo model goes there once, and not twice. */
const SIZE = Math.round(fs.statSync(demoModelPath).size * 1.5);

test('a full disk is reported, and old weights are evicted', async () => {
  const cloud = new TestCloud();
  const folder = path.join(cloud.home, 'models');
  fs.mkdirSync(folder);
  const isDisk = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${SIZE}`, 'none', folder]).status === 0;
  // Without the right to mount, simulate a full disk by a file in place of the folder.
  if (!isDisk) {
    fs.rmdirSync(folder);
    fs.writeFileSync(folder, '');
  }
  const origin = http.createServer((_request, reply) => fs.createReadStream(demoModelPath).pipe(reply));
  await new Promise<void>((resolve) => origin.listen(0, '127.0.0.1', resolve));
  const url = (name: string) => `http://127.0.0.1:${(origin.address() as AddressInfo).port}/${name}.gguf`;
  const files = () => fs.readdirSync(folder, { recursive: true }).filter((name) => /\.(gguf|part)$/.test(String(name)));
  await cloud.begin();
  try {
    await cloud.deployed('one', { model: isDisk ? url('one') : 'demo', alias: 'm', scale: { min: 1 } });
    const second = await cloud.deploy('two', { model: url('two'), alias: 'm' });
    await cloud.untilRevision('two', second.revision, 'failed');
    const reason = (await cloud.status('two')).revisions[0]?.reason ?? '';
    assert.match(reason, isDisk ? /ENOSPC|no space left/i : /ENOTDIR|EEXIST/);
    assert.is((await cloud.post('two', {})).status, 424);
    assert.is((await cloud.post('one', { model: 'm', max_tokens: 2 })).status, 200);
    if (!isDisk) return;
    assert.is(files().length, 1, 'nothing is left of what did not fit');
    for (const slots of [1, 2, 3]) await cloud.deployed('one', { alias: 'm', slots, scale: { min: 1 } });
    await cloud.deployed('two', { model: url('two'), alias: 'm', slots: 2 });
    assert.is((await cloud.post('two', { model: 'm', max_tokens: 2 })).status, 200);
    assert.match(String(files()), /^[^,]*two\.gguf$/);
  } finally {
    // Lazily, because runners have files there.
    if (isDisk) spawnSync('umount', ['-l', folder]);
    assert.equal(await cloud.stop(), { code: 0, signal: null });
    origin.close();
  }
});

test('on a full disk a key is revoked, and that is stored later', async () => {
  const cloud = new TestCloud();
  const isDisk = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=32m', 'none', cloud.home]).status === 0;
  // `86.keys` simulates a full disk without the right to mount.
  if (!isDisk) return fs.rmSync(cloud.home, { recursive: true });
  await cloud.begin();
  const filler = path.join(cloud.home, 'filler');
  try {
    await cloud.deployed('chat', { auth: 'private', scale: { min: 1 } });
    const { id, key } = await cloud.client.post<{ id: string; key: string }>('/keys', { org: 'me' });
    const ask = async () => (await cloud.post('chat', { max_tokens: 1 }, { authorization: `Key ${key}` })).status;
    assert.is(await ask(), 200);
    assert.not.equal(spawnSync('dd', ['if=/dev/zero', `of=${filler}`, 'bs=4096']).status, 0);
    assert.is((await cloud.cli('keys', 'revoke', id)).code, 0);
    assert.is(await ask(), 401);
    fs.rmSync(filler);
    const stored = KeyStore.open(cloud.home);
    await until(() => stored.find(id)?.revokedAt !== null, 'the stored revocation');
    stored.close();
  } finally {
    fs.rmSync(filler, { force: true });
    cloud.child.process.kill('SIGTERM');
    assert.equal(await cloud.child.exited, { code: 0, signal: null });
    spawnSync('umount', ['-l', cloud.home]);
    fs.rmSync(cloud.home, { recursive: true, force: true });
  }
});

test.run();
