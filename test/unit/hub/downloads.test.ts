import fs from 'node:fs';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { ChasquiError } from '../../../ts/errors.js';
import type { DownloadJob } from '../../../ts/hub/downloads.js';
import {
  blobsIn,
  type DownloadContext,
  download,
  downloadContext,
  FILE,
  MODEL,
  REPO,
} from '../../support/fake-hub/download-context.js';
import { tinyModel } from '../../support/fake-hub/models.js';
import { sha256 } from '../../support/fake-hub/repo.js';
import { textEntry, writeGguf } from '../../support/gguf.js';
import { until } from '../../support/until.js';

const test = suite<DownloadContext>('unit: downloads');
/** Metadata from the hub, so the file header is not read. */
const GGUF = { architecture: 'llama' };

test.before.each(async (context) => {
  Object.assign(context, await downloadContext());
});
test.after.each((context) => context.close());

function failure(promise: Promise<unknown>): Promise<ChasquiError> {
  return promise.then(
    () => assert.unreachable('it was started'),
    (error) => error,
  ) as Promise<ChasquiError>;
}

/** Returns the byte ranges that `writev` wrote to files opened meanwhile. */
async function whileNotingWrites(task: () => Promise<void>): Promise<{ start: number; end: number }[]> {
  const writes: { start: number; end: number }[] = [];
  const { open } = fs.promises;
  fs.promises.open = async (...args) => {
    const handle = await open(...args);
    const writev = handle.writev.bind(handle);
    handle.writev = async (chunks, at = 0) => {
      writes.push({ start: at, end: at + chunks.reduce((sum, { byteLength }) => sum + byteLength, 0) });
      return writev(chunks, at);
    };
    return handle;
  };
  await task().finally(() => {
    fs.promises.open = open;
  });
  return writes;
}

test('a model comes into the cache that llama.cpp reads', async ({ open, folder, hub }) => {
  const job = await download(await open(), REPO);
  assert.is(job.error, null);
  assert.is(job.state, 'completed');
  assert.is(job.model, `${REPO}:Q4_K_M`);
  assert.equal([job.downloadedBytes, job.totalBytes], [MODEL.length, MODEL.length]);
  const commit = hub.repos.get(REPO)?.commit ?? '';
  const repo = path.join(folder, 'models--ada--tiny-GGUF');
  assert.is(job.path, path.join(repo, 'snapshots', commit, FILE));
  assert.ok(fs.readFileSync(job.path ?? '').equals(MODEL));
  assert.is(fs.readlinkSync(job.path ?? ''), path.join('..', '..', 'blobs', sha256(MODEL)));
  assert.is(fs.readFileSync(path.join(repo, 'refs', 'main'), 'utf8'), commit);
  assert.equal(blobsIn(folder), [sha256(MODEL)]);
  const ranges = hub.seen
    .filter(({ host, range }) => host === 'cdn' && range !== 'bytes=0-3')
    .map(({ range }) => range);
  assert.equal(ranges.sort(), ['bytes=0-99999', 'bytes=100000-199999', 'bytes=200000-299999', 'bytes=300000-399999']);
});

test('complete files are not downloaded again', async ({ open, hub }) => {
  const downloads = await open();
  await download(downloads, REPO);
  const sent = hub.sentBytes();
  const again = await downloads.start(`${REPO}:q4_k_m`);
  assert.is(again.state, 'completed');
  assert.is(hub.sentBytes(), sent);
});

test('the list drops the oldest finished downloads', async ({ open, hub }) => {
  hub.put('ada/other', { files: { 'other-Q8_0.gguf': tinyModel(90_000, 'other') }, gguf: GGUF });
  const downloads = await open({ maxFinished: 2 });
  hub.misbehaviour = { holds: { path: 'other', fromByte: 0 } };
  const paused = await downloads.start('ada/other');
  await downloads.pause(paused.id);
  await download(downloads, REPO);
  for (let count = 0; count < 5; count += 1) await downloads.start(REPO);
  assert.equal(
    downloads.list().map(({ state }) => state),
    ['paused', 'completed', 'completed', 'completed'],
  );
});

test('parts and projector are one download', async ({ open, hub, folder }) => {
  const [one, two, eye] = [tinyModel(120_000, 'one'), tinyModel(130_000, 'two'), tinyModel(60_000, 'eye')];
  const files = {
    'Q8_0/big-Q8_0-00001-of-00002.gguf': one,
    'Q8_0/big-Q8_0-00002-of-00002.gguf': two,
    'mmproj-F16.gguf': eye,
    'big-Q4_K_M.gguf': MODEL,
  };
  const { commit } = hub.put('ada/big', { files });
  const job = await download(await open(), 'ada/big:Q8_0');
  assert.is(job.state, 'completed');
  assert.is(job.totalBytes, 310_000);
  const snapshot = path.join(folder, 'models--ada--big', 'snapshots', commit);
  assert.is(job.path, path.join(snapshot, 'Q8_0', 'big-Q8_0-00001-of-00002.gguf'));
  assert.ok(fs.readFileSync(path.join(snapshot, 'Q8_0', 'big-Q8_0-00002-of-00002.gguf')).equals(two));
  assert.ok(fs.readFileSync(path.join(snapshot, 'mmproj-F16.gguf')).equals(eye));
  assert.not.ok(fs.existsSync(path.join(snapshot, 'big-Q4_K_M.gguf')));
});

test('a new state of a repository: only what has changed is downloaded', async ({ open, hub, folder }) => {
  const downloads = await open();
  const eye = tinyModel(60_000, 'eye');
  hub.put(REPO, { files: { [FILE]: MODEL, 'mmproj-F16.gguf': eye }, gguf: GGUF });
  await download(downloads, REPO);
  const newer = tinyModel(50_000, 'newer eye');
  const { commit } = hub.put(REPO, { files: { [FILE]: MODEL, 'mmproj-F16.gguf': newer }, gguf: GGUF });
  const sent = hub.sentBytes();
  const job = await download(downloads, REPO);
  assert.ok(hub.sentBytes() - sent < 60_000);
  assert.match(job.path ?? '', commit);
  assert.ok(fs.readFileSync(job.path ?? '').equals(MODEL));
  assert.ok(fs.readFileSync(path.join(path.dirname(job.path ?? ''), 'mmproj-F16.gguf')).equals(newer));
  assert.is(fs.readFileSync(path.join(folder, 'models--ada--tiny-GGUF', 'refs', 'main'), 'utf8'), commit);
});

test('a file is written by blocks that huge pages hold', async ({ open, hub }) => {
  const block = 2 ** 21;
  const model = tinyModel(8 * block + 12_345);
  hub.put(REPO, { files: { [FILE]: model }, gguf: GGUF });
  const writes = await whileNotingWrites(async () => {
    const job = await download(await open(), REPO);
    assert.is(job.error, null);
    assert.ok(fs.readFileSync(job.path ?? '').equals(model));
  });
  assert.is(Math.max(...writes.map(({ end }) => end)), model.length);
  const blockOf = (byte: number) => Math.floor(byte / block);
  assert.equal(
    writes.filter(({ start, end }) => blockOf(start) !== blockOf(end - 1)),
    [],
  );
  assert.ok(writes.some(({ start, end }) => end - start === block));
});

test('ranges that cannot be of one length reach to the last byte', async ({ open, hub }) => {
  // A size that is another whole number when it is divided by seven and multiplied again.
  const model = Buffer.concat([tinyModel(458_754), Buffer.from('.')]);
  assert.is.not(Math.floor((model.length / 7) * 7), model.length);
  hub.put(REPO, { files: { [FILE]: model }, gguf: GGUF });
  const job = await download(await open({ ranges: 7 }), REPO);
  assert.is(job.error, null);
  assert.ok(fs.readFileSync(job.path ?? '').equals(model));
});

test('it tells how far it has come, and never less than before', async ({ open, hub }) => {
  hub.misbehaviour = { bytesPerSecond: 300_000 };
  const downloads = await open();
  const jobs: DownloadJob[] = [];
  downloads.on((job) => jobs.push(job));
  await download(downloads, REPO);
  const states = jobs.map(({ state }) => state).filter((state, index, all) => state !== all[index - 1]);
  assert.equal(states, ['queued', 'downloading', 'verifying', 'completed']);
  const bytes = jobs.map(({ downloadedBytes }) => downloadedBytes);
  assert.equal(
    bytes,
    [...bytes].sort((one, other) => one - other),
  );
  assert.ok(new Set(bytes).size > 2);
});

test('pause and resume: nothing comes while it is paused, and nothing comes twice', async ({ open, hub, folder }) => {
  hub.misbehaviour = { holds: { path: FILE, fromByte: 350_000 } };
  const downloads = await open({ stallTimeoutMs: 60_000 });
  const { id } = await downloads.start(REPO);
  await until(() => (downloads.find(id)?.downloadedBytes ?? 0) === 350_000, 'all but what is held');
  assert.is((await downloads.pause(id)).state, 'paused');
  assert.is(blobsIn(folder).length, 2);
  hub.misbehaviour = {};
  const sent = hub.sentBytes();
  downloads.resume(id);
  assert.is((await downloads.ended(id)).state, 'completed');
  assert.is(hub.sentBytes() - sent, 50_000);
});

test('cancel deletes what has come, but not what another download is to have', async ({ open, hub, folder }) => {
  hub.misbehaviour = { holds: { path: FILE, fromByte: 300_000 } };
  const downloads = await open({ stallTimeoutMs: 60_000 });
  const { id } = await downloads.start(REPO);
  await until(() => (downloads.find(id)?.downloadedBytes ?? 0) >= 200_000, 'some bytes');
  const job = await downloads.cancel(id);
  assert.equal([job.state, job.downloadedBytes, job.error], ['cancelled', 0, null]);
  assert.equal(blobsIn(folder), []);
  assert.equal(
    downloads.list().map(({ state }) => state),
    ['cancelled'],
  );
});

test('no more at a time than wanted; the others wait for their turn', async ({ open, hub }) => {
  hub.put('ada/other', { files: { 'other-Q8_0.gguf': tinyModel(90_000, 'other') } });
  hub.misbehaviour = { holds: { path: FILE, fromByte: 0 } };
  const downloads = await open({ maxActive: 1, stallTimeoutMs: 60_000 });
  const first = await downloads.start(REPO);
  const second = await downloads.start('ada/other');
  assert.is(downloads.find(second.id)?.state, 'queued');
  await downloads.pause(first.id);
  hub.misbehaviour = {};
  assert.is((await downloads.ended(second.id)).state, 'completed');
  downloads.resume(first.id);
  assert.is((await downloads.ended(first.id)).state, 'completed');
});

test('the same model is not downloaded twice at a time', async ({ open, hub }) => {
  hub.misbehaviour = { holds: { path: FILE, fromByte: 0 } };
  const downloads = await open({ stallTimeoutMs: 60_000 });
  const [first, second] = await Promise.all([downloads.start(REPO), downloads.start(`${REPO}:Q4_K_M`)]);
  assert.is(first.id, second.id);
  hub.misbehaviour = {};
  assert.is((await downloads.ended(first.id)).state, 'completed');
});

test('the list outlives its process, and what was not finished goes on', async ({ open, hub, folder }) => {
  const list = path.join(folder, 'list');
  hub.misbehaviour = { holds: { path: FILE, fromByte: 390_000 } };
  const before = await open({ folder: list, stallTimeoutMs: 60_000 });
  const { id } = await before.start(REPO);
  await until(() => (before.find(id)?.downloadedBytes ?? 0) === 390_000, 'all but what is held');
  await before.close();
  hub.misbehaviour = {};
  const sent = hub.sentBytes();
  const after = await open({ folder: list });
  assert.is(after.find(id)?.downloadedBytes, 390_000);
  assert.is((await after.ended(id)).state, 'completed');
  assert.is(hub.sentBytes() - sent, 10_000);
});

test('paused downloads stay paused after a restart', async ({ open, hub, folder }) => {
  const list = path.join(folder, 'list');
  hub.misbehaviour = { holds: { path: FILE, fromByte: 0 } };
  const before = await open({ folder: list });
  const { id } = await before.start(REPO);
  await before.pause(id);
  await before.close();
  const after = await open({ folder: list });
  assert.is(after.find(id)?.state, 'paused');
});

test('one process has the list open at a time; a list that is spoilt is begun anew', async ({ open, folder }) => {
  const list = path.join(folder, 'list');
  const first = await open({ folder: list });
  assert.is((await failure(open({ folder: list }))).code, 'download_in_use');
  await first.close();
  fs.writeFileSync(path.join(list, 'downloads.json'), '{"downloads":[{"id":1},{"files":[{"path":"../x"}]}');
  assert.equal((await open({ folder: list })).list(), []);
});

test('two with the same cache: the second waits for the first, and nothing comes twice', async ({ open, hub }) => {
  hub.misbehaviour = { holds: { path: FILE, fromByte: 200_000 } };
  const [one, other] = [await open({ stallTimeoutMs: 60_000 }), await open({ stallTimeoutMs: 60_000 })];
  const first = await one.start(REPO);
  await until(() => (one.find(first.id)?.downloadedBytes ?? 0) === 200_000, 'the first half');
  const second = await other.start(REPO);
  await until(() => (other.find(second.id)?.downloadedBytes ?? 0) === 200_000, 'the other sees how far it has come');
  hub.misbehaviour = {};
  assert.is((await one.ended(first.id)).state, 'completed');
  assert.is((await other.ended(second.id)).state, 'completed');
  assert.is(hub.sentBytes(), MODEL.length);
});

test('two with the same cache: what one cancels the other goes on with', async ({ open, hub, folder }) => {
  hub.misbehaviour = { holds: { path: FILE, fromByte: 200_000 } };
  const [one, other] = [await open({ stallTimeoutMs: 60_000 }), await open({ stallTimeoutMs: 60_000 })];
  const first = await one.start(REPO);
  await until(() => (one.find(first.id)?.downloadedBytes ?? 0) === 200_000, 'the first half');
  const second = await other.start(REPO);
  assert.is((await other.cancel(second.id)).state, 'cancelled');
  assert.is(blobsIn(folder).length, 2);
  hub.misbehaviour = {};
  assert.is((await one.ended(first.id)).state, 'completed');
  assert.is(hub.sentBytes(), MODEL.length);
});

test('cancel deletes files that are complete, too, where they have no name yet', async ({ open, hub, folder }) => {
  const second = 'big-Q8_0-00002-of-00002.gguf';
  const parts = { 'big-Q8_0-00001-of-00002.gguf': tinyModel(120_000, 'one'), [second]: tinyModel(130_000, 'two') };
  hub.put('ada/big', { files: { ...parts, 'big-Q4_K_M.gguf': MODEL }, gguf: GGUF });
  const downloads = await open({ stallTimeoutMs: 60_000 });
  await download(downloads, 'ada/big:Q4_K_M');
  hub.misbehaviour = { holds: { path: second, fromByte: 0 } };
  const { id } = await downloads.start('ada/big:Q8_0');
  await until(() => blobsIn(folder, 'ada/big').length === 4, 'the first part is there, and the second begun');
  assert.is((await downloads.cancel(id)).downloadedBytes, 0);
  assert.equal(blobsIn(folder, 'ada/big'), [sha256(MODEL)]);
});

test('no space: refused before a byte is downloaded, with both numbers', async ({ open, folder }) => {
  const downloads = await open({ freeBytes: async () => 100_000 });
  const error = await failure(downloads.start(REPO));
  assert.is(error.code, 'no_space');
  assert.match(error.message, /needs 400 kB more, 100 kB are free. Free 300 kB/);
  assert.equal(blobsIn(folder), []);
  assert.equal(downloads.list(), []);
});

test('existing files need no disk space', async ({ open, hub, folder }) => {
  hub.misbehaviour = { holds: { path: FILE, fromByte: 350_000 } };
  const downloads = await open({ stallTimeoutMs: 60_000 });
  const { id } = await downloads.start(REPO);
  await until(() => (downloads.find(id)?.downloadedBytes ?? 0) === 350_000, 'most of it');
  await downloads.pause(id);
  hub.misbehaviour = {};
  const job = await download(await open({ freeBytes: async () => 50_000 }), REPO);
  assert.is(job.state, 'completed');
  assert.equal(blobsIn(folder), [sha256(MODEL)]);
});

test('an architecture that this llama.cpp does not know: said before, and may be insisted on', async ({
  open,
  hub,
}) => {
  hub.put('ada/new', { files: { 'new-Q4_K_M.gguf': MODEL }, gguf: { architecture: 'mambaformer9' } });
  const downloads = await open();
  const error = await failure(downloads.start('ada/new'));
  assert.is(error.code, 'architecture_unknown');
  assert.match(error.message, /mambaformer9/);
  assert.is(hub.sentBytes(), 0);
  const { id } = await downloads.start('ada/new', { anyArchitecture: true });
  assert.is((await downloads.ended(id)).state, 'completed');
});

test('a hub that does not say the architecture: the file does', async ({ open, hub, folder }) => {
  const file = path.join(folder, 'new.gguf');
  writeGguf(file, [textEntry('general.architecture', 'mambaformer9')], []);
  hub.put('ada/new', { files: { 'new-Q4_K_M.gguf': fs.readFileSync(file) } });
  const downloads = await open();
  assert.is((await failure(downloads.start('ada/new'))).code, 'architecture_unknown');
  assert.equal(blobsIn(folder, 'ada/new'), []);
});

test('a hub that names no digests: the size is all that is checked', async ({ open, hub, folder }) => {
  hub.put('ada/plain', { files: { 'plain-Q8_0.gguf': MODEL }, withoutDigests: true });
  const downloads = await open();
  const job = await download(downloads, 'ada/plain');
  assert.is(job.state, 'completed');
  assert.ok(fs.readFileSync(job.path ?? '').equals(MODEL));
  assert.equal(blobsIn(folder, 'ada/plain'), [sha256(MODEL)]);
  assert.is((await downloads.start('ada/plain')).state, 'completed');
});

test('a list that cannot be written ends no download that has begun, and begins none', async ({
  open,
  folder,
  hub,
}) => {
  hub.put('ada/other', { files: { 'other-Q8_0.gguf': tinyModel(90_000, 'other') }, gguf: GGUF });
  hub.misbehaviour = { holds: { path: FILE, fromByte: 350_000 } };
  const list = path.join(folder, 'list');
  const obstacle = path.join(list, 'downloads.json.new');
  const downloads = await open({ folder: list, stallTimeoutMs: 60_000 });
  const { id } = await downloads.start(REPO);
  await until(() => (downloads.find(id)?.downloadedBytes ?? 0) === 350_000, 'all but what is held');
  fs.mkdirSync(obstacle);
  assert.is((await downloads.pause(id)).state, 'paused');
  assert.match(
    (await failure(downloads.start('ada/other'))).message,
    /^The list of downloads cannot be written: EISDIR/,
  );
  assert.is(downloads.list().length, 1);
  hub.misbehaviour = {};
  downloads.resume(id);
  assert.is((await downloads.ended(id)).state, 'completed');
  // The next change keeps what could not be kept before.
  fs.rmdirSync(obstacle);
  await download(downloads, 'ada/other');
  const kept = JSON.parse(fs.readFileSync(path.join(list, 'downloads.json'), 'utf8')).downloads;
  assert.equal(
    kept.map(({ state }: DownloadJob) => state),
    ['completed', 'completed'],
  );
});

test.run();
