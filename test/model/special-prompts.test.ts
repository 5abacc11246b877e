import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadModel, type Model } from '../../ts/index.js';
import { demoModelPath } from '../support/demo-model.js';
import { writeDecoder } from '../support/random-model.js';

const folder = mkdtempSync(join(tmpdir(), 'chasqui-infill-'));
let infilling: Model;
let demo: Model;
test.before(async () => {
  infilling = await loadModel(writeDecoder(join(folder, 'decoder.gguf')), { contextSize: 256, threads: 1 });
  demo = await loadModel(demoModelPath, { contextSize: 256, threads: 1 });
});
test.after(async () => {
  await Promise.all([infilling.close(), demo.close()]);
  rmSync(folder, { recursive: true });
});

async function spelled(model: Model, tokens: Iterable<number>): Promise<string> {
  return Buffer.concat(await model.pieces([...tokens])).toString();
}

test('a gap’s prompt is what is before it and after it, between the vocabulary’s own marks', async () => {
  assert.ok(infilling.model.infills);
  const prompt = await infilling.tokenizeInfill('def add(a, b):\n', '\n    return c <fim_middle>');
  assert.is(
    await spelled(infilling, prompt),
    '<fim_prefix>def add(a, b):\n<fim_suffix>\n    return c <fim_middle><fim_middle>',
  );
  const [mark] = await infilling.tokenize('<fim_middle>', { parseSpecial: true });
  assert.is(prompt.filter((token) => token === mark).length, 1, 'what a text says is no mark');
  for await (const token of infilling.generate({ prompt: [...prompt], maxTokens: 1 })) {
    assert.is(token.finish?.promptTokens, prompt.length);
  }
});

test('a model without such marks refuses', async () => {
  assert.not.ok(demo.model.infills);
  await demo.tokenizeInfill('a', 'b').then(
    () => assert.unreachable(),
    (error) => assert.is(error.code, 'model_not_capable'),
  );
});

test('tokens spell the text that they came from, marks by their names', async () => {
  for (const text of ['Hello there!', 'naïve 日本 🙂\n\n', '<|im_start|>user\nHi<|im_end|>']) {
    assert.is(await spelled(demo, await demo.tokenize(text, { parseSpecial: true })), text);
  }
  await demo.pieces([demo.model.vocabularySize]).then(
    () => assert.unreachable(),
    (error) => assert.is(error.code, 'invalid_job'),
  );
});

test.run();
