import { existsSync, readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { buildApp } from '../../ts/api/app.js';
import { SupervisedEngine } from '../../ts/engine/child/supervised-engine.js';
import { type ChasquiError, type ChatPart, loadModel, type Model } from '../../ts/index.js';
import { ManagedPool } from '../../ts/models/managed-pool.js';
import { runtime } from '../../ts/profiles/runtime.js';
import { flac, tone, wav } from '../support/audio-files.js';
import { expectError } from '../support/expect-error.js';
import { syntheticModel } from '../support/synthetic-model.js';
import { audioProjector } from '../support/synthetic-projector.js';

const test = suite<{ model: Model }>('model: audio');

/** Of llama.cpp's sources, if they are here. */
const MP3 = new URL('../../vendor/llama.cpp/tools/mtmd/test-2.mp3', import.meta.url);

test.before(async (context) => {
  const options = { contextSize: 2048, threads: 1, mmproj: audioProjector(64) };
  context.model = await loadModel(syntheticModel('tiny', ''), options);
});
test.after(({ model }) => model.close());

const audio = (file: Uint8Array): ChatPart => ({ type: 'image', image: { audio: file } });
const text = (words: string): ChatPart => ({ type: 'text', text: words });

async function heard(model: Model, ...content: ChatPart[]) {
  const logprobs: (number | undefined)[] = [];
  const messages = [{ role: 'user' as const, content }];
  for await (const token of model.generate({ messages, temperature: 0, maxTokens: 8, topLogprobs: 0 })) {
    logprobs.push(token.logprobs?.logprob);
    if (token.finish) return { logprobs, finish: token.finish };
  }
  throw new Error('The stream ended without a finish.');
}

async function refused(model: Model, file: Uint8Array, code: string, says: RegExp): Promise<void> {
  const error: ChasquiError = await heard(model, text('Listen:'), audio(file)).catch((thrown) => thrown);
  assert.is(error.code, code, error.message);
  assert.match(error.message, says);
  assert.is(error.imageIndex, 0);
}

test('the model reports that it takes audio, and no images', async ({ model }) => {
  assert.equal(model.model.inputModalities, ['text', 'audio']);
  assert.is(model.model.audioSampleRate, 16_000);
  const image = { width: 8, height: 8, rgb: new Uint8Array(192) };
  const error = await heard(model, { type: 'image', image }).catch((thrown) => thrown);
  assert.is(error.code, 'image_not_supported');
});

test('the samples change the completion, and the file format does not', async ({ model }) => {
  const low = await heard(model, audio(wav(tone(1, 440))), text('What is it?'));
  const high = await heard(model, audio(wav(tone(1, 3000))), text('What is it?'));
  assert.not.equal(low.logprobs, high.logprobs);
  const packed = await heard(model, audio(flac(tone(1, 440))), text('What is it?'));
  assert.equal(packed.logprobs, low.logprobs);
});

test('the same audio is encoded once', async ({ model }) => {
  const before = (await model.stats()).imagesEncoded;
  const file = wav(tone(2, 700));
  const first = await heard(model, text('Listen:'), audio(file), text('one'));
  const again = await heard(model, text('Listen:'), audio(file), text('two'));
  assert.is((await model.stats()).imagesEncoded, before + 1);
  assert.ok(first.finish.promptTokens > 75 && first.finish.promptTokens < 150, String(first.finish.promptTokens));
  assert.ok(again.finish.cachedTokens > 75);
});

test('stereo at another sample rate is converted', async ({ model }) => {
  const { finish } = await heard(model, audio(wav(tone(35, 440, 8000), { channels: 2, sampleRate: 4000 })));
  assert.ok(finish.promptTokens > 150, 'Thirty-five seconds have two chunks.');
});

test('an MP3 file', async ({ model }) => {
  if (!existsSync(MP3)) return;
  const { finish } = await heard(model, audio(readFileSync(MP3)));
  assert.ok(finish.promptTokens > 75);
});

test('hostile files are refused', async ({ model }) => {
  const samples = tone(1, 440);
  const whole = wav(samples);
  const tooMany = 601 * 16_000;
  await refused(model, Buffer.from('hello'), 'invalid_audio', /WAV, MP3 and FLAC/);
  await refused(model, Buffer.alloc(0), 'invalid_audio', /WAV, MP3 and FLAC/);
  await refused(model, whole.subarray(0, 30), 'invalid_audio', /no samples/);
  await refused(model, whole.subarray(0, 9000), 'invalid_audio', /truncated/);
  await refused(model, wav(samples, { dataBytes: 0xfffffff0 }), 'invalid_audio', /truncated/);
  await refused(model, wav(samples, { channels: 0 }), 'invalid_audio', /damaged/);
  await refused(model, wav(samples, { channels: 200 }), 'invalid_audio', /200 channels/);
  await refused(model, wav(samples, { sampleRate: 300_000 }), 'invalid_audio', /300000 Hz/);
  await refused(model, wav(tone(0.05, 440)), 'invalid_audio', /tenth of a second/);
  await refused(model, wav(new Int16Array(tooMany)), 'audio_too_large', /too long/);
  await refused(model, flac(samples, tooMany), 'audio_too_large', /too long/);
  await refused(model, flac(samples, 32_000), 'invalid_audio', /truncated/);
  await refused(model, flac(samples).subarray(0, 60), 'invalid_audio', /damaged/);
  await refused(model, Buffer.concat([Buffer.from('ID3'), Buffer.alloc(5000, 0x7f)]), 'invalid_audio', /damaged/);
  assert.is((await heard(model, audio(whole))).finish.reason, 'length');
});

test('the limit is one for all audio of a request', async ({ model }) => {
  const half = audio(wav(new Int16Array(310 * 16_000)));
  const error = await heard(model, half, half).catch((thrown) => thrown);
  assert.is(error.code, 'audio_too_large');
  assert.is(error.imageIndex, 1);
});

test('in processes of their own, a hostile file is an error of its sender', async () => {
  const options = { contextSize: 1024, parallel: 2, threads: 1, mmproj: audioProjector(64) };
  const engine = await SupervisedEngine.open(syntheticModel('tiny', ''), options);
  try {
    const app = buildApp(ManagedPool.of(engine, { anyName: true }), runtime);
    const send = (file: Buffer) => {
      const part = { type: 'input_audio', input_audio: { data: file.toString('base64') } };
      const payload = { model: 'x', max_tokens: 4, messages: [{ role: 'user', content: [part] }] };
      return app.inject({ method: 'POST', url: '/v1/chat/completions', payload });
    };
    const whole = wav(tone(1, 440));
    const [good, bad] = await Promise.all([send(whole), send(whole.subarray(0, 9000))]);
    assert.is(good.statusCode, 200, good.body);
    const param = 'messages[0].content[0].input_audio.data';
    expectError(bad, { status: 400, code: 'invalid_audio', param, says: /truncated/ });
    const transcribe = async (file: Buffer) => {
      const form = new FormData();
      for (const [name, value] of Object.entries({ model: 'x', response_format: 'verbose_json', language: 'en' })) {
        form.set(name, value);
      }
      form.set('file', new Blob([new Uint8Array(file)]), 'speech.wav');
      const { headers, body } = new Request('http://x/', { method: 'POST', body: form });
      const payload = Buffer.from(await new Response(body).arrayBuffer());
      const url = '/v1/audio/transcriptions';
      return app.inject({ method: 'POST', url, headers: Object.fromEntries(headers), payload });
    };
    const { text, usage, ...rest } = (await transcribe(whole)).json();
    assert.equal(rest, { task: 'transcribe', language: 'en', duration: 1 });
    assert.ok(typeof text === 'string' && usage.input_tokens > 75);
    const damaged = await transcribe(whole.subarray(0, 30));
    expectError(damaged, { status: 400, code: 'invalid_audio', param: 'file', says: /no samples/ });
  } finally {
    await engine.close();
  }
});

test.run();
