// Downloads of models by URL stop when no app needs them, when they are too large, and when the cloud stops.
import fs from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { HubFetcher } from '../../../../ts/cloud/apps/hub-weights.js';
import { abandonedParts } from '../../../../ts/cloud/apps/old-weights.js';
import { refuseTooLittleMemory } from '../../../../ts/cloud/apps/runner-memory.js';
import { checkDiskSpace, WeightStore } from '../../../../ts/cloud/apps/weights.js';
import { toManifest } from '../../../../ts/cloud/script/manifest.js';
import { demoModelPath } from '../../../support/demo-model.js';
import { until } from '../../../support/until.js';

const nothing: HubFetcher = { fetch: () => Promise.reject(new Error('nobody asks a hub')) };
const MIB = 2 ** 20;

interface Context {
  folder: string;
  server: http.Server;
  url: string;
  /** Open replies that send an endless model. */
  open: Set<http.ServerResponse>;
}

const test = suite<Context>('unit: weights of apps');

test.before.each(async (context) => {
  context.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-weights-'));
  context.open = new Set();
  context.server = http.createServer((_request, response) => {
    context.open.add(response);
    response.once('close', () => context.open.delete(response));
    // Limits the disk space that the test needs.
    response.write(Buffer.concat([Buffer.from('GGUF'), Buffer.alloc(16 * MIB)]));
  });
  await new Promise<void>((resolve) => context.server.listen(0, '127.0.0.1', resolve));
  context.url = `http://127.0.0.1:${(context.server.address() as AddressInfo).port}/endless.gguf`;
});

test.after.each(({ folder, server }) => {
  fs.rmSync(folder, { recursive: true });
  server.closeAllConnections();
  server.close();
});

const parts = (folder: string) =>
  fs.readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.part'));

test('a file of unknown length that nobody wants any more is ended, and leaves nothing', async ({
  folder,
  url,
  open,
}) => {
  let isWanted = true;
  const store = new WeightStore(folder, demoModelPath, nothing, (asked) => asked === url && isWanted);
  let refused = false;
  const manifest = toManifest({ model: url, machine: { memory: '10Mi' } }, 'chat');
  const checkSize = (bytes: number): void => {
    try {
      refuseTooLittleMemory(manifest, bytes, 'chat');
    } catch (error) {
      refused = true;
      throw error;
    }
  };
  const one = store.fetch(manifest, {}, null, { onProgress: () => {}, checkSize }).catch((error) => error);
  const other = store.fetch(toManifest({ model: url }, 'chat'), {}, null, { onProgress: () => {} });
  const ended = other.then(
    () => null,
    (error) => error,
  );
  assert.is((await one).code, 'script_invalid');
  assert.ok(refused);
  // The other one still wants it.
  assert.is(open.size, 1);
  isWanted = false;
  assert.is((await ended).code, 'model_fetch_failed');
  await until(() => open.size === 0, 'the end of the connection');
  assert.equal(parts(folder), []);
});

test('a file goes on coming while nobody can say whether it is wanted', async ({ folder, url, open }) => {
  let asked = 0;
  const store = new WeightStore(folder, demoModelPath, nothing, () => {
    asked += 1;
    if (asked > 2) return false;
    throw new Error('the database cannot be read');
  });
  const ended = store.fetch(toManifest({ model: url }, 'chat'), {}, null, { onProgress: () => {} }).catch((e) => e);
  await until(() => asked === 2, 'a second look');
  assert.is(open.size, 1);
  assert.is((await ended).code, 'model_fetch_failed');
  assert.is(asked, 3);
});

test('what is fetched ends with the cloud, leaves nothing, and nobody hears of it', async ({ folder, url, open }) => {
  const store = new WeightStore(folder, demoModelPath, nothing);
  const fetch = () => store.fetch(toManifest({ model: url }, 'chat'), {}, null, { onProgress: () => {} });
  let heard = false;
  const hear = (): void => {
    heard = true;
  };
  fetch().then(hear, hear);
  await until(() => parts(folder).length === 1, 'a part of the file');
  await store.close();
  assert.equal(parts(folder), []);
  await until(() => open.size === 0, 'the end of the connection');
  fetch().then(hear, hear);
  await new Promise((resolve) => setImmediate(resolve));
  assert.is(heard, false);
});

test('a disk keeps room for others', ({ folder }) => {
  const { bavail, bsize } = fs.statfsSync(folder);
  checkDiskSpace(path.join(folder, 'new'), 0);
  try {
    checkDiskSpace(folder, bavail * bsize);
    assert.unreachable();
  } catch (error) {
    assert.is((error as { code?: string }).code, 'no_space');
  }
});

test('a part that nobody has written to for a while is left, and others may still come', ({ folder }) => {
  const files = ['a.gguf.1.part', 'b.gguf.2.part', 'c.gguf'].map((name) => path.join(folder, '0123', name));
  fs.mkdirSync(path.join(folder, '0123'));
  for (const file of files) fs.writeFileSync(file, 'GGUF');
  const [old = '', , whole = ''] = files;
  for (const file of [old, whole]) fs.utimesSync(file, Date.now() / 1000 - 3600, Date.now() / 1000 - 3600);
  assert.equal(abandonedParts(folder), [old]);
  assert.equal(abandonedParts(path.join(folder, 'none')), []);
  assert.equal(abandonedParts(whole), []);
});

test.run();
