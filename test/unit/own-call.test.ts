import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ownCall } from '../../ts/own-call.js';
import { root } from '../support/places.js';

const test = suite<{ folder: string }>('own call');

test.before((context) => {
  context.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-call-'));
});

test.after(({ folder }) => fs.rmSync(folder, { recursive: true, force: true }));

/** A project, or a folder of a system, with the program `chasqui`. */
function installation(folder: string, bin: string): { root: string; bin: string } {
  fs.mkdirSync(path.join(folder, bin), { recursive: true });
  fs.writeFileSync(path.join(folder, bin, 'chasqui'), '', { mode: 0o755 });
  return { root: path.join(folder, 'node_modules', 'chasqui', path.sep), bin: path.join(folder, bin) };
}

test('npx says so in the environment', () => {
  assert.is(ownCall({ environment: { npm_command: 'exec', PATH: '' } }), 'npx chasqui');
});

test('a clone has no command', () => {
  assert.is(ownCall({ environment: {} }), `node ${path.relative('', path.join(root, 'dist', 'cli.js'))}`);
});

test('a package of a project is called by npx, in scripts too', ({ folder }) => {
  const project = installation(path.join(folder, 'project'), 'node_modules/.bin');
  assert.is(ownCall({ environment: { PATH: project.bin }, root: project.root, node: '/none/node' }), 'npx chasqui');
  assert.is(ownCall({ environment: {}, root: project.root, node: '/none/node' }), 'npx chasqui');
});

test('a global package and a system package are called by name', ({ folder }) => {
  const { root: home, bin } = installation(path.join(folder, 'global'), 'bin');
  const environment = { PATH: ['/none', bin].join(path.delimiter) };
  assert.is(ownCall({ environment, root: home, node: '/none/node' }), 'chasqui');
});

test('an unpacked archive is called by the path of its launcher', ({ folder }) => {
  const { root: home, bin } = installation(path.join(folder, 'archive'), 'bin');
  const called = ownCall({ environment: { PATH: '/none' }, root: home, node: path.join(bin, 'node') });
  assert.is(called, path.join(bin, 'chasqui'));
});

test.run();
