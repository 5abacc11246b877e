// Arguments of podman for a runner's container.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { confinement, filesOf, limitsOf, runArguments } from '../../../../ts/cloud/runners/container-arguments.js';
import type { RunnerConfig } from '../../../../ts/cloud/runners/protocol.js';
import { LOAD_OPTIONS } from '../../../../ts/options/load-option-table.js';
import type { OptionRow } from '../../../../ts/options/option-row.js';

const test = suite('cloud: container arguments');
let folder = '';

test.before(() => {
  folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-files-')));
});
test.after(() => fs.rmSync(folder, { recursive: true }));

function file(name: string): string {
  const at = path.join(folder, name);
  fs.mkdirSync(path.dirname(at), { recursive: true });
  fs.writeFileSync(at, '');
  return at;
}

function argumentsFor(more: Partial<RunnerConfig>): string[] {
  const config: RunnerConfig = {
    id: 'r1',
    bootId: 'b',
    socketPath: '/s',
    controlPath: '/c',
    modelPath: file('plain/m.gguf'),
    options: {},
    others: [],
    responsesFolder: '/r',
    drainMs: 1,
    endsWithParent: false,
    orphanMs: 1,
    ...more,
  };
  const container = { name: 'chasqui-r1', cloud: 'c', image: 'i', pidFile: '/p', configFile: `${folder}/c.json` };
  const limits = { memoryBytes: 1000, cpus: null, gpus: [] };
  return runArguments(config, { ...container, folders: [folder], limits });
}

test('everything that an option names a file by is mounted', () => {
  // Apps keep no conversations on disk.
  const { cacheFolder: _, ...ofApps } = LOAD_OPTIONS;
  const rows: [string, OptionRow][] = Object.entries(ofApps);
  const names = rows.filter(([, { type }]) => type === 'path' || type === 'paths').map(([name]) => name);
  const options = Object.fromEntries(
    names.map((name) => [name, rows.find(([each]) => each === name)?.[1].type === 'path' ? `/${name}` : [`/${name}`]]),
  );
  const files = filesOf({ modelPath: '/model.gguf', options, others: [] });
  assert.ok(names.length >= 3);
  assert.equal([...files].sort(), ['/model.gguf', ...names.map((name) => `/${name}`)].sort());
});

test('a model in several files is mounted as a whole, and so is the projector beside it', () => {
  const parts = ['1', '2'].map((number) => file(`split/m-0000${number}-of-00002.gguf`));
  const projector = file('split/mmproj-m.gguf');
  const modelPath = parts[0] as string;
  assert.equal(filesOf({ modelPath, options: {}, others: [] }), [...parts, projector]);
  assert.equal(filesOf({ modelPath, options: { mmproj: null }, others: [] }), parts);
});

test('all models of an app are mounted, and what two of them share once', () => {
  const [one, two] = [file('two/one.gguf'), file('two/two.gguf')];
  const draft = { draftModel: file('two/draft.gguf') };
  const others = [{ modelPath: two, options: { ...draft, mmproj: null } }];
  assert.equal(filesOf({ modelPath: one, options: { ...draft, mmproj: null }, others }), [one, draft.draftModel, two]);
});

test('a file of a cache, which is a link, is mounted under the name that it goes by', () => {
  const blob = file('blobs/abc');
  const link = path.join(folder, 'm.gguf');
  fs.symlinkSync(blob, link);
  const mounts = argumentsFor({ modelPath: link }).filter((each) => each.startsWith('--mount='));
  assert.ok(mounts.includes(`--mount=type=bind,source=${blob},target=${link},readonly=true`));
  assert.ok(mounts.includes(`--mount=type=bind,source=${folder},target=${folder}`));
});

test('a file that is not there is left to the runner, and a path that podman would take apart is refused', () => {
  const mounts = argumentsFor({ modelPath: path.join(folder, 'gone.gguf') }).filter((each) => /gone/.test(each));
  assert.equal(mounts, []);
  assert.throws(() => argumentsFor({ modelPath: file('a,readonly=false.gguf') }), /cannot mount a path with a comma/);
});

test('a network is there only for what fetches images', () => {
  assert.ok(argumentsFor({}).includes('--network=none'));
  assert.not.ok(argumentsFor({ options: { mmproj: file('p.gguf') } }).includes('--network=none'));
});

test('secrets are no arguments, which others on the machine could read', () => {
  const given = argumentsFor({ environment: { HF_TOKEN: 'hidden' } });
  assert.not.ok(given.join(' ').includes('hidden'));
});

test("the script's memory is the limit; an estimate gets headroom", () => {
  const options = { threads: 4 };
  assert.equal(limitsOf({ memoryBytes: 2 ** 30, options }, 5), {
    memoryBytes: 2 ** 30,
    cpus: 5,
    gpus: [],
  });
  const { memoryBytes, cpus } = limitsOf({ memoryBytes: null, options: {} }, 4 * 2 ** 30);
  assert.is(memoryBytes, 6 * 2 ** 30);
  assert.is(cpus, null);
});

test('a container has the devices of its GPUs only', () => {
  const limits = limitsOf({ memoryBytes: null, options: {} }, 1, ['0', '3']);
  const devices = confinement(limits).filter((each) => each.startsWith('--device'));
  assert.equal(devices, ['--device=nvidia.com/gpu=0', '--device=nvidia.com/gpu=3']);
});

test.run();
