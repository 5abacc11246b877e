import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { completeJob } from '../../ts/engine/job.js';
import type { Profile } from '../../ts/profiles/profile.js';
import { runtime } from '../../ts/profiles/runtime.js';
import { testApp } from '../support/build-app.js';
import { expectError } from '../support/expect-error.js';

const test = suite('http: the runtime mode');

test('listens where the documentation says', () => {
  assert.equal([runtime.host, runtime.port], ['127.0.0.1', 8080]);
});

test('its defaults are those of the specification, and reach the engine', async () => {
  const { chat, engine } = testApp();
  await chat();
  assert.equal(engine.jobs[0], completeJob({ prompt: '<user>Hi' }, runtime.sampling));
  const { temperature, topK, topP, minP, repeatPenalty, repeatLastN, seed } = runtime.sampling;
  assert.equal(
    { temperature, topK, topP, minP, repeatPenalty },
    {
      temperature: 1,
      topK: 50,
      topP: 1,
      minP: 0,
      repeatPenalty: 1,
    },
  );
  assert.equal([repeatLastN, seed], [64, null]);
});

test('every parameter reaches the engine', async () => {
  const { chat, engine } = testApp();
  const reply = await chat({
    temperature: 0.3,
    top_k: 7,
    top_p: 0.9,
    min_p: 0.15,
    repetition_penalty: 1.2,
    presence_penalty: -0.5,
    frequency_penalty: 0.25,
    logit_bias: { 5: -100, 7: 2.5 },
    seed: 42,
    max_tokens: 12,
    stop: ['\n', 'END'],
    logprobs: true,
  });
  assert.is(reply.headers['x-chasqui-ignored'], undefined);
  const expected = completeJob({
    prompt: '<user>Hi',
    maxTokens: 12,
    stop: ['\n', 'END'],
    topLogprobs: 0,
    temperature: 0.3,
    topK: 7,
    topP: 0.9,
    minP: 0.15,
    repeatPenalty: 1.2,
    presencePenalty: -0.5,
    frequencyPenalty: 0.25,
    logitBias: { 5: -100, 7: 2.5 },
    seed: 42,
  });
  assert.equal(engine.jobs[0], expected);
});

test('llama.cpp’s samplers reach the engine', async () => {
  const { chat, engine } = testApp();
  const reply = await chat({
    repeat_last_n: -1,
    typical_p: 0.9,
    top_n_sigma: 1.5,
    xtc_probability: 0.5,
    xtc_threshold: 0.2,
    dynatemp_range: 0.4,
    dynatemp_exponent: 2,
    mirostat: 2,
    mirostat_tau: 4,
    mirostat_eta: 0.2,
    adaptive_target: 0.4,
    adaptive_decay: 0.5,
    dry_multiplier: 0.8,
    dry_base: 2,
    dry_allowed_length: 3,
    dry_penalty_last_n: 100,
    dry_sequence_breakers: ['\n'],
    samplers: ['dry', 'xtc', 'adaptive_p'],
  });
  assert.is(reply.headers['x-chasqui-ignored'], undefined);
  assert.equal(engine.jobs[0]?.sampling, {
    ...runtime.sampling,
    repeatLastN: -1,
    typicalP: 0.9,
    topNSigma: 1.5,
    xtcProbability: 0.5,
    xtcThreshold: 0.2,
    dynatempRange: 0.4,
    dynatempExponent: 2,
    mirostat: 2,
    mirostatTau: 4,
    mirostatEta: 0.2,
    adaptiveTarget: 0.4,
    adaptiveDecay: 0.5,
    dryMultiplier: 0.8,
    dryBase: 2,
    dryAllowedLength: 3,
    dryPenaltyLastN: 100,
    drySequenceBreakers: ['\n'],
    samplers: ['dry', 'xtc', 'adaptive_p'],
  });
});

test('invalid sampling values are refused with the name of their field', async () => {
  const wrong: Record<string, unknown>[] = [
    { repeat_last_n: -2 },
    { typical_p: -0.1 },
    { xtc_probability: 1.5 },
    { xtc_threshold: -1 },
    { dynatemp_range: -1 },
    { mirostat: 3 },
    { mirostat_tau: '5' },
    { adaptive_target: '0.5' },
    { adaptive_decay: 1 },
    { adaptive_decay: -0.1 },
    { dry_base: -1 },
    { dry_allowed_length: 0.5 },
    { dry_sequence_breakers: Array(17).fill('x') },
    { samplers: [] },
    { samplers: 'kz' },
  ];
  for (const body of wrong) {
    const { chat } = testApp();
    const reply = await chat(body);
    assert.is(reply.statusCode, 400, JSON.stringify(body));
    assert.is(JSON.parse(reply.body).error.param, Object.keys(body)[0]);
  }
});

test('invalid list items are refused with their index', async () => {
  for (const [body, param] of [
    [{ dry_sequence_breakers: ['a', ''] }, 'dry_sequence_breakers[1]'],
    [{ dry_sequence_breakers: ['x'.repeat(41)] }, 'dry_sequence_breakers[0]'],
    [{ samplers: ['top_k', 'infill'] }, 'samplers[1]'],
  ] as const) {
    const { chat } = testApp();
    const reply = await chat(body);
    assert.is(reply.statusCode, 400);
    assert.is(JSON.parse(reply.body).error.param, param);
  }
});

test('the desktop’s word for the penalty is ignored and named', async () => {
  const { chat, engine } = testApp();
  const reply = await chat({ repeat_penalty: 1.5 });
  assert.is(reply.headers['x-chasqui-ignored'], 'repeat_penalty');
  assert.is(engine.jobs[0]?.sampling.repeatPenalty, 1);
});

test('models: the list, one of them, an unknown one', async () => {
  const { app } = testApp();
  const entry = (await app.inject('/v1/models/fake')).json();
  assert.is(entry.id, 'fake');
  assert.is(entry.created, 1_700_000_000);
  for (const url of ['/v1/models', '/v1/models/', '/v1/models?x=1']) {
    const reply = await app.inject(url);
    const { models, ...list } = reply.json();
    assert.equal(list, { object: 'list', data: [entry] });
    const details = { format: 'gguf', quantization_level: entry.quantization };
    const capabilities = entry.capabilities;
    assert.equal(models, [{ name: 'fake', model: 'fake', type: 'model', capabilities, details }]);
    assert.match(String(reply.headers['x-request-id']), /^req_/);
  }
  expectError(await app.inject('/v1/models/other'), {
    status: 404,
    type: 'not_found_error',
    code: 'model_not_found',
    says: /`other`.*`fake`/,
  });
});

test('an id may hold slashes, spaces and other letters', async () => {
  const id = `organisation/name of ñandú ${'x'.repeat(200)}`;
  const { app, chat } = testApp({ model: { id } });
  assert.is((await app.inject(`/v1/models/${encodeURIComponent(id)}`)).json().id, id);
  assert.is((await app.inject(`/v1/models/${encodeURI(id)}`)).json().id, id);
  assert.is((await chat({ model: id })).json().model, id);
});

test('health counts what runs', async () => {
  const { app, engine, chat } = testApp({ manual: true });
  const reply = chat();
  while (engine.running.size === 0) await new Promise((resolve) => setImmediate(resolve));
  const health = (await app.inject('/health')).json();
  assert.equal(
    { status: health.status, model: health.model, active: health.active, queued: health.queued },
    { status: 'ok', model: 'fake', active: 1, queued: 0 },
  );
  engine.step();
  engine.step();
  await reply;
  assert.is((await app.inject('/health')).json().jobs_finished, 1);
});

test('the root says what this is', async () => {
  const { app } = testApp();
  const reply = await app.inject('/');
  assert.is(reply.statusCode, 200);
  assert.match(reply.body, /chasqui.*\/v1\/models/);
});

test('the differences between modes are data', async () => {
  const other: Profile = {
    ...runtime,
    sampling: { ...runtime.sampling, topK: 40 },
    unsupportedParameters: ['min_p'],
    checksModelName: false,
    demandsJsonContentType: false,
  };
  const { post, engine } = testApp({}, {}, other);
  const body = { model: 'any', messages: [{ role: 'user', content: 'Hi' }], min_p: 'x', repeat_penalty: 1.5 };
  for (const headers of [{}, { 'content-type': 'text/plain' }, { 'content-type': 'application/json' }]) {
    const reply = await post(JSON.stringify(body), headers);
    assert.is(reply.statusCode, 200, reply.body);
    assert.is(reply.headers['x-chasqui-ignored'], 'min_p');
  }
  assert.equal([engine.jobs[0]?.sampling.topK, engine.jobs[0]?.sampling.repeatPenalty], [40, 1.5]);
});

test.run();
