// Vectors of all-MiniLM-L6-v2 equal those that numpy computes from the published weights, in 99 languages.
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { withModel } from '../support/answer.js';
import { root } from '../support/places.js';
import { pythonWith } from '../support/pypi.js';
import { miniLM } from '../support/real-models.js';
import { writeMiniLM, writeTokenizer } from './minilm.js';
import { TOKENIZERS, textsOfLanguages } from './texts.js';

const REFERENCE = [...TOKENIZERS, 'numpy==2.2.6'];
const folder = fs.mkdtempSync(path.join(root, 'build', 'real-embeddings-'));
const inFolder = (name: string) => path.join(folder, name);
test.after(() => fs.rmSync(folder, { recursive: true }));

const dot = (one: ArrayLike<number>, other: ArrayLike<number>) =>
  Array.from(one).reduce((sum, value, i) => sum + value * (other[i] as number), 0);

test('the cosine of each text is at least 0.9999', async () => {
  const texts = textsOfLanguages().filter((text, i) => i % 193 === 0 && text.length < 400);
  assert.ok(texts.length > 95);
  fs.writeFileSync(inFolder('texts.json'), JSON.stringify(texts));
  writeTokenizer(inFolder('tokenizer.json'));
  const files = [miniLM('model.safetensors'), inFolder('tokenizer.json'), inFolder('texts.json')];
  const out = inFolder('vectors.json');
  pythonWith(REFERENCE, [path.join(import.meta.dirname, 'reference.py'), 'embed', ...files, out]);
  const expected: number[][] = JSON.parse(fs.readFileSync(out, 'utf8'));
  writeMiniLM(inFolder('tokenizer.json'), inFolder('minilm.gguf'));
  await withModel(inFolder('minilm.gguf'), {}, async (model) => {
    const { vectors } = await model.embed(texts);
    const far = vectors
      .map((vector, i) => [texts[i], dot(vector, expected[i] as number[])])
      .filter(([, cosine]) => !((cosine as number) >= 0.9999));
    assert.equal(far, []);
  });
});

test.run();
