// Downloads with a process that is killed at every stage: a file never has its final name without its complete content,
// and all received bytes are kept.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { bundleScript, type Child, startChild } from '../support/child.js';
import { tinyModel } from '../support/fake-hub/models.js';
import { sha256 } from '../support/fake-hub/repo.js';
import { type DownloadPlace, resumeDownload } from '../support/fake-hub/resume-download.js';
import { type FakeHub, fakeHub, type Misbehaviour } from '../support/fake-hub.js';
import { until } from '../support/until.js';

const REPO = 'ada/split';
const FILES: Readonly<Record<string, Buffer>> = {
  'split-Q8_0-00001-of-00002.gguf': tinyModel(400_000, 'one'),
  'split-Q8_0-00002-of-00002.gguf': tinyModel(300_000, 'two'),
  'mmproj-split-f16.gguf': tinyModel(200_000, 'projector'),
};
const CONTENTS = Object.values(FILES);
const TOTAL = 900_000;

interface Context {
  folder: string;
  hub: FakeHub;
}

const test = suite<Context>('cli: downloads whose process is killed');
let downloader = '';

test.before(async () => {
  downloader = await bundleScript('test/support/fake-hub/downloader.ts');
});
test.before.each(async (context) => {
  context.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-kill-'));
  context.hub = await fakeHub({ [REPO]: { files: FILES, gguf: { architecture: 'llama' } } });
});

test.after.each(async ({ folder, hub }) => {
  await hub.close();
  fs.rmSync(folder, { recursive: true });
});

function placeOf({ folder, hub }: Context): DownloadPlace {
  const [cacheFolder, list] = [path.join(folder, 'cache'), path.join(folder, 'list')];
  return { endpoint: hub.url, cacheFolder, folder: list, model: REPO };
}

function startDownloader(context: Context, stage = ''): Child {
  const { endpoint, cacheFolder, folder, model } = placeOf(context);
  return startChild(downloader, [endpoint, cacheFolder, folder, model, stage]);
}

function repoFolder({ folder }: Context): string {
  return path.join(folder, 'cache', 'models--ada--split');
}

/** Bytes that the next process can reuse: complete files, and the ranges recorded in part files. */
function bytesThere(context: Context): number {
  const blobs = path.join(repoFolder(context), 'blobs');
  return CONTENTS.reduce((sum, bytes) => {
    const blob = path.join(blobs, sha256(bytes));
    if (fs.existsSync(blob)) return sum + bytes.length;
    const state = `${blob}.chasqui-part.json`;
    const lines = fs.existsSync(state) ? fs.readFileSync(state, 'utf8').trim().split('\n').slice(1) : [];
    const ranges = lines.map((line) => line.split(' ').map(Number));
    return sum + ranges.reduce((bytesOf, [start = 0, , at = 0]) => bytesOf + at - start, 0);
  }, 0);
}

/** Files with a final name are complete. */
function checkNames(context: Context): void {
  const blobs = path.join(repoFolder(context), 'blobs');
  for (const name of fs.existsSync(blobs) ? fs.readdirSync(blobs) : []) {
    if (/^[0-9a-f]{64}$/.test(name)) assert.is(sha256(fs.readFileSync(path.join(blobs, name))), name);
  }
  const snapshots = path.join(repoFolder(context), 'snapshots');
  const links = fs.existsSync(snapshots) ? fs.readdirSync(snapshots, { recursive: true, withFileTypes: true }) : [];
  for (const link of links.filter((entry) => entry.isSymbolicLink())) {
    assert.ok(fs.readFileSync(path.join(link.parentPath, link.name)).equals(FILES[link.name] as Buffer), link.name);
  }
}

/** Resumes in this process, which downloads what is missing and no more. */
async function checkResume(context: Context): Promise<void> {
  checkNames(context);
  const there = bytesThere(context);
  // Otherwise the hub might still send, and count, bytes to the killed process.
  context.hub.dropConnections();
  const sent = context.hub.sentBytes();
  context.hub.misbehaviour = {};
  let began = -1;
  const { state, path: first } = await resumeDownload(placeOf(context), (bytes) => {
    began = bytes;
  });
  assert.equal([began, state], [there, 'completed']);
  assert.is(context.hub.sentBytes() - sent, TOTAL - there);
  checkNames(context);
  assert.ok(first);
  assert.ok(fs.readFileSync(first).equals(CONTENTS[0] as Buffer));
  const files = fs.readdirSync(path.join(repoFolder(context), 'blobs')).sort();
  assert.equal(files, CONTENTS.map(sha256).sort());
  const links = fs.readdirSync(path.dirname(first)).sort();
  assert.equal(links, Object.keys(FILES).sort());
  assert.equal(fs.readdirSync(path.join(repoFolder(context), 'refs')), ['main']);
}

const asked = (what: RegExp, times: number) => (context: Context) =>
  context.hub.seen.filter(({ path: asked }) => what.test(asked)).length >= times;
const hasCome = ({ hub }: Context) => hub.seen.some(({ host }) => host === 'cdn');

/** Stages at which the hub keeps the process waiting until it is killed. */
const outside: [stage: string, misbehaviour: Misbehaviour, there: number, isReached: (context: Context) => boolean][] =
  [
    ['while it asks about the model', { silent: true }, 0, asked(/^\/api\/models\//, 1)],
    ['while it asks whether it has access', { addresses: 0 }, 0, asked(/\/resolve\//, 1)],
    ["while it asks for a file's address", { addresses: 1 }, 0, asked(/\/resolve\//, 2)],
    ['before the first byte', { holds: { path: '.gguf', fromByte: 0 } }, 0, hasCome],
    ['in the middle of a range', { holds: { path: '.gguf', fromByte: 350_000 } }, 350_000, hasCome],
    ['between two parts', { holds: { path: '00002-of-00002.gguf', fromByte: 0 } }, 400_000, hasCome],
    [
      'in the middle of the second part',
      { holds: { path: '00002-of-00002.gguf', fromByte: 260_001 } },
      660_001,
      hasCome,
    ],
    ['between the model and its projector', { holds: { path: 'f16.gguf', fromByte: 0 } }, 700_000, hasCome],
    ['in the middle of the projector', { holds: { path: 'f16.gguf', fromByte: 190_000 } }, 890_000, hasCome],
  ];

for (const [stage, misbehaviour, there, isReached] of outside) {
  test(`killed ${stage}`, async (context) => {
    context.hub.misbehaviour = misbehaviour;
    const child = startDownloader(context);
    await until(() => bytesThere(context) === there && isReached(context), `${there} bytes`, 60_000);
    child.process.kill('SIGKILL');
    assert.is((await child.exited).signal, 'SIGKILL');
    assert.is(bytesThere(context), there);
    await checkResume(context);
  });
}

/** Stages at which the process kills itself. */
for (const [what, stage] of [
  ['before the download is in the list', 'downloads.json 1'],
  ['when it is in the list and waits for its turn', 'queued 1'],
  ['when it begins', 'downloading 1'],
  ["between a part's file and what says how far it is", 'part 1'],
  ['while it verifies the first file', 'verifying 1'],
  ['while it verifies the last file', 'verifying 3'],
  ['before a file gets its name', 'rename 1'],
  ['when a file has its name and its part is not yet cleared up', 'renamed 1'],
  ['before the projector gets its name', 'rename 3'],
  ['when the last file has its name', 'renamed 3'],
  ['before the first link is made', 'link 1'],
  ['between two links', 'link 2'],
  ['before others are told of the new state', 'main 1'],
  ['when others know and its own list does not', 'main written 1'],
  ['while it writes in its list that it is complete', 'downloads.json 8'],
] as const) {
  test(`killed ${what}`, async (context) => {
    const child = startDownloader(context, stage);
    assert.is((await child.exited).signal, 'SIGKILL', child.output.stderr);
    await checkResume(context);
  });
}

test('killed while the next process goes on with it', async (context) => {
  context.hub.misbehaviour = { holds: { path: '.gguf', fromByte: 350_000 } };
  const first = startDownloader(context);
  await until(() => bytesThere(context) === 350_000, '350,000 bytes', 60_000);
  first.process.kill('SIGKILL');
  await first.exited;
  context.hub.misbehaviour = {};
  for (const stage of ['downloading 1', 'part 1', 'verifying 1', 'rename 2', 'link 1']) {
    const before = bytesThere(context);
    const child = startDownloader(context, stage);
    assert.is((await child.exited).signal, 'SIGKILL', child.output.stderr);
    checkNames(context);
    assert.ok(bytesThere(context) >= before, stage);
  }
  await checkResume(context);
});

test('killed again and again, at any moment', async (context) => {
  context.hub.misbehaviour = { bytesPerSecond: 60_000 };
  let there = 0;
  for (let round = 0; round < 5; round += 1) {
    const child = startDownloader(context);
    await until(() => /began/.test(child.output.stdout) || child.process.exitCode !== null, 'it has begun', 60_000);
    assert.match(child.output.stdout, `began with ${there}\n`, child.output.stderr);
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 700));
    child.process.kill('SIGKILL');
    await child.exited;
    checkNames(context);
    assert.ok(bytesThere(context) >= there, 'what had come is still there');
    there = bytesThere(context);
  }
  await checkResume(context);
});

test.run();
