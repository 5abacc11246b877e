import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { ChasquiError, type LoadOptions, loadModel, type Model } from '../../ts/index.js';
import { demoModelPath } from '../support/demo-model.js';
import { ENCODER_CONTEXT, writeDecoder, writeEncoder, writeMisfittingEncoder } from '../support/random-model.js';
import { tinyModel } from '../support/tiny-model.js';

const folder = mkdtempSync(join(tmpdir(), 'chasqui-embed-'));
const open = new Set<Model>();
test.after.each(async () => {
  for (const model of open) await model.close();
  open.clear();
});
test.after(() => rmSync(folder, { recursive: true }));

async function load(path: string, options: LoadOptions = {}): Promise<Model> {
  const model = await loadModel(path, { threads: 1, ...options });
  open.add(model);
  return model;
}

async function loadEncoder(pooling: Parameters<typeof writeEncoder>[1], options?: LoadOptions): Promise<Model> {
  return load(writeEncoder(join(folder, `${pooling}.gguf`), pooling), options);
}

async function failure(work: Promise<unknown>): Promise<ChasquiError> {
  const error = await work.then(
    () => assert.unreachable('it went well'),
    (thrown) => thrown,
  );
  assert.instance(error, ChasquiError);
  return error;
}

const TEXTS = [
  'hello world',
  "The quick brown fox jumps over the lazy dog, doesn't it?",
  'Ein naïver Café-Besuch: 日本',
  'word '.repeat(100),
];

// The first numbers of the vectors that llama-server (`--embeddings`) of the same llama.cpp gives for TEXTS, one by one.
const ENCODED = {
  mean: [
    [0.05277, 0.00747, 0.15136, -0.03515, 0.21974, -0.13147, -0.08199, 0.0312],
    [-0.04594, -0.0298, 0.25473, -0.04182, 0.1166, -0.17866, 0.07923, -0.05503],
    [-0.2157, -0.06698, 0.11181, -0.02389, 0.14688, -0.06622, -0.07123, -0.10916],
    [-0.09828, -0.00226, -0.04135, 0.13197, 0.1757, 0.13252, -0.00437, -0.02798],
  ],
  cls: [
    [-0.0381, 0.05963, 0.11057, -0.03491, 0.13258, 0.07663, 0.00366, -0.01413],
    [-0.13459, -0.00629, 0.16728, -0.0791, 0.01915, -0.11703, 0.11115, 0.00529],
    [-0.23065, -0.07517, 0.05845, 0.018, 0.14052, -0.13023, -0.04912, -0.03793],
    [-0.11856, -0.02647, -0.0101, -0.02561, 0.04006, -0.03491, 0.0092, -0.00811],
  ],
  last: [
    [0.13569, -0.09006, 0.12331, -0.09943, 0.29493, -0.29608, -0.18023, 0.08622],
    [0.02322, -0.17457, 0.17961, -0.08965, 0.17927, -0.29763, -0.095, 0.05639],
    [-0.08669, -0.19803, 0.08679, -0.11614, 0.16625, -0.26234, -0.11917, 0.05292],
    [-0.02839, -0.07328, -0.00676, -0.02111, 0.08265, -0.1204, -0.01665, 0.0076],
  ],
};

// The same with `--pooling` for the decoder.
const DECODED = {
  mean: [
    [0.0068, -0.00343, -0.02293, 0.01514, 0.1164, -0.19317, 0.00997, -0.07744],
    [0.1116, -0.15733, 0.12882, 0.03019, 0.00697, 0.00913, 0.01532, -0.03396],
    [-0.12515, -0.1524, 0.0103, 0.09483, -0.11585, -0.14325, -0.04324, -0.10433],
    [0.02478, -0.03752, -0.18278, -0.10208, -0.19509, 0.11271, -0.09146, 0.00964],
  ],
  last: [
    [-0.15653, 0.01903, -0.04102, -0.00625, 0.12422, -0.13775, -0.01308, -0.08387],
    [0.14858, -0.0378, 0.06764, 0.01698, -0.1238, -0.04998, -0.00091, 0.08194],
    [-0.02106, -0.1936, 0.06389, 0.13062, -0.2017, 0.12649, 0.03452, -0.1188],
    [0.07265, -0.02082, -0.21086, -0.09214, -0.1901, 0.14374, -0.08208, 0.05478],
  ],
};

// Kernels round differently on other processors, and for other shapes of a batch.
const TOLERANCE = 3e-3;

function assertNear(vector: Float32Array, expected: ArrayLike<number>, what: string): void {
  for (let i = 0; i < expected.length; i++) {
    const [got, wanted] = [vector[i] as number, expected[i] as number];
    assert.ok(Math.abs(got - wanted) <= TOLERANCE, `${what}: number ${i} is ${got}, not ${wanted}`);
  }
}

function assertReference(vectors: readonly Float32Array[], expected: readonly number[][], what: string): void {
  assert.is(vectors.length, expected.length);
  vectors.forEach((vector, index) => {
    assertNear(vector, expected[index] as number[], `${what}, text ${index}`);
    const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
    assert.ok(Math.abs(length - 1) < 1e-5, `${what}, text ${index} has the length ${length}`);
  });
}

for (const pooling of ['mean', 'cls', 'last'] as const) {
  test(`an encoder’s vectors are llama.cpp’s, by ${pooling} as its file says`, async () => {
    const model = await loadEncoder(pooling);
    assert.is(model.model.pooling, pooling);
    assertReference((await model.embed(TEXTS)).vectors, ENCODED[pooling], 'together');
    for (const [index, text] of TEXTS.entries()) {
      assertReference((await model.embed([text])).vectors, [ENCODED[pooling][index] as number[]], 'alone');
    }
  });
}

for (const pooling of ['mean', 'last'] as const) {
  test(`a decoder’s vectors are llama.cpp’s by ${pooling}, in one piece and in several`, async () => {
    const path = writeDecoder(join(folder, 'decoder.gguf'));
    for (const batchSize of [512, 64]) {
      const model = await load(path, { pooling, batchSize, contextSize: 512 });
      // More than once: what one text leaves behind must not be seen by the next.
      for (const time of ['first', 'second']) {
        assertReference((await model.embed(TEXTS)).vectors, DECODED[pooling], `${batchSize} at a time, ${time}`);
      }
    }
  });
}

for (const architecture of ['mamba', 'jamba', 'gemma2'] as const) {
  test(`${architecture}: texts together, in pieces and again are as each alone`, async () => {
    const path = tinyModel(architecture);
    const alone: Float32Array[] = [];
    const whole = await load(path, { contextSize: 512 });
    for (const text of TEXTS) alone.push((await whole.embed([text])).vectors[0] as Float32Array);
    const pieces = await load(path, { contextSize: 512, batchSize: 64 });
    for (const model of [whole, pieces, pieces]) {
      const { vectors } = await model.embed([...TEXTS, ...TEXTS]);
      vectors.forEach((vector, index) => {
        assertNear(vector, alone[index % TEXTS.length] as Float32Array, `text ${index}`);
      });
    }
  });
}

test('without pooling there are the vectors of all tokens, not normalized; their mean is the pooled one', async () => {
  const decoder = writeDecoder(join(folder, 'unpooled.gguf'));
  const encoder = writeEncoder(join(folder, 'unpooled-encoder.gguf'), 'mean');
  for (const [file, options, expected] of [
    [encoder, {}, ENCODED.mean],
    [decoder, { contextSize: 512 }, DECODED.mean],
    [decoder, { contextSize: 512, batchSize: 32 }, DECODED.mean],
  ] as const) {
    const model = await load(file, { ...options, pooling: 'none' });
    const { vectors, promptTokens } = await model.embed(TEXTS);
    const { vectorLength } = model.model;
    assert.is(
      vectors.reduce((sum, { length }) => sum + length / vectorLength, 0),
      promptTokens,
    );
    assert.ok(vectors.every((vector) => Math.abs(Math.hypot(...vector.subarray(0, vectorLength)) - 1) > 1e-3));
    // Scaled to length 1, the sum is the mean.
    const means = vectors.map((vector) => {
      const sum = Float32Array.from({ length: vectorLength }, (_, at) =>
        vector.reduce((total, value, place) => total + (place % vectorLength === at ? value : 0), 0),
      );
      return sum.map((value) => value / Math.hypot(...sum));
    });
    assertReference(means, expected, file);
  }
  const model = await load(decoder, { contextSize: 512, pooling: 'none' });
  const tooMany = Array.from({ length: 2 ** 22 / model.model.vectorLength / 500 + 1 }, () => Array(500).fill(7));
  const refused = await model.embed(tooMany).catch((error) => error);
  assert.equal([refused.code, refused.param], ['invalid_value', 'input']);
});

test('the default pooling is the mean, and an option overrides it', async () => {
  assert.is((await loadEncoder('none')).model.pooling, 'mean');
  const overruled = await loadEncoder('mean', { pooling: 'cls' });
  assert.is(overruled.model.pooling, 'cls');
  assertReference((await overruled.embed(TEXTS)).vectors, ENCODED.cls, 'overruled');
});

test('a model that generates embeds as well, while it generates', async () => {
  const model = await load(demoModelPath, { contextSize: 512, parallel: 2, threads: 1 });
  const answer = (async () => {
    let text = '';
    for await (const token of model.generate({ prompt: 'The', maxTokens: 60, ignoreEos: true })) text += token.text;
    return text;
  })();
  const embedded = await Promise.all(Array.from({ length: 8 }, (_, i) => model.embed([`text ${i}`, 'the same'])));
  for (const { vectors } of embedded) {
    assert.is(vectors[0]?.length, model.model.vectorLength);
    assertNear(vectors[1] as Float32Array, embedded[0]?.vectors[1] as Float32Array, 'the same text');
  }
  assert.ok((await answer).length > 0);
});

test('a text is one input', async () => {
  const model = await loadEncoder('mean');
  assert.equal(await model.embed('hello world'), await model.embed(['hello world']));
});

const NO_INPUTS: [given: unknown, param: string][] = [
  [undefined, 'input'],
  [null, 'input'],
  [5, 'input'],
  [{ prompt: 'a', images: [] }, 'input'],
  [['a', null], 'input[1]'],
  [[5], 'input[0]'],
  [[['a']], 'input[0]'],
  [[[1.5]], 'input[0]'],
  [[{ prompt: 'a' }], 'input[0]'],
  [new Array(1), 'input[0]'],
];

test('anything but texts, tokens and prompts is refused, by name', async () => {
  const model = await loadEncoder('mean');
  for (const [given, param] of NO_INPUTS) {
    const refused = await failure(model.embed(given as string));
    assert.equal([refused.code, refused.param], ['invalid_value', param]);
  }
});

test('tokens are taken as they are, and counted', async () => {
  const model = await loadEncoder('mean');
  const tokens = await model.tokenize('hello world', { addSpecial: true, parseSpecial: true });
  const { vectors, promptTokens } = await model.embed([Array.from(tokens)]);
  assertReference(vectors, [ENCODED.mean[0] as number[]], 'tokens');
  assert.is(promptTokens, tokens.length);
});

test('a text may be as long as the model’s positions go, and no longer', async () => {
  const model = await loadEncoder('mean', { contextSize: 4096 });
  assert.is(model.model.embeddingContextLength, ENCODER_CONTEXT);
  const full = Array<number>(ENCODER_CONTEXT).fill(2000);
  assert.is((await model.embed([full, full, [2000]])).vectors.length, 3);
  const error = await failure(model.embed([[2000], [...full, 2000]]));
  assert.is(error.code, 'context_length_exceeded');
  assert.is(error.param, 'input[1]');
  assert.match(error.message, /129 tokens.*at most 128/);
});

test('tokens that do not exist and inputs without any are refused, by name', async () => {
  const model = await loadEncoder('mean');
  assert.is((await failure(model.embed(['a', [1, 999_999]]))).param, 'input[1][1]');
  assert.is((await failure(model.embed([[-1]]))).code, 'invalid_value');
  assert.is((await failure(model.embed(['a', []]))).param, 'input[1]');
  assert.equal((await model.embed([])).vectors, []);
});

test('a model that only encodes refuses to generate, and says what it can do', async () => {
  const model = await loadEncoder('mean');
  assert.not.ok(model.model.generates);
  const messages = [{ role: 'user' as const, content: 'Hi' }];
  for (const request of [{ prompt: 'Hi' }, { prompt: [101, 102] }, { messages }]) {
    const error = await failure(model.generate(request).next());
    assert.is(error.code, 'model_not_capable');
    assert.match(error.message, /only encodes text/);
  }
  assert.is((await model.embed(['still there'])).vectors.length, 1);
});

/** Seconds of work for one thread. */
const MUCH = Array.from({ length: 2000 }, () => Array<number>(ENCODER_CONTEXT).fill(2000));

test('a thousand texts of one request are each computed as if alone, and all of them once', async () => {
  const model = await loadEncoder('mean');
  const texts = Array.from({ length: 1000 }, (_, i) => `text number ${i}`);
  const { vectors, promptTokens } = await model.embed(texts);
  assert.is(vectors.length, 1000);
  const { decodeSteps, embeddedTokens, embeddingSteps } = await model.stats();
  assert.equal([decodeSteps, embeddedTokens], [0, promptTokens]);
  assert.ok(embeddingSteps > 0 && embeddingSteps <= texts.length, `${embeddingSteps} steps`);
  for (const index of [0, 123, 999]) {
    const alone = (await model.embed([texts[index] as string])).vectors[0] as Float32Array;
    assertNear(vectors[index] as Float32Array, alone, `text ${index}`);
  }
});

test('a text does not wait for those that came in before it, and these go on until an abort', async () => {
  const model = await loadEncoder('mean', { threads: 1 });
  const controller = new AbortController();
  const aborted = model.embed(MUCH, { signal: controller.signal });
  await model.embed(['under way']);
  controller.abort(new Error('enough'));
  await aborted.then(
    () => assert.unreachable(),
    (error) => assert.is(error.message, 'enough'),
  );
  assertReference((await model.embed(TEXTS)).vectors, ENCODED.mean, 'afterwards');
  const { embeddedTokens } = await model.stats();
  await model.embed(['one more']);
  const later = (await model.stats()).embeddedTokens;
  assert.ok(later - embeddedTokens < ENCODER_CONTEXT, `${later - embeddedTokens} tokens for a short text`);
});

test('a model whose layers do not fit is refused with the reason, and ends nothing', async () => {
  const model = await loadModel(writeMisfittingEncoder(join(folder, 'misfitting.gguf')), { threads: 1 });
  for (let time = 0; time < 2; time++) {
    const error: ChasquiError = await model.embed(['Hi']).then(
      () => assert.unreachable('it was computed'),
      (reason) => reason,
    );
    assert.is(error.code, 'model_not_capable', error.message);
    assert.match(error.message, /for embeddings: .*GGML_ASSERT/);
  }
  await model.close();
});

test('closing ends what runs with engine_closed, and what comes later', async () => {
  const model = await loadEncoder('mean', { threads: 1 });
  const running = failure(model.embed(MUCH));
  await model.embed(['under way']);
  await model.close();
  assert.is((await running).code, 'engine_closed');
  assert.is((await failure(model.embed(['late']))).code, 'engine_closed');
});

test('more requests than may wait are refused', async () => {
  const model = await loadEncoder('mean', { parallel: 1, maxQueue: 1 });
  const all = await Promise.allSettled(Array.from({ length: 4 }, () => model.embed(['a'])));
  const refused = all.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []));
  assert.is(refused.length, 2);
  for (const error of refused) {
    assert.is(error.code, 'queue_full');
    assert.ok(error.retryAfterSeconds >= 1);
  }
});

test.run();
