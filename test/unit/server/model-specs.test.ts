import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { LoadOptions } from '../../../ts/engine/load-options.js';
import { sizeOfModel } from '../../../ts/engine/model-files.js';
import type { ChasquiError } from '../../../ts/errors.js';
import { findInFolder } from '../../../ts/hub/find-in-folders.js';
import { type ModelFiles, modelSpecs } from '../../../ts/server/model-specs.js';

const test = suite<{ folder: string; at(name: string): string }>('unit: which models a server has');

test.before((context) => {
  context.folder = mkdtempSync(path.join(os.tmpdir(), 'chasqui-specs-'));
  context.at = (name) => path.join(context.folder, `${name}.gguf`);
  for (const name of ['a', 'b', 'mmproj-a']) writeFileSync(context.at(name), '');
  symlinkSync(context.at('a'), context.at('z'));
});
test.after(({ folder }) => rmSync(folder, { recursive: true }));

const messageOf = (files: ModelFiles, options: LoadOptions = {}) => {
  try {
    modelSpecs(files, options);
  } catch (error) {
    assert.is((error as ChasquiError).code, 'invalid_options');
    return (error as Error).message;
  }
  throw new Error('It was taken.');
};

test('presets first, then what was given, then the folder; each file once', ({ folder, at }) => {
  const presets = [
    { id: 'mine', file: at('b'), options: { parallel: 2 } },
    { id: 'a', options: { threads: 3 }, pin: true },
  ];
  assert.equal(modelSpecs({ paths: [at('a')], folder, presets }, { parallel: 8, threads: 1 }), [
    { id: 'mine', file: at('b'), options: { parallel: 2, threads: 1 }, aliases: ['b'] },
    { id: 'a', file: at('a'), options: { parallel: 8, threads: 3 }, pin: true, aliases: ['z'], atStart: true },
  ]);
});

test('a preset without a file is for a model that is there', ({ at }) => {
  const presets = [{ id: 'other', options: {} }];
  assert.match(messageOf({ paths: [at('a')], presets }), /section \[other\], but there is no such model/);
});

test('models of the library go by their names there, with their projectors; a file that is there already gets a name more', ({
  folder,
  at,
}) => {
  const library = [
    { id: 'ada/a:Q8_0', path: at('a'), projector: at('mmproj-a') },
    { id: 'ada/b:Q8_0', path: at('b'), projector: null },
  ];
  const presets = [{ id: 'ada/b:Q8_0', options: { parallel: 2 }, pin: true }];
  assert.equal(modelSpecs({ paths: [], library, presets }, { threads: 1 }), [
    { id: 'ada/a:Q8_0', file: at('a'), options: { mmproj: at('mmproj-a'), threads: 1 }, aliases: [], atStart: false },
    {
      id: 'ada/b:Q8_0',
      file: at('b'),
      options: { mmproj: null, threads: 1, parallel: 2 },
      pin: true,
      aliases: [],
      atStart: false,
    },
  ]);
  const both = modelSpecs({ paths: [at('b')], folder, library }, {});
  assert.equal(
    both.map(({ id, aliases, atStart, options }) => [id, aliases, atStart, options.mmproj]),
    [
      ['b', ['ada/b:Q8_0'], true, null],
      ['a', ['z', 'ada/a:Q8_0'], false, at('mmproj-a')],
    ],
  );
});

test('a folder may hold links that lead nowhere, subfolders, and attributes of macOS', () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'chasqui-specs-'));
  const at = (name: string) => path.join(folder, name);
  const failures: unknown[] = [];
  const onFailure = (id: string, error: unknown) => failures.push([id, (error as ChasquiError).code]);
  try {
    for (const name of ['a.gguf', '._a.gguf', 'c-00001-of-00002.gguf']) writeFileSync(at(name), '');
    mkdirSync(at('b.gguf'));
    const links = { loop: 'loop.gguf', lost: 'nowhere.gguf', under: 'a.gguf/x.gguf', 'c-00002-of-00002': 'loop.gguf' };
    for (const [name, target] of Object.entries(links)) symlinkSync(target, at(`${name}.gguf`));
    const specs = modelSpecs({ paths: [], folder, onFailure }, {});
    assert.equal(
      specs.map(({ id }) => id),
      ['a', 'c'],
    );
    assert.equal(
      failures,
      Object.keys(links)
        .sort()
        .map((name) => [`${name}.gguf`, 'model_file_invalid']),
    );
    assert.equal(
      specs.map(({ file }) => sizeOfModel(file)),
      [0, 0],
    );
    assert.is(findInFolder(folder).length, 1);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('adapters go to their model', ({ at }) => {
  const lorasOf = (files: ModelFiles, lora: string[]) => modelSpecs(files, { lora }).map(({ options }) => options.lora);
  assert.equal(lorasOf({ paths: [at('a')] }, ['x.gguf', 'a:y=y.gguf']), [['x.gguf', 'y=y.gguf']]);
  const both = { paths: [at('a'), at('b')] };
  assert.equal(lorasOf(both, ['b:y=y.gguf:0.5']), [undefined, ['y=y.gguf:0.5']]);
  for (const text of ['x.gguf', 'y=y.gguf', 'c:y=y.gguf']) {
    assert.match(messageOf(both, { lora: [text] }), /several models: say which one it is for, as in a:name=file\.gguf/);
  }
  const presets = [{ id: 'p', file: at('b'), options: { lora: ['own.gguf'] } }];
  assert.equal(lorasOf({ paths: [at('a')], presets }, ['p:more=m.gguf']), [['own.gguf', 'more=m.gguf'], undefined]);
});

test.run();
