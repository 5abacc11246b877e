// vendor/llama-source.mjs against a small package made here, so that no test fetches anything.
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';

const root = path.join(import.meta.dirname, '..', '..');
const work = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-setup-'));
const vendor = path.join(work, 'vendor');
const source = path.join(vendor, 'llama.cpp');
const tarball = path.join(vendor, '.cache', 'fake-1.0.0.tgz');

function git(cwd: string, ...args: string[]): string {
  return execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', ...args], { cwd, encoding: 'utf8' }).trim();
}

/** A package with a bundle of one commit, and the manifest that names it. */
function makePackage(): void {
  const repository = path.join(work, 'repository');
  fs.mkdirSync(path.join(repository, 'include'), { recursive: true });
  fs.mkdirSync(path.join(repository, 'docs'));
  fs.writeFileSync(path.join(repository, 'include', 'llama.h'), 'one\ntwo\nthree\n');
  fs.writeFileSync(path.join(repository, 'docs', 'long.md'), 'not needed');
  git(repository, 'init', '--quiet');
  git(repository, 'add', '.');
  git(repository, 'commit', '--quiet', '--message', 'all');
  fs.mkdirSync(path.join(work, 'package'));
  git(repository, 'bundle', 'create', '--quiet', path.join(work, 'package', 'it.bundle'), 'HEAD');
  fs.mkdirSync(path.dirname(tarball), { recursive: true });
  execFileSync('tar', ['-czf', path.relative(work, tarball), 'package'], { cwd: work });
  const integrity = `sha512-${createHash('sha512').update(fs.readFileSync(tarball)).digest('base64')}`;
  const commit = git(repository, 'rev-parse', 'HEAD');
  const manifest = { package: 'fake', version: '1.0.0', integrity, bundle: 'it.bundle', commit, release: 'v1' };
  fs.writeFileSync(path.join(vendor, 'llama.json'), JSON.stringify(manifest));
}

function editManifest(change: Record<string, string>): () => void {
  const file = path.join(vendor, 'llama.json');
  const before = fs.readFileSync(file, 'utf8');
  fs.writeFileSync(file, JSON.stringify({ ...JSON.parse(before), ...change }));
  return () => fs.writeFileSync(file, before);
}

function writePatch(from: string, to: string): void {
  const patch = `The reason.\n\n--- a/include/llama.h\n+++ b/include/llama.h\n@@ -1,3 +1,3 @@\n one\n-${from}\n+${to}\n three\n`;
  fs.writeFileSync(path.join(vendor, 'patches', '0001-it.patch'), patch);
}

function run(env: NodeJS.ProcessEnv = {}) {
  const options = { encoding: 'utf8' as const, env: { ...process.env, CHASQUI_LLAMA_DIR: '', ...env } };
  const { status, stderr } = spawnSync(process.execPath, [path.join(vendor, 'llama-source.mjs')], options);
  return { status, stderr };
}

function header(): string {
  return fs.readFileSync(path.join(source, 'include', 'llama.h'), 'utf8');
}

test.before(() => {
  fs.mkdirSync(path.join(vendor, 'patches'), { recursive: true });
  for (const name of fs.readdirSync(path.join(root, 'vendor')).filter((entry) => entry.endsWith('.mjs'))) {
    fs.copyFileSync(path.join(root, 'vendor', name), path.join(vendor, name));
  }
  makePackage();
});
test.after(() => fs.rmSync(work, { recursive: true, force: true }));

test('a wrong digest stops with both digests and deletes the file', () => {
  const good = fs.readFileSync(tarball);
  const { integrity } = JSON.parse(fs.readFileSync(path.join(vendor, 'llama.json'), 'utf8'));
  fs.appendFileSync(tarball, 'x');
  const { status, stderr } = run();
  assert.is(status, 1);
  assert.match(stderr, /expected sha512-\S+\n\s+actual\s+sha512-\S+/);
  assert.ok(stderr.includes(integrity));
  assert.not.ok(fs.existsSync(tarball));
  assert.not.ok(fs.existsSync(source));
  fs.writeFileSync(tarball, good);
});

test('another commit than the named one stops', () => {
  const restore = editManifest({ commit: '0'.repeat(40) });
  const { status, stderr } = run();
  restore();
  assert.is(status, 1);
  assert.match(stderr, /holds commit [0-9a-f]{40}; vendor\/llama.json names 0{40}/);
  assert.not.ok(fs.existsSync(source));
});

test('a patch that does not apply is named', () => {
  writePatch('something else', 'TWO');
  const { status, stderr } = run();
  assert.is(status, 1);
  assert.match(stderr, /vendor\/patches\/0001-it.patch does not apply/);
  assert.not.ok(fs.existsSync(source));
});

test('the source is unpacked, patched and pruned', () => {
  writePatch('two', 'TWO');
  assert.is(run().status, 0);
  assert.is(header(), 'one\nTWO\nthree\n');
  assert.not.ok(fs.existsSync(path.join(source, '.git')));
  assert.not.ok(fs.existsSync(path.join(source, 'docs')));
});

test('nothing is done when nothing has changed', () => {
  fs.writeFileSync(path.join(source, 'mark'), '');
  assert.is(run().status, 0);
  assert.ok(fs.existsSync(path.join(source, 'mark')));
});

test('a changed patch replaces the source', () => {
  writePatch('two', '2');
  assert.is(run().status, 0);
  assert.is(header(), 'one\n2\nthree\n');
  assert.not.ok(fs.existsSync(path.join(source, 'mark')));
});

test('leftovers of an interrupted run are removed', () => {
  fs.rmSync(path.join(source, '.chasqui-stamp'));
  fs.writeFileSync(path.join(source, 'include', 'llama.h'), 'half');
  const { pid } = spawnSync(process.execPath, ['--version']);
  const left = path.join(vendor, '.cache', `work-${pid}`);
  fs.mkdirSync(path.join(left, 'llama.cpp'), { recursive: true });
  fs.writeFileSync(path.join(vendor, '.cache', 'lock'), String(pid));
  assert.is(run().status, 0);
  assert.is(header(), 'one\n2\nthree\n');
  assert.equal(fs.readdirSync(path.join(vendor, '.cache')), ['fake-1.0.0.tgz']);
});

test('without a network it says what it wanted and where to put it', () => {
  const restore = editManifest({ version: '1.0.1' });
  const { status, stderr } = run({ npm_config_offline: 'true' });
  restore();
  assert.is(status, 1);
  assert.match(stderr, /could not fetch the npm package fake@1\.0\.1/);
  assert.match(stderr, /npm pack fake@1\.0\.1.* put fake-1\.0\.1\.tgz into /);
  assert.is(header(), 'one\n2\nthree\n');
});

test('CHASQUI_LLAMA_DIR is taken as it is, and checked', () => {
  assert.match(run({ CHASQUI_LLAMA_DIR: work }).stderr, /is no llama\.cpp checkout: include\/llama\.h is missing/);
  const { status, stderr } = run({ CHASQUI_LLAMA_DIR: path.join(work, 'repository') });
  assert.is(status, 0);
  assert.ok(stderr.includes(path.join(work, 'repository')));
});

test.run();
