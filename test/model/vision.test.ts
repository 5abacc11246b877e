import { deflateSync } from 'node:zlib';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  type ChasquiError,
  type ChatMessage,
  type GenerateRequest,
  type ImageInput,
  type LoadOptions,
  loadModel,
  type Model,
  type ReplyFinish,
} from '../../ts/index.js';
import { demoModelPath } from '../support/demo-model.js';
import { picture, pngChunk, toPng } from '../support/picture.js';
import { syntheticModel } from '../support/synthetic-model.js';
import { type ProjectorShape, syntheticProjector } from '../support/synthetic-projector.js';
import { until } from '../support/until.js';

/** Small encoders: pictures of 64 × 64 pixels in patches of 8, so 64 tokens, or 4 where 16 become one. */
function projector(kind: ProjectorShape['kind'], modelWidth: number, tilings?: number[]): string {
  const shape = { kind, modelWidth, imageSize: 64, patchSize: 8, layers: 2, width: 64, hidden: 128, heads: 2 };
  return syntheticProjector(tilings ? { ...shape, tilings } : shape);
}

const demo = () => ({ path: demoModelPath, mmproj: projector('mlp', 160) });
/** Its weights are not quantised: what is computed in other slices comes out the same to many digits. */
const tiny = () => syntheticModel('tiny', '');
const eyes = {
  'one row for each patch': () => ({ path: tiny(), mmproj: projector('mlp', 64) }),
  'attention that is not causal': () => ({ path: tiny(), mmproj: projector('gemma3', 64) }),
  'two-dimensional positions': () => ({ path: syntheticModel('tiny-mrope', ''), mmproj: projector('qwen2vl', 64) }),
  'padding by the place in the prompt': () => ({ path: tiny(), mmproj: projector('deepseek4v', 64) }),
  'pictures in tiles': () => ({ path: tiny(), mmproj: projector('mlp', 64, [64, 128, 128, 64, 128, 128]) }),
};

interface Answer {
  ids: number[];
  finish: ReplyFinish;
}

async function answer(model: Model, request: GenerateRequest): Promise<Answer> {
  const ids: number[] = [];
  for await (const token of model.generate({ temperature: 0, maxTokens: 16, ...request })) {
    ids.push(token.id);
    if (token.finish) return { ids, finish: token.finish };
  }
  throw new Error('the stream ended without a finish');
}

function ask(...parts: (string | ImageInput)[]): ChatMessage {
  const content = parts.map((part) =>
    typeof part === 'string' ? { type: 'text' as const, text: part } : { type: 'image' as const, image: part },
  );
  return { role: 'user', content };
}

const ofModel = (model: Model, ...parts: (string | ImageInput)[]) => answer(model, { messages: [ask(...parts)] });

async function withModel(
  body: (model: Model) => Promise<void>,
  options: LoadOptions = {},
  { path, mmproj } = demo(),
): Promise<void> {
  const model = await loadModel(path, { contextSize: 2048, parallel: 2, threads: 1, mmproj, ...options });
  try {
    await body(model);
  } finally {
    await model.close();
  }
}

async function failureOf(promise: Promise<unknown>): Promise<ChasquiError> {
  return promise.then(
    () => assert.unreachable('it did not fail'),
    (error) => error,
  );
}

test('a model says whether it has eyes', async () => {
  await withModel(async ({ model }) => {
    assert.is(model.vision, true);
    assert.equal(model.inputModalities, ['text', 'image']);
  });
  const blind = await loadModel(demoModelPath, { contextSize: 256, mmproj: null });
  assert.is(blind.model.vision, false);
  assert.is(blind.model.imageMarker, null);
  assert.equal(blind.model.inputModalities, ['text']);
  await blind.close();
});

test('the completion depends on the picture', () =>
  withModel(
    async (model) => {
      const one = await ofModel(model, 'What is it?', picture(1));
      const other = await ofModel(model, 'What is it?', picture(2));
      assert.not.equal(one.ids, other.ids);
      assert.is(one.finish.promptTokens, other.finish.promptTokens);
    },
    {},
    eyes['one row for each patch'](),
  ));

test('a picture is encoded once, and computed once where the prompt begins alike', () =>
  withModel(async (model) => {
    const shown = picture(1);
    await ofModel(model, 'Look:', shown, 'What is it?');
    const again = await ofModel(model, 'Look:', shown, 'What colour has it?');
    assert.ok(again.finish.promptTokens - again.finish.cachedTokens < 16, JSON.stringify(again.finish));
    const elsewhere = await ofModel(model, 'Another text precedes the image.', shown);
    assert.ok(elsewhere.finish.cachedTokens < 16, JSON.stringify(elsewhere.finish));
    assert.is((await model.stats()).imagesEncoded, 1);
  }));

test('two who show the same picture at once have it encoded once', () =>
  withModel(async (model) => {
    const answers = await Promise.all(['a', 'b', 'c'].map((text) => ofModel(model, `${text}?`, picture(3))));
    assert.is(answers.length, 3);
    assert.is((await model.stats()).imagesEncoded, 1);
  }));

test('without room in the cache for it a picture is encoded each time', () =>
  withModel(
    async (model) => {
      await ofModel(model, 'a', picture(1));
      await ofModel(model, 'Something else.', picture(1));
      assert.is((await model.stats()).imagesEncoded, 2);
    },
    { imageCacheMiB: 0 },
  ));

test('a file and its pixels give the same answer', () =>
  withModel(async (model) => {
    const shown = picture(4);
    const pixels = await ofModel(model, 'What is it?', shown);
    const file = await ofModel(model, 'What is it?', { bytes: toPng(shown) });
    assert.equal(file.ids, pixels.ids);
  }));

const conversations = (): ChatMessage[][] => [
  [ask('What is it?', picture(1))],
  [ask(picture(1), picture(2, 200, 40), picture(3, 30, 90), 'What are they?')],
  [ask('a', picture(1), 'b', picture(2, 200, 40), 'c', picture(1), 'd')],
  [ask(picture(1), 'What is it?'), { role: 'assistant', content: 'A square.' }, ask('And this?', picture(4))],
];

for (const [name, files] of Object.entries(eyes)) {
  test(`${name}: answers are those of an engine that computes each alone and anew`, async () => {
    const expected: number[][] = [];
    const alone = async (model: Model) => {
      for (const messages of conversations()) expected.push((await answer(model, { messages })).ids);
    };
    await withModel(alone, { deterministic: true, imageCacheMiB: 0 }, files());
    await withModel(
      async (model) => {
        for (let round = 0; round < 2; round++) {
          const answers = await Promise.all(conversations().map((messages) => answer(model, { messages })));
          assert.equal(
            answers.map(({ ids }) => ids),
            expected,
          );
        }
      },
      { parallel: 3, targetStepMs: 1 },
      files(),
    );
  });
}

test('conversations with pictures that had to give way are found again', () =>
  withModel(
    async (model) => {
      for (const seed of [1, 2, 3, 1, 2, 3]) await ofModel(model, 'Look:', picture(seed), 'What is it?');
      const { finish } = await ofModel(model, 'Look:', picture(2), 'What else?');
      assert.ok(finish.cachedTokens > 32, JSON.stringify(finish));
      assert.is((await model.stats()).imagesEncoded, 3);
    },
    { parallel: 1 },
    eyes['two-dimensional positions'](),
  ));

/** A GIF with codes of 13 bits. stb refuses it without a reason. */
const impossibleGif = Buffer.concat([
  Buffer.from('GIF89a'),
  Buffer.from([16, 0, 16, 0, 0x80, 0, 0, 0, 0, 0, 255, 255, 255]),
  Buffer.from([0x2c, 0, 0, 0, 0, 16, 0, 16, 0, 0, 13, 1, 0, 0, 0x3b]),
]);

test('bytes that are no picture, or a damaged one, are refused, and it is said which', () =>
  withModel(async (model) => {
    const good = toPng(picture(1));
    const bad: [Buffer, RegExp][] = [
      [Buffer.from('<svg></svg>'), /is no PNG, JPEG, WebP, GIF or BMP file/],
      [Buffer.alloc(0), /is no PNG, JPEG, WebP, GIF or BMP file/],
      [good.subarray(0, 60), /The image is damaged \(.+\)\./],
      [impossibleGif, /The image is damaged\.$/],
      [good.subarray(0, 12), /without a header/],
    ];
    for (const [bytes, says] of bad) {
      const { code, imageIndex, param, message } = await failureOf(ofModel(model, { bytes: good }, { bytes }, 'x'));
      assert.is(code, 'invalid_image');
      assert.ok(imageIndex === 1 || param === 'messages[0].content[1].image', message);
      assert.match(message, says);
    }
    assert.ok((await ofModel(model, { bytes: good }, 'x')).finish.completionTokens > 0);
  }));

/** A PNG with this size in its header and the given amount of zero data. */
function claiming(width: number, height: number, bytes: number): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 2], 8);
  const magic = toPng(picture(1)).subarray(0, 8);
  return Buffer.concat([magic, pngChunk('IHDR', header), pngChunk('IDAT', deflateSync(Buffer.alloc(bytes)))]);
}

test('pictures that would take too much to decode are refused before they are decoded', () =>
  withModel(async (model) => {
    const bad: [Buffer, string, RegExp][] = [
      [claiming(100_000, 100_000, 10), 'image_too_large', /has 100000 x 100000 pixels/],
      [claiming(3000, 2, 10), 'invalid_image', /too narrow/],
      [claiming(16, 16, 2 ** 28), 'invalid_image', /larger than the image/],
    ];
    for (const [bytes, expected, says] of bad) {
      const { code, message } = await failureOf(ofModel(model, { bytes }, 'x'));
      assert.is(code, expected);
      assert.match(message, says);
    }
  }));

test('pixels must be as many as their size says', () =>
  withModel(async (model) => {
    const { code } = await failureOf(ofModel(model, { width: 8, height: 8, rgb: new Uint8Array(3) }, 'x'));
    assert.is(code, 'invalid_image');
  }));

test('a model without eyes refuses pictures, however they come', async () => {
  const blind = await loadModel(demoModelPath, { contextSize: 256, mmproj: null });
  assert.is((await failureOf(ofModel(blind, 'What is it?', picture(1)))).code, 'image_not_supported');
  assert.is((await failureOf(answer(blind, { prompt: 'x', images: [picture(1)] }))).code, 'image_not_supported');
  await blind.close();
});

test('pictures take room in the context', () =>
  withModel(
    async (model) => {
      const five = [1, 2, 3, 4, 5].map((seed) => picture(seed));
      assert.is((await failureOf(ofModel(model, ...five))).code, 'context_length_exceeded');
    },
    { contextSize: 256 },
  ));

test('a prompt and its pictures must match', () =>
  withModel(async (model) => {
    const marker = model.model.imageMarker as string;
    const matching = await answer(model, { prompt: `Look: ${marker} What is it?`, images: [picture(1)] });
    assert.ok(matching.finish.promptTokens > 64);
    const missing = await failureOf(answer(model, { prompt: 'Look:', images: [picture(1)] }));
    assert.is(missing.code, 'template_failed');
    const ids = await failureOf(answer(model, { prompt: [1, 2], images: [picture(1)] }));
    assert.is(ids.code, 'invalid_job');
    const negative = await failureOf(answer(model, { prompt: [1, -5] }));
    assert.is(negative.code, 'invalid_job');
  }));

test('encoding a picture delays no running completion, and can be cancelled at any time', () =>
  withModel(async (model) => {
    const text = answer(model, { prompt: 'Count: 1, 2, 3', maxTokens: 200, ignoreEos: true });
    const leaving = Array.from({ length: 8 }, async (_, seed) => {
      const stream = model.generate({ messages: [ask(picture(seed), 'What is it?')], maxTokens: 4 });
      setTimeout(() => stream.return(), 3 * seed);
      for await (const token of stream) if (token.finish) return;
    });
    await Promise.all(leaving);
    assert.is((await text).ids.length, 200);
    await until(async () => (await model.stats()).active === 0, 'no sequence is held');
  }));

test('closing while pictures are encoded ends their streams', async () => {
  const { path, mmproj } = demo();
  const model = await loadModel(path, { contextSize: 2048, mmproj });
  const ends = Array.from({ length: 40 }, (_, seed) =>
    ofModel(model, picture(seed), 'What is it?').then(
      () => 'answered',
      ({ code }: ChasquiError) => code,
    ),
  );
  await until(async () => (await model.stats()).imagesEncoded > 0, 'a picture is encoded');
  await model.close();
  const codes = await Promise.all(ends);
  assert.is(codes.at(-1), 'engine_closed');
  assert.equal(new Set(codes.filter((code) => code !== 'answered')), new Set(['engine_closed']));
});

test('a projector that does not fit the model, or is none, is an error at the start', async () => {
  const load = (mmproj: string) => failureOf(loadModel(demoModelPath, { contextSize: 256, mmproj }));
  const other = await load(projector('mlp', 64));
  assert.is(other.code, 'model_load_failed');
  assert.match(other.message, /n_embd = 160.*n_embd = 64/s);
  assert.is((await load('/nowhere/mmproj.gguf')).code, 'model_file_missing');
  assert.is((await load(import.meta.filename)).code, 'model_file_invalid');
  assert.is((await load(demoModelPath)).code, 'model_load_failed');
});

test.run();
