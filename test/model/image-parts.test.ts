import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ChasquiError, type GeneratePart, loadModel, type Model, type ReplyFinish } from '../../ts/index.js';
import { demoModelPath } from '../support/demo-model.js';
import { FORMATS, picture, pictureUri } from '../support/image-files.js';
import { type ImageServer, imageServer, silence } from '../support/image-server.js';
import { until } from '../support/until.js';

const test = suite<{ model: Model; pictures: ImageServer }>('model: image parts in this process');

test.before(async (context) => {
  context.model = await loadModel(demoModelPath, { imageHosts: 'loopback', parallel: 2 });
  context.pictures = await imageServer({ '/silence': silence });
});

test.after(async ({ model, pictures }) => {
  await model.close();
  await pictures.close();
});

async function ask(model: Model, part: GeneratePart, signal?: AbortSignal): Promise<ReplyFinish> {
  const messages = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'What is this?' }, part] }];
  const options = signal ? { signal } : {};
  for await (const { finish } of model.generate({ messages, temperature: 0, maxTokens: 2 }, options)) {
    if (finish) return finish;
  }
  throw new Error('The stream ended without a finish.');
}

const errorOf = (asking: Promise<unknown>) =>
  asking.then(
    () => assert.unreachable('It was answered.'),
    (error) => error,
  );

test('files, addresses and data URIs take the same place in the prompt', async ({ model, pictures }) => {
  const counts = new Set<number>();
  for (const format of FORMATS) {
    const file = await picture(format);
    counts.add((await ask(model, { type: 'image', image: file })).promptTokens);
    counts.add((await ask(model, { type: 'image', image: { bytes: Uint8Array.from(file) } })).promptTokens);
    counts.add((await ask(model, { type: 'image_url', image_url: { url: await pictureUri(format) } })).promptTokens);
  }
  const url = `${pictures.url}/png`;
  counts.add((await ask(model, { type: 'image_url', image_url: { url, detail: 'low' } })).promptTokens);
  assert.is(counts.size, 1, [...counts].join());
});

test('the error names a part that is not a picture', async ({ model, pictures }) => {
  const broken = await errorOf(ask(model, { type: 'image', image: Buffer.from('hello') }));
  assert.instance(broken, ChasquiError);
  assert.equal([broken.code, broken.param], ['invalid_image', 'messages[0].content[1].image']);
  const absent = await errorOf(ask(model, { type: 'image_url', image_url: { url: `${pictures.url}/absent` } }));
  assert.equal([absent.code, absent.param], ['image_download_failed', 'messages[0].content[1].image_url.url']);
});

test('the signal ends a download', async ({ model, pictures }) => {
  const controller = new AbortController();
  const url = `${pictures.url}/silence`;
  const asking = errorOf(ask(model, { type: 'image_url', image_url: { url } }, controller.signal));
  await until(() => pictures.seen.at(-1) === '/silence', 'the request arrives');
  const reason = new Error('gone');
  controller.abort(reason);
  assert.is(await asking, reason);
  await until(async () => (await pictures.connections()) === 0, 'the download ends');
});

test('nothing is fetched for a model without eyes, and only public addresses are by default', async ({ pictures }) => {
  const url = `${pictures.url}/png`;
  const before = pictures.seen.length;
  for (const [options, code] of [
    [{ mmproj: null }, 'image_not_supported'],
    [{}, 'image_download_failed'],
  ] as const) {
    const model = await loadModel(demoModelPath, options);
    try {
      assert.is((await errorOf(ask(model, { type: 'image_url', image_url: { url } }))).code, code);
    } finally {
      await model.close();
    }
  }
  assert.is(pictures.seen.length, before);
});

test.run();
