// A download whose process is killed, at every stage: no file ever has its name without its bytes, and all that had come
// is still there.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Child, startChild } from '../support/child.js';
import { tinyModel } from '../support/fake-hub/models.js';
import { sha256 } from '../support/fake-hub/repo.js';
import { type FakeHub, fakeHub, type Misbehaviour } from '../support/fake-hub.js';
import { until } from '../support/until.js';

const REPO = 'ada/split';
const PARTS = [tinyModel(400_000, 'one'), tinyModel(300_000, 'two')];
const TOTAL = 700_000;

interface Context {
  folder: string;
  hub: FakeHub;
}

const test = suite<Context>('cli: downloads whose process is killed');

test.before.each(async (context) => {
  context.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-kill-'));
  const files = Object.fromEntries(PARTS.map((bytes, at) => [`split-Q8_0-0000${at + 1}-of-00002.gguf`, bytes]));
  context.hub = await fakeHub({ [REPO]: { files, gguf: { architecture: 'llama' } } });
});

test.after.each(async ({ folder, hub }) => {
  await hub.close();
  fs.rmSync(folder, { recursive: true });
});

function startDownloader({ folder, hub }: Context, stage = ''): Child {
  const args = [hub.url, path.join(folder, 'cache'), path.join(folder, 'list'), REPO, stage];
  return startChild('test/support/fake-hub/downloader.ts', args);
}

function repoFolder({ folder }: Context): string {
  return path.join(folder, 'cache', 'models--ada--split');
}

/** Bytes that the next process can go on with: whole files, and what the part files say. */
function bytesThere(context: Context): number {
  const blobs = path.join(repoFolder(context), 'blobs');
  return PARTS.reduce((sum, bytes) => {
    const blob = path.join(blobs, sha256(bytes));
    if (fs.existsSync(blob)) return sum + bytes.length;
    const state = `${blob}.chasqui-part.json`;
    const lines = fs.existsSync(state) ? fs.readFileSync(state, 'utf8').trim().split('\n').slice(1) : [];
    const ranges = lines.map((line) => line.split(' ').map(Number));
    return sum + ranges.reduce((bytesOf, [start = 0, , at = 0]) => bytesOf + at - start, 0);
  }, 0);
}

/** Whatever has a name has its bytes. */
function checkNames(context: Context): void {
  const blobs = path.join(repoFolder(context), 'blobs');
  for (const name of fs.existsSync(blobs) ? fs.readdirSync(blobs) : []) {
    if (/^[0-9a-f]{64}$/.test(name)) assert.is(sha256(fs.readFileSync(path.join(blobs, name))), name);
  }
  const snapshots = path.join(repoFolder(context), 'snapshots');
  const links = fs.existsSync(snapshots) ? fs.readdirSync(snapshots, { recursive: true, withFileTypes: true }) : [];
  for (const link of links.filter((entry) => entry.isSymbolicLink())) {
    const at = Number(/0000(\d)-of/.exec(link.name)?.[1]) - 1;
    assert.ok(fs.readFileSync(path.join(link.parentPath, link.name)).equals(PARTS[at] as Buffer));
  }
}

/** The next process downloads what is missing and no more. */
async function checkResume(context: Context): Promise<void> {
  checkNames(context);
  const there = bytesThere(context);
  const sent = context.hub.sentBytes();
  context.hub.misbehaviour = {};
  const child = startDownloader(context);
  await child.exited;
  assert.match(child.output.stdout, `began with ${there}\n`, child.output.stderr);
  assert.match(child.output.stdout, '"state":"completed"');
  assert.is(context.hub.sentBytes() - sent, TOTAL - there);
  checkNames(context);
  const { path: first } = JSON.parse(child.output.stdout.split('\n')[1] ?? '');
  assert.ok(fs.readFileSync(first).equals(PARTS[0] as Buffer));
  const files = fs.readdirSync(path.join(repoFolder(context), 'blobs')).sort();
  assert.equal(files, PARTS.map(sha256).sort());
}

const outside: [stage: string, misbehaviour: Misbehaviour, there: number][] = [
  ['before the first byte', { holds: { path: '.gguf', fromByte: 0 } }, 0],
  ['in the middle of a range', { holds: { path: '.gguf', fromByte: 350_000 } }, 350_000],
  ['between two parts', { holds: { path: '00002-of-00002.gguf', fromByte: 0 } }, 400_000],
  ['in the middle of the second part', { holds: { path: '00002-of-00002.gguf', fromByte: 260_001 } }, 660_001],
];

for (const [stage, misbehaviour, there] of outside) {
  test(`killed ${stage}`, async (context) => {
    context.hub.misbehaviour = misbehaviour;
    const child = startDownloader(context);
    const isThere = () => bytesThere(context) === there && context.hub.seen.some(({ host }) => host === 'cdn');
    await until(isThere, `${there} bytes`, 60_000);
    child.process.kill('SIGKILL');
    assert.is((await child.exited).signal, 'SIGKILL');
    assert.is(bytesThere(context), there);
    await checkResume(context);
  });
}

for (const [what, stage] of [
  ['while it verifies', 'verifying'],
  ['before a file gets its name', 'rename'],
  ['before the first link is made', 'link'],
  ['before others are told of the new state', 'ref'],
  ['while it writes the list of downloads', 'list'],
] as const) {
  test(`killed ${what}`, async (context) => {
    const child = startDownloader(context, stage);
    assert.is((await child.exited).signal, 'SIGKILL', child.output.stderr);
    await checkResume(context);
  });
}

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
