import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { findProjector } from '../../../ts/engine/find-projector.js';

const test = suite('unit: find projector');

/** What is found beside `model` in a folder that holds these files. */
function found(model: string, files: readonly string[]): string | null {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-projector-'));
  try {
    for (const file of files) {
      if (file.endsWith('/')) fs.mkdirSync(path.join(folder, file));
      else fs.writeFileSync(path.join(folder, file), '');
    }
    const projector = findProjector(path.join(folder, model));
    return projector && path.relative(folder, projector);
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
}

test('a projector that is named after the model', () => {
  for (const projector of ['mmproj-a.gguf', 'a-mmproj.gguf', 'a.mmproj.gguf', 'MMPROJ-A.GGUF']) {
    assert.is(found('a.gguf', ['a.gguf', 'b.gguf', 'mmproj-b.gguf', projector]), projector);
  }
});

test('a projector by any name, where model and projector are alone', () => {
  assert.is(found('a.gguf', ['a.gguf', 'mmproj-model-f16.gguf', 'README.md']), 'mmproj-model-f16.gguf');
  assert.is(found('a.gguf', ['a.gguf', 'mmproj.gguf']), 'mmproj.gguf');
});

test('the parts of a split model are one model', () => {
  const parts = ['a-00001-of-00002.gguf', 'a-00002-of-00002.gguf'];
  assert.is(found('a-00001-of-00002.gguf', [...parts, 'mmproj-f16.gguf']), 'mmproj-f16.gguf');
});

test('attributes of macOS and folders are no models', () => {
  const files = ['a.gguf', '._a.gguf', 'mmproj.gguf', '._mmproj.gguf', 'b.gguf/'];
  assert.is(found('a.gguf', files), 'mmproj.gguf');
});

test('none where it is not certain whose it is', () => {
  assert.is(found('a.gguf', ['a.gguf', 'b.gguf', 'mmproj.gguf']), null);
  assert.is(found('a.gguf', ['a.gguf', 'mmproj-f16.gguf', 'mmproj-f32.gguf']), null);
  assert.is(found('a.gguf', ['a.gguf']), null);
});

test('none in a folder that is not there', () => {
  assert.is(findProjector('/nowhere/at/all/model.gguf'), null);
});

test.run();
