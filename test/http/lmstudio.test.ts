// LM Studio's own endpoints: what they add to completions, and their lists of models.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { desktop } from '../../ts/profiles/desktop.js';
import { testApp } from '../support/build-app.js';
import { type FakeScript, finishOf } from '../support/fake-engine.js';
import { readSse } from '../support/read-sse.js';

const test = suite('http: lmstudio');

const CHAT = '/api/v0/chat/completions';
const messages = [{ role: 'user', content: 'Hi' }];
const timings = { queuedMs: 100, promptMs: 400, predictedMs: 2000 };
const model = { description: 'llama 0.5B Q4_K - Medium', quantization: 'Q4_K - Medium' };

/** Five tokens, and how they ended. */
const ending = (finish: Parameters<typeof finishOf>[2]): FakeScript => ({
  model,
  batches: () => [[{ text: 'Hello' }], [{ text: '!', finish: finishOf(7, 5, { timings, ...finish }) }]],
});

const stats = { tokens_per_second: 2, time_to_first_token: 0.5, generation_time: 2, stop_reason: 'eosFound' };
const modelInfo = { arch: 'llama', quant: 'Q4_K_M', format: 'gguf', context_length: 4096 };

test('a completion says how fast it was and what computed it', async () => {
  const { send } = testApp(ending({}), {}, desktop);
  for (const [url, body] of [
    [CHAT, { model: 'any', messages }],
    ['/api/v0/completions', { model: 'any', prompt: 'Hi' }],
  ] as const) {
    const reply = (await send(url, body)).json();
    assert.equal([reply.stats, reply.model_info], [stats, modelInfo], url);
    assert.equal([reply.runtime.name, reply.runtime.supported_formats], ['chasqui', ['gguf']]);
    assert.is(reply.usage.completion_tokens, 5);
  }
});

test('it is otherwise the same as that of OpenAI’s endpoint', async () => {
  const { send, chat } = testApp(ending({}));
  const {
    stats: _stats,
    model_info: _info,
    runtime: _runtime,
    id: _id,
    created: _created,
    ...rest
  } = (await send(CHAT, { model: 'fake', messages })).json();
  const { id: _other, created: _then, ...plain } = (await chat()).json();
  assert.equal(rest, plain);
  assert.not.ok('stats' in plain);
});

test('only the last chunk of a choice has its finish reason', async () => {
  const { send } = testApp(ending({}));
  const body = { model: 'fake', stream: true, stream_options: { include_usage: true } };
  for (const [url, field] of [
    [CHAT, { messages }],
    ['/api/v0/completions', { prompt: 'Hi' }],
  ] as const) {
    const { events, done } = readSse((await send(url, { ...body, ...field })).body);
    assert.ok(done);
    const told = events.filter((event) => 'stats' in event);
    assert.is(told.length, 1, url);
    assert.is(told[0]?.choices[0].finish_reason, 'stop');
    assert.equal((told[0] as unknown as { stats: object }).stats, stats);
    assert.is(events.at(-1)?.choices.length, 0);
  }
});

test('it says why it ended', async () => {
  const reasons: [Parameters<typeof finishOf>[2], string][] = [
    [{ stopString: 'x' }, 'stopStringFound'],
    [{ reason: 'length' }, 'maxPredictedTokensReached'],
    [{ reason: 'length', promptTokens: 4091 }, 'contextLengthReached'],
  ];
  for (const [finish, reason] of reasons) {
    const { send } = testApp(ending(finish));
    assert.is((await send(CHAT, { model: 'fake', messages })).json().stats.stop_reason, reason);
  }
});

test('bodies are checked as those of OpenAI’s endpoints', async () => {
  const { send } = testApp();
  const reply = await send(CHAT, { model: 'fake', messages, temperature: 'hot' });
  assert.equal([reply.statusCode, reply.json().error.param], [400, 'temperature']);
  assert.is((await send('/api/v0/embeddings', { model: 'fake', input: 'ab' })).json().data[0].embedding[0], 2);
});

test('models are listed with what they are', async () => {
  const { app } = testApp({ model: { ...model, id: 'meta/llama', parameterCount: 5e8, trainedContextLength: 8192 } });
  const { data, object } = (await app.inject('/api/v0/models')).json();
  const entry = {
    id: 'meta/llama',
    object: 'model',
    publisher: 'meta',
    compatibility_type: 'gguf',
    state: 'loaded',
    type: 'llm',
    arch: 'llama',
    quantization: 'Q4_K_M',
    max_context_length: 8192,
    loaded_context_length: 4096,
    capabilities: ['tool_use'],
  };
  assert.equal([object, data], ['list', [entry]]);
  for (const id of ['meta/llama', 'meta%2Fllama']) {
    assert.equal((await app.inject(`/api/v0/models/${id}`)).json(), entry);
  }
  assert.is((await app.inject('/api/v0/models/other')).json().error.code, 'model_not_found');
  const [keyed] = (await app.inject('/api/v1/models')).json().models;
  assert.equal([keyed.key, keyed.display_name, keyed.params_string], ['meta/llama', 'llama', '500M']);
  assert.equal(keyed.quantization, { name: 'Q4_K_M', bits_per_weight: 4.89 });
  assert.equal(keyed.loaded_instances, [{ id: 'meta/llama', config: { context_length: 4096 } }]);
});

test('other kinds of models are told apart', async () => {
  const typeOf = async (changes: FakeScript['model']) => {
    const { app } = testApp({ model: changes ?? {} });
    return (await app.inject('/api/v0/models/fake')).json().type;
  };
  assert.is(await typeOf({ vision: true }), 'vlm');
  assert.is(await typeOf({ generates: false }), 'embeddings');
});

test.run();
