import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Downloads } from '../../../ts/hub/downloads.js';
import { HubClient } from '../../../ts/hub/hub-client.js';
import { tinyModel } from '../../support/fake-hub/models.js';
import { sha256 } from '../../support/fake-hub/repo.js';
import { type FakeHub, fakeHub } from '../../support/fake-hub.js';

interface Context {
  hub: FakeHub;
  folder: string;
  client: HubClient;
}

const test = suite<Context>('unit: downloads');
const MODEL = tinyModel(300_000);

test.before.each(async (context) => {
  context.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-hub-'));
  context.hub = await fakeHub({
    'ada/tiny-GGUF': { files: { 'tiny-Q4_K_M.gguf': MODEL }, gguf: { architecture: 'llama' } },
  });
  context.client = new HubClient({ endpoint: context.hub.url });
});

test.after.each(async ({ hub, client, folder }) => {
  await client.close();
  await hub.close();
  fs.rmSync(folder, { recursive: true });
});

test('a model comes into the cache that llama.cpp reads', async ({ client, folder, hub }) => {
  const downloads = await Downloads.open({ client, cacheFolder: folder, minRangeBytes: 50_000 });
  const { id } = await downloads.start('ada/tiny-GGUF');
  const job = await downloads.ended(id);
  assert.is(job.error, null);
  assert.is(job.state, 'completed');
  const commit = hub.repos.get('ada/tiny-GGUF')?.commit ?? '';
  const repo = path.join(folder, 'models--ada--tiny-GGUF');
  assert.is(job.path, path.join(repo, 'snapshots', commit, 'tiny-Q4_K_M.gguf'));
  assert.ok(fs.readFileSync(job.path ?? '').equals(MODEL));
  assert.is(fs.readlinkSync(job.path ?? ''), path.join('..', '..', 'blobs', sha256(MODEL)));
  assert.is(fs.readFileSync(path.join(repo, 'refs', 'main'), 'utf8'), commit);
  assert.equal(fs.readdirSync(path.join(repo, 'blobs')), [sha256(MODEL)]);
  assert.is(hub.seen.filter(({ host, range }) => host === 'cdn' && range !== 'bytes=0-3').length, 4);
  await downloads.close();
});

test.run();
