// Vectors of texts with images: alike for every pooling, and the same as llama.cpp's for texts.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ChasquiError, loadModel, type Model } from '../../ts/index.js';
import { demoModelPath } from '../support/demo-model.js';
import { DRAWING, picture } from '../support/image-files.js';

const test = suite<{ model: Model }>('model: embeddings of images');

const OPTIONS = { contextSize: 1024, parallel: 1, threads: 1 };
const red = { bytes: Uint8Array.from(await picture('png')) };
const blue = { bytes: Uint8Array.from(await picture('png', { ...DRAWING, square: [20, 40, 220] })) };

test.before(async (context) => {
  context.model = await loadModel(demoModelPath, { ...OPTIONS, pooling: 'mean' });
});
test.after(({ model }) => model.close());

const show = ({ model: { imageMarker } }: Model, ...images: { bytes: Uint8Array }[]) => ({
  prompt: `What is this: ${images.map(() => imageMarker).join(' and ')}?`,
  images,
});

const distance = (one: Float32Array, other: Float32Array) =>
  Math.hypot(...one.map((each, at) => each - (other[at] ?? 0)));

test('equal images have equal vectors, others do not; texts are as before', async ({ model }) => {
  const text = 'What is this?';
  const inputs = [show(model, red), text, show(model, red), show(model, blue), show(model, blue, red)];
  const { vectors, promptTokens } = await model.embed(inputs);
  const [first, alone, second, other, both] = vectors as [Float32Array, ...Float32Array[]] as Float32Array[];
  assert.is(vectors.length, 5);
  for (const vector of vectors) assert.ok(Math.abs(Math.hypot(...vector) - 1) < 1e-3);
  assert.ok(distance(first as Float32Array, second as Float32Array) < 1e-5);
  for (const each of [alone, other, both]) assert.ok(distance(first as Float32Array, each as Float32Array) > 1e-3);
  const texts = await model.embed([text]);
  assert.ok(distance(alone as Float32Array, texts.vectors[0] as Float32Array) < 1e-5);
  assert.ok(promptTokens > 5 * texts.promptTokens);
});

test('an image is encoded once, for completions as well', async () => {
  const model = await loadModel(demoModelPath, OPTIONS);
  try {
    const [first] = (await model.embed([show(model, red)])).vectors as [Float32Array];
    const [second] = (await model.embed([show(model, red)])).vectors as [Float32Array];
    await model.generate({ ...show(model, red), maxTokens: 1 }).text();
    // Counted by the engine's thread, which the completion has passed.
    assert.is((await model.stats()).imagesEncoded, 1);
    assert.equal(first, second);
  } finally {
    await model.close();
  }
});

test('the mean of the vectors of all tokens is the pooled vector', async ({ model }) => {
  const unpooled = await loadModel(demoModelPath, { ...OPTIONS, pooling: 'none' });
  try {
    const { vectors, promptTokens } = await unpooled.embed([show(unpooled, blue)]);
    const [all] = vectors as [Float32Array];
    const { vectorLength } = unpooled.model;
    assert.is(all.length, promptTokens * vectorLength);
    const sum = new Float32Array(vectorLength);
    for (const [at, each] of all.entries()) sum[at % vectorLength] = (sum[at % vectorLength] ?? 0) + each;
    const length = Math.hypot(...sum);
    const [pooled] = (await model.embed([show(model, blue)])).vectors as [Float32Array];
    assert.ok(
      distance(
        sum.map((each) => each / length),
        pooled,
      ) < 1e-4,
    );
  } finally {
    await unpooled.close();
  }
});

test('a file that cannot be decoded is named, and others are embedded', async ({ model }) => {
  const broken = { bytes: Uint8Array.from((await picture('png')).subarray(0, 60)) };
  const failed = model.embed(['a', show(model, red, broken)]);
  const fine = model.embed([show(model, red)]);
  const error = await failed.catch((thrown) => thrown);
  assert.instance(error, ChasquiError);
  assert.equal([error.code, error.param], ['invalid_image', 'input[1]']);
  assert.match(error.message, /^Image 1 of `input\[1\]`: /);
  assert.is((await fine).vectors.length, 1);
});

test('a cancelled request leaves the others', async ({ model }) => {
  const leave = new AbortController();
  const cancelled = model.embed([show(model, blue)], { signal: leave.signal }).catch((thrown) => thrown);
  const kept = model.embed([show(model, blue)]);
  leave.abort(new Error('left'));
  assert.is((await cancelled).message, 'left');
  assert.is((await kept).vectors.length, 1);
});

test.run();
