import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { OPTION_NAMES } from '../../ts/cli/options/option-names.js';
import { ChasquiError } from '../../ts/errors.js';
import { validateImage } from '../../ts/images/validate-image.js';
import { closeApps, listeningApp, testApp } from '../support/build-app.js';
import { type ExpectedError, expectError } from '../support/expect-error.js';
import { DRAWING, dataUri, FORMATS, PNG_SIGNATURE, picture, pictureUri, pngHeader } from '../support/image-files.js';
import { type ImageServer, imageServer, redirect, silence } from '../support/image-server.js';
import { sendChat } from '../support/raw-client.js';
import { until } from '../support/until.js';

const test = suite<{ server: ImageServer }>('http: images in messages');

const SEEING = { model: { vision: true, imageMarker: '<image>', inputModalities: ['text', 'image'] as const } };
const URL_PARAM = 'messages[0].content[1].image_url.url';

test.before(async (context) => {
  context.server = await imageServer({
    '/silence': silence,
    '/metadata': redirect('http://169.254.169.254/'),
    '/page': (_, response) => response.setHeader('content-type', 'image/png').end('<!doctype html>'),
  });
});

test.after(({ server }) => server.close());
test.after.each(closeApps);

const text = (words: string) => ({ type: 'text', text: words });
const image = (url: string, more = {}) => ({ type: 'image_url', image_url: { url, ...more } });
const user = (...content: object[]) => ({ role: 'user', content });

test('by data URI and by address, in every format, whole and streamed', async ({ server }) => {
  for (const stream of [false, true]) {
    for (const format of FORMATS) {
      const { chat, engine } = testApp(SEEING);
      const parts = [text('What is'), image(await pictureUri(format)), image(`${server.url}/png`), text('this?')];
      const reply = await chat({ stream, messages: [user(...parts)] });
      assert.is(reply.statusCode, 200, reply.body);
      assert.is(engine.jobs[0]?.prompt, '<user>What is<image><image>this?');
      const [first, second] = (engine.jobs[0]?.images ?? []) as { bytes: Buffer }[];
      if (format === 'webp') assert.equal(validateImage(first?.bytes as Buffer).width, DRAWING.width);
      else assert.equal(first?.bytes, await picture(format));
      assert.equal(second?.bytes, await picture('png'));
    }
  }
});

test('prompts of `/completion` have images by `multimodal_data`', async () => {
  const data = async (format: 'png' | 'gif') => (await picture(format)).toString('base64');
  const sent = async (prompt: unknown, stream = false) => {
    const { send, engine } = testApp(SEEING);
    const reply = await send('/completion', { prompt, stream });
    return { reply, jobs: engine.jobs };
  };
  const seen = { prompt_string: 'A <__media__> b', multimodal_data: [await data('png')] };
  for (const stream of [false, true]) {
    const { reply, jobs } = await sent(seen, stream);
    assert.is(reply.statusCode, 200, reply.body);
    assert.equal([jobs[0]?.prompt, jobs[0]?.images], ['A <image> b', [{ bytes: await picture('png') }]]);
    assert.match(reply.body, '"prompt":"A <__media__> b"');
  }
  const both = {
    prompt_string: '<__media__><__media__>',
    multimodal_data: [await data('gif'), await pictureUri('png')],
  };
  const { jobs } = await sent([seen, 'c <__media__>', both]);
  assert.equal(
    jobs.map(({ prompt, images }) => [prompt, images.length]),
    [
      ['A <image> b', 1],
      ['c <__media__>', 0],
      ['<image><image>', 2],
    ],
  );
  const wrong: [prompt: unknown, param: string][] = [
    [{ ...seen, prompt_string: 'none' }, 'prompt.prompt_string'],
    [{ ...seen, prompt_string: 5 }, 'prompt.prompt_string'],
    [[seen, [1, 2]], 'prompt[1]'],
    [[seen, 5], 'prompt[1]'],
    [{ ...seen, multimodal_data: 'AAAA' }, 'prompt.multimodal_data'],
    [{ ...seen, multimodal_data: [5] }, 'prompt.multimodal_data[0]'],
    [{ ...seen, multimodal_data: ['malformed'] }, 'prompt.multimodal_data[0]'],
    [{ ...seen, multimodal_data: ['http://127.0.0.1/a.png'] }, 'prompt.multimodal_data[0]'],
    [{ ...seen, multimodal_data: [Buffer.from('text').toString('base64')] }, 'prompt.multimodal_data[0]'],
    [{ ...seen, multimodal_data: Array(1000).fill('AAAA') }, 'prompt.prompt_string'],
  ];
  for (const [prompt, param] of wrong) {
    const { reply, jobs } = await sent(prompt);
    assert.equal([reply.statusCode, reply.json().error.param, jobs.length], [400, param, 0], reply.body);
  }
});

test('images of earlier messages stand in their order', async () => {
  const { chat, engine } = testApp(SEEING);
  const messages = [
    user(image(await pictureUri('gif')), text('one')),
    { role: 'assistant', content: 'Well.' },
    user(text('two'), image(await pictureUri('bmp'))),
  ];
  assert.is((await chat({ messages })).statusCode, 200);
  assert.equal(engine.jobs[0]?.images, [{ bytes: await picture('gif') }, { bytes: await picture('bmp') }]);
});

for (const detail of [undefined, null, 'auto', 'low', 'high']) {
  test(`detail ${detail} is accepted`, async () => {
    const { chat } = testApp(SEEING);
    assert.is((await chat({ messages: [user(image(await pictureUri('png'), { detail }))] })).statusCode, 200);
  });
}

async function refuses(url: string, expected: Partial<ExpectedError>): Promise<void> {
  const { chat, engine } = testApp(SEEING, { optionNames: OPTION_NAMES });
  const reply = await chat({ messages: [user(text('What is this?'), image(url))] });
  expectError(reply, { status: 400, code: 'invalid_image', param: URL_PARAM, ...expected });
  assert.is(engine.jobs.length, 0);
}

test('invalid images are refused', async ({ server }) => {
  await refuses(dataUri(Buffer.from('hello'), 'image/png'), { says: /no PNG, JPEG, WebP, GIF or BMP/ });
  await refuses(dataUri((await picture('png')).subarray(0, 20), 'image/png'), { says: /cut off/ });
  await refuses(`${server.url}/page`, { says: /no PNG, JPEG, WebP, GIF or BMP/ });
});

test('invalid image addresses are refused', async () => {
  for (const url of [
    'cat.png',
    'ftp://x/cat.png',
    'file:///etc/passwd',
    'data:image/png,x',
    'data:image/png;base64,a b=',
  ]) {
    await refuses(url, { code: 'invalid_image_url' });
  }
  await refuses('https://user:word@example.com/', { code: 'invalid_image_url', says: /^(?!.*word@)/ });
});

test('a picture that claims 100,000 x 100,000 pixels', async () => {
  const huge = dataUri(Buffer.concat([PNG_SIGNATURE, pngHeader(100_000, 100_000)]), 'image/png');
  await refuses(huge, { code: 'image_too_large', says: /100000 x 100000/ });
});

test('an address that answers 404, and one that leads into the inner network', async ({ server }) => {
  await refuses(`${server.url}/absent`, { code: 'image_download_failed', says: /status 404/ });
  const unreachable = {
    code: 'image_download_failed',
    says: /^(?!.*169\.254).* unless `--allow-private-image-hosts` allows them/,
  };
  for (const url of [`${server.url}/metadata`, 'http://10.0.0.1/', 'http://127.0.0.1:1/']) {
    await refuses(url, unreachable);
  }
});

test('a hundred, and not one more', async () => {
  const { chat } = testApp(SEEING);
  const png = image(await pictureUri('png'));
  assert.is((await chat({ messages: [user(...Array(60).fill(png)), user(...Array(40).fill(png))] })).statusCode, 200);
  expectError(await chat({ messages: [user(...Array(60).fill(png)), user(...Array(41).fill(png))] }), {
    status: 400,
    code: 'too_many_images',
    param: 'messages[1].content[40].image_url.url',
    says: /101 images, but at most 100/,
  });
});

test('the bytes decide what an image is, not its label', async () => {
  const { chat, engine } = testApp(SEEING);
  const gif = await picture('gif');
  for (const label of ['image/png', 'application/octet-stream']) {
    assert.is((await chat({ messages: [user(image(dataUri(gif, label)))] })).statusCode, 200);
    assert.equal(engine.jobs.at(-1)?.images, [{ bytes: gif }]);
  }
});

test('a detail that is none', async () => {
  const { chat } = testApp(SEEING);
  expectError(await chat({ messages: [user(image('x', { detail: 'sharp' }))] }), {
    status: 400,
    code: 'invalid_value',
    param: 'messages[0].content[0].image_url.detail',
    says: /"auto", "low" or "high", but got the string "sharp"/,
  });
});

test('nothing is fetched for a model that takes text only', async ({ server }) => {
  const before = server.seen.length;
  const { chat } = testApp();
  const reply = await chat({ messages: [user(image(`${server.url}/png`))] });
  expectError(reply, { status: 400, code: 'image_not_supported', param: 'messages[0].content[0].image_url.url' });
  assert.is(server.seen.length, before);
});

test('a picture that the engine cannot decode is named, whole and streamed', async () => {
  for (const stream of [false, true]) {
    const failWith = new ChasquiError('invalid_image', 'The data is damaged.');
    failWith.imageIndex = 1;
    const { chat } = testApp({ ...SEEING, failAt: 0, failWith });
    const png = image(await pictureUri('png'));
    const reply = await chat({ stream, messages: [user(png), user(text('And?'), png)] });
    expectError(reply, {
      status: 400,
      code: 'invalid_image',
      param: 'messages[1].content[1].image_url.url',
      says: /^`messages\[1\]\.content\[1\]\.image_url\.url`: The data is damaged\.$/,
    });
  }
});

test('loopback is refused where only public addresses are allowed, and allowed where any are', async ({ server }) => {
  const messages = [user(text(''), image(`${server.url}/png`))];
  const open = testApp(SEEING, { imageHosts: 'any' });
  assert.is((await open.chat({ messages })).statusCode, 200);
  const closed = testApp(SEEING, { imageHosts: 'public' });
  const before = server.seen.length;
  expectError(await closed.chat({ messages }), { status: 400, code: 'image_download_failed', param: URL_PARAM });
  assert.is(server.seen.length, before);
});

test('a client that goes away ends the download, and the others get their answers meanwhile', async ({ server }) => {
  const { chat, engine, url } = await listeningApp(SEEING);
  const socket = sendChat(url, { messages: [user(image(`${server.url}/silence`))] });
  await until(() => server.seen.at(-1) === '/silence', 'the request arrives');
  assert.is((await chat({ messages: [user(image(await pictureUri('png')))] })).statusCode, 200);
  socket.destroy();
  await until(async () => (await server.connections()) === 0, 'the download ends');
  assert.is(engine.jobs.length, 1);
});

test.run();
