import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { withImages } from '../../../ts/cli/chat/prompt-images.js';

const test = suite('cli: images in prompts');

test('images are found by their paths, other words stay', () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-images-'));
  const file = path.join(folder, 'one two.PNG');
  fs.writeFileSync(file, 'bytes');
  const image = { type: 'image', image: fs.readFileSync(file) };
  const quoted = [`"${file}"`, `'${file}'`];
  const escaped = process.platform === 'win32' ? [] : [file.replaceAll(' ', '\\ ')];
  for (const name of [...quoted, ...escaped]) {
    assert.equal(withImages(`Compare ${name} ${name}`), [image, image, { type: 'text', text: 'Compare' }]);
  }
  for (const text of ['no path', `${folder}/none.png`, folder, 'a\nb "c"']) assert.is(withImages(text), text);
  fs.rmSync(folder, { recursive: true });
});

test('on Windows, a backslash separates folders', () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-images-'));
  const file = `${folder}\\one.png`;
  fs.writeFileSync(file, 'bytes');
  const image = { type: 'image', image: fs.readFileSync(file) };
  assert.equal(withImages(`Describe ${file}`, 'win32'), [image, { type: 'text', text: 'Describe' }]);
  fs.rmSync(file);
  fs.rmSync(folder, { recursive: true, force: true });
});

test('a path that cannot be looked up stays, and long text without spaces', () => {
  const addresses = [`https://a.test/${'a'.repeat(300)}.png`, 'a\0b.png', `${'a/'.repeat(5000)}b.png`];
  for (const text of [...addresses, 'a'.repeat(2e7)]) assert.ok(withImages(text) === text);
});

test.run();
