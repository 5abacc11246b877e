import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ChasquiError } from '../../ts/errors.js';
import { tone, wav } from '../support/audio-files.js';
import { testApp } from '../support/build-app.js';
import { expectError } from '../support/expect-error.js';
import type { FakeScript } from '../support/fake-engine.js';

const test = suite('http: transcriptions');

const HEARING = { model: { audioSampleRate: 16_000, imageMarker: '<image>' } };
const FILE = wav(tone(0.2, 440));

type Fields = Record<string, string>;

function server(script: FakeScript = {}, options: Parameters<typeof testApp>[1] = {}) {
  const { app, engine } = testApp({ ...HEARING, ...script }, options);
  const send = async (fields: Fields = {}, url = '/v1/audio/transcriptions', file: Buffer | null = FILE) => {
    const form = new FormData();
    for (const [name, value] of Object.entries({ model: 'fake', ...fields })) form.set(name, value);
    if (file !== null) form.set('file', new Blob([new Uint8Array(file)]), 'speech.wav');
    const { headers, body } = new Request('http://x/', { method: 'POST', body: form }) as Request;
    const payload = Buffer.from(await new Response(body).arrayBuffer());
    return app.inject({ method: 'POST', url, headers: Object.fromEntries(headers), payload });
  };
  return { app, engine, send };
}

test('the instruction precedes the audio; json and text', async () => {
  const { send, engine } = server();
  const json = await send({ language: 'es', prompt: 'Ana, Luis' });
  assert.is(json.statusCode, 200, json.body);
  const { text, usage } = json.json();
  assert.is(usage.type, 'tokens');
  assert.is(
    engine.jobs[0]?.prompt,
    '<user>Transcribe the audio to text.\nThe language of the speech is es.\nContext: Ana, Luis<image>',
  );
  assert.is(engine.jobs[0]?.sampling.temperature, 0);
  assert.equal(engine.jobs[0]?.images, [{ audio: new Uint8Array(FILE) }]);
  const plain = await send({ response_format: 'text' });
  assert.is(plain.headers['content-type'], 'text/plain; charset=utf-8');
  assert.is(plain.body, `${text}\n`);
  assert.is((await send({}, '/audio/transcriptions')).json().text, text);
  await send({ temperature: '0.4' }, '/v1/audio/translations');
  assert.match(String(engine.jobs.at(-1)?.prompt), /Translate the speech into English text\.<image>/);
  assert.is(engine.jobs.at(-1)?.sampling.temperature, 0.4);
});

test('stream: deltas, then the whole text with the usage', async () => {
  const { send } = server();
  const { text, usage } = (await send()).json();
  const reply = await send({ stream: 'true' });
  assert.match(String(reply.headers['content-type']), /^text\/event-stream/);
  const events = reply.body
    .split('\n\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice(6)));
  assert.equal(events.at(-1), { type: 'transcript.text.done', text, usage });
  const deltas = events.slice(0, -1);
  assert.ok(deltas.length > 1 && deltas.every(({ type }) => type === 'transcript.text.delta'));
  assert.is(deltas.map(({ delta }) => delta).join(''), text);
});

test('requests that cannot be fulfilled name the field', async () => {
  const { send, app, engine } = server();
  const cases: [Fields, code: string, param: string][] = [
    [{ response_format: 'srt' }, 'unsupported_parameter', 'response_format'],
    [{ response_format: 'vtt' }, 'unsupported_parameter', 'response_format'],
    [{ response_format: 'xml' }, 'invalid_value', 'response_format'],
    [{ 'timestamp_granularities[]': 'word' }, 'unsupported_parameter', 'timestamp_granularities'],
    [{ 'include[]': 'logprobs' }, 'unsupported_parameter', 'include'],
    [{ temperature: 'warm' }, 'invalid_value', 'temperature'],
    [{ temperature: '-1' }, 'invalid_value', 'temperature'],
    [{ stream: 'maybe' }, 'invalid_value', 'stream'],
    [{ language: 'x'.repeat(70_000) }, 'invalid_value', 'language'],
  ];
  for (const [fields, code, param] of cases) expectError(await send(fields), { status: 400, code, param });
  const missing = { status: 400, code: 'missing_required_parameter', param: 'file' };
  expectError(await send({}, '/v1/audio/transcriptions', null), missing);
  for (const headers of [{}, { 'content-type': 'application/json' }]) {
    const payload = 'content-type' in headers ? '{"model":"fake"}' : undefined;
    const reply = await app.inject({
      method: 'POST',
      url: '/v1/audio/transcriptions',
      headers,
      ...(payload && { payload }),
    });
    assert.ok(reply.statusCode === 415 || reply.statusCode === 400, reply.body);
  }
  assert.is(engine.jobs.length, 0);
  const ignored = await send({ chunking_strategy: 'auto' });
  assert.is(ignored.headers['x-chasqui-ignored'], 'chunking_strategy');
  const strict = await server({}, { strict: true }).send({ chunking_strategy: 'auto' });
  expectError(strict, { status: 400, code: 'unsupported_parameter', param: 'chunking_strategy' });
});

test('a model without an audio encoder, and a file that cannot be decoded', async () => {
  expectError(await server({ model: {} }).send(), { status: 400, code: 'audio_not_supported', param: 'model' });
  for (const stream of ['true', 'false']) {
    const failWith = Object.assign(new ChasquiError('invalid_audio', 'It is truncated.'), { imageIndex: 0 });
    const reply = await server({ failAt: 0, failWith }).send({ stream });
    expectError(reply, { status: 400, code: 'invalid_audio', param: 'file', says: /^`file`: It is truncated/ });
  }
});

test.run();
