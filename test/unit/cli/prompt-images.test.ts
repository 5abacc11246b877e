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
  for (const name of [`"${file}"`, `'${file}'`, file.replaceAll(' ', '\\ ')]) {
    assert.equal(withImages(`Compare ${name} ${name}`), [image, image, { type: 'text', text: 'Compare' }]);
  }
  for (const text of ['no path', `${folder}/none.png`, folder, 'a\nb "c"']) assert.is(withImages(text), text);
  fs.rmSync(folder, { recursive: true });
});

test.run();
