import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ChasquiError } from '../../ts/errors.js';
import { tone, wav } from '../support/audio-files.js';
import { closeApps, testApp } from '../support/build-app.js';
import { type ExpectedError, expectError } from '../support/expect-error.js';
import { pictureUri } from '../support/image-files.js';
import { type ImageServer, imageServer, redirect } from '../support/image-server.js';

const test = suite<{ server: ImageServer }>('http: audio in messages');

const HEARING = {
  model: {
    vision: true,
    audioSampleRate: 16_000,
    imageMarker: '<image>',
  },
};
const PARAM = 'messages[0].content[1].input_audio.data';
const FILE = wav(tone(0.2, 440));
const BASE64 = FILE.toString('base64');

test.before(async (context) => {
  context.server = await imageServer({
    '/sound': (_, response) => response.end(FILE),
    '/metadata': redirect('http://169.254.169.254/'),
  });
});
test.after(({ server }) => server.close());
test.after.each(closeApps);

const text = (words: string) => ({ type: 'text', text: words });
const audio = (data: string, more = {}) => ({ type: 'input_audio', input_audio: { data, ...more } });
const audioUrl = (url: string) => ({ type: 'audio_url', audio_url: { url } });
const user = (...content: object[]) => ({ role: 'user', content });

test('as base64, data URI and address, beside images', async ({ server }) => {
  const { chat, engine } = testApp(HEARING);
  const image = { type: 'image_url', image_url: { url: await pictureUri('png') } };
  const parts = [audio(BASE64, { format: 'wav' }), image, audio(`data:audio/wav;base64,${BASE64}`)];
  const reply = await chat({ messages: [user(text('Listen'), ...parts, audio(`${server.url}/sound`))] });
  assert.is(reply.statusCode, 200, reply.body);
  assert.is(engine.jobs[0]?.prompt, '<user>Listen<image><image><image><image>');
  const [first, second, ...others] = engine.jobs[0]?.images ?? [];
  assert.equal(first, { audio: FILE });
  assert.ok(second && 'bytes' in second);
  assert.equal(others, [{ audio: FILE }, { audio: FILE }]);
});

test('audio_url, as in vLLM, under the same rules', async ({ server }) => {
  const { chat, engine } = testApp(HEARING);
  const uri = `data:audio/wav;base64,${BASE64}`;
  const reply = await chat({ messages: [user(audioUrl(uri), text('Listen'), audioUrl(`${server.url}/sound`))] });
  assert.is(reply.statusCode, 200, reply.body);
  assert.is(engine.jobs[0]?.prompt, '<user><image>Listen<image>');
  assert.equal(engine.jobs[0]?.images, [{ audio: FILE }, { audio: FILE }]);
  const large = await chat({ messages: [user(audioUrl(`data:;base64,${'A'.repeat(5 * 2 ** 20)}`))] });
  assert.is(large.statusCode, 200, large.body);
  const param = 'messages[0].content[0].audio_url.url';
  const refused: [part: unknown, code: string, param?: string][] = [
    [audioUrl(BASE64), 'invalid_audio_url'],
    [audioUrl('file:///etc/passwd'), 'invalid_audio_url'],
    [audioUrl(''), 'invalid_value'],
    [audioUrl(`${server.url}/metadata`), 'audio_download_failed'],
    [{ type: 'audio_url', audio_url: uri }, 'invalid_type', 'messages[0].content[0].audio_url'],
    [{ type: 'audio_url', audio_url: { url: 7 } }, 'invalid_type'],
    [{ type: 'audio_url' }, 'missing_required_parameter', 'messages[0].content[0].audio_url'],
  ];
  for (const [part, code, field = param] of refused) {
    expectError(await chat({ messages: [user(part as object)] }), { status: 400, code, param: field } as ExpectedError);
  }
  const deaf = await testApp().chat({ messages: [user(audioUrl(uri))] });
  expectError(deaf, { status: 400, code: 'audio_not_supported', param });
  const system = { role: 'system', content: [audioUrl(uri)] };
  assert.is((await chat({ messages: [system] })).statusCode, 400);
});

test('in /v1/responses', async () => {
  const { send, engine } = testApp(HEARING);
  const body = { model: 'fake', input: [{ role: 'user', content: [audio(BASE64)] }] };
  const reply = await send('/v1/responses', body);
  assert.is(reply.statusCode, 200, reply.body);
  assert.equal(engine.jobs[0]?.images, [{ audio: FILE }]);
  const refused = await testApp().send('/v1/responses', body);
  expectError(refused, { status: 400, code: 'audio_not_supported', param: 'input[0].content[0].input_audio.data' });
});

async function refuses(data: string, expected: Partial<ExpectedError>, more = {}): Promise<void> {
  const { chat, engine } = testApp(HEARING);
  const reply = await chat({ messages: [user(text('Listen'), audio(data, more))] });
  expectError(reply, { status: 400, param: PARAM, ...expected } as ExpectedError);
  assert.is(engine.jobs.length, 0);
}

test('invalid data', async ({ server }) => {
  await refuses('a b', { code: 'invalid_audio_url', says: /The audio at .* is not proper base64/ });
  await refuses('http://user:word@example.com/', { code: 'invalid_audio_url' });
  await refuses(`UklGR${'A'.repeat(28 * 2 ** 20 + 3)}`, { code: 'audio_too_large', says: /larger than 20 MiB/ });
  await refuses(`${server.url}/absent`, { code: 'audio_download_failed', says: /status 404/ });
  await refuses(`${server.url}/metadata`, { code: 'audio_download_failed', says: /private networks/ });
  const param = 'messages[0].content[1].input_audio.format';
  await refuses(BASE64, { code: 'invalid_value', param }, { format: 'ogg' });
});

test('text that begins like an audio file counts as text', async () => {
  const source = { type: 'text', media_type: 'text/plain', data: `UklGR${'A'.repeat(5 * 2 ** 20)}` };
  const messages = [{ role: 'user', content: [{ type: 'document', source }] }];
  const reply = await testApp(HEARING).send('/v1/messages', { model: 'fake', max_tokens: 9, messages });
  assert.is(reply.statusCode, 413, reply.body);
});

test('a model without an audio encoder', async () => {
  const { chat } = testApp();
  expectError(await chat({ messages: [user(text('Listen'), audio(BASE64))] }), {
    status: 400,
    code: 'audio_not_supported',
    param: PARAM,
    says: /takes text only, but .* is audio/,
  });
});

test('a file that cannot be decoded is named, whole and streamed', async () => {
  for (const stream of [false, true]) {
    const failWith = Object.assign(new ChasquiError('invalid_audio', 'It is truncated.'), { imageIndex: 0 });
    const { chat } = testApp({ ...HEARING, failAt: 0, failWith });
    const reply = await chat({ stream, messages: [user(text('Listen'), audio(BASE64))] });
    expectError(reply, { status: 400, code: 'invalid_audio', param: PARAM, says: /^`messages\[0\].*truncated/ });
  }
});

test('capabilities', async () => {
  const { app } = testApp(HEARING);
  const get = async (url: string) => (await app.inject({ url })).json();
  assert.equal((await get('/props')).modalities, { vision: true, audio: true, video: false });
  assert.equal((await get('/v1/models')).data[0].input_modalities, ['text', 'image', 'audio']);
  assert.is((await get('/api/v1/models')).models[0].capabilities.audio, true);
  const shown = await app.inject({ method: 'POST', url: '/api/show', payload: { model: 'fake' } });
  assert.ok(shown.json().capabilities.includes('audio'));
});

test.run();
