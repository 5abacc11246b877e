import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { describeFile, suggestNearbyFile } from '../../../ts/cli/errors/model-file-hints.js';

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-look-'));
const test = suite('cli: what a file is');
test.after(() => fs.rmSync(folder, { recursive: true }));

function write(name: string, bytes: string | Buffer): string {
  const file = path.join(folder, name);
  fs.writeFileSync(file, bytes);
  return file;
}

const safetensors = Buffer.concat([Buffer.from([60, 0, 0, 0, 0, 0, 0, 0]), Buffer.from('{"a":{}}'.padEnd(60, ' '))]);

const KINDS: [name: string, bytes: string | Buffer, says: RegExp][] = [
  ['empty', '', /It is empty/],
  ['pointer', 'version https://git-lfs.github.com/spec/v1\noid sha256:0\n', /git lfs pull/],
  ['page', '<!DOCTYPE html>\n<html>', /a web page.*\/resolve\//],
  ['safetensors', safetensors, /safetensors.*chasqui search/],
  ['pytorch', 'PK\x03\x04archive/data.pkl', /ZIP archive/],
  ['old', 'lmgg\x01\x00\x00\x00', /older than GGUF/],
  ['gzip', Buffer.from([0x1f, 0x8b, 8, 0]), /gunzip/],
  ['json', '{"architectures": []}', /JSON/],
  ['cut', Buffer.alloc(4096), /begins with zeros/],
];

for (const [name, bytes, says] of KINDS) {
  test(`says of a file: ${name}`, () => {
    assert.match(describeFile(write(name, bytes)) ?? '', says);
  });
}

test('says nothing of what it does not know, or may not read', () => {
  assert.is(describeFile(write('unknown', 'some words')), undefined);
  assert.is(describeFile(path.join(folder, 'nowhere')), undefined);
});

test('names the models of a folder, and the nearest to a name', () => {
  const models = path.join(folder, 'models');
  fs.mkdirSync(models);
  assert.is(describeFile(models), 'It contains no models.');
  for (const name of ['qwen-0.5b.gguf', 'llama-8b.gguf', 'a.gguf', 'b.gguf', 'notes.txt']) {
    fs.writeFileSync(path.join(models, name), '');
  }
  assert.match(
    describeFile(models) ?? '',
    /^It contains 4 models: .*a\.gguf, .*b\.gguf, .*llama-8b\.gguf and 1 more\. .*--models-dir/,
  );
  assert.is(
    suggestNearbyFile(path.join(models, 'qwen-05b.gguf')),
    `Did you mean ${path.join(models, 'qwen-0.5b.gguf')}?`,
  );
  assert.match(suggestNearbyFile(path.join(models, 'something-else.bin')) ?? '', /^In .*models there are a\.gguf/);
  assert.is(
    suggestNearbyFile(path.join(folder, 'none', 'x.gguf')),
    `The folder ${path.join(folder, 'none')} does not exist either.`,
  );
});

test.run();
