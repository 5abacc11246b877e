// llama-server's endpoints with a scripted engine: jobs that reach it, and replies.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { EmbeddingsReply } from '../../ts/api/shared/text/embeddings-schema.js';
import type { Token } from '../../ts/engine/engine.js';
import { closeApps, type TestApp, testApp } from '../support/build-app.js';
import { finishOf } from '../support/fake-engine.js';
import { readSse } from '../support/read-sse.js';

const test = suite('http: llama-server');
test.after.each(closeApps);

const JSON_TYPE = { 'content-type': 'application/json' };

function complete({ send }: TestApp, body: Record<string, unknown> = {}) {
  return send('/completion', { prompt: 'Hi', ...body });
}

const timings = { queuedMs: 1, promptMs: 10, predictedMs: 20 };
/** Two tokens, the first in two halves. */
const batches = (): Partial<Token>[][] => [
  [{ id: 7, text: '' }],
  [{ id: 8, text: 'Hey\n' }],
  [{ id: 9, text: 'you', finish: finishOf(5, 3, { cachedTokens: 3, timings, reason: 'length' }) }],
];

test('a reply has llama-server’s fields', async () => {
  const app = testApp({ batches });
  const reply = (await complete(app, { n_predict: 3, temperature: 0, return_tokens: true })).json();
  const { timings: measured, generation_settings: settings, ...rest } = reply;
  assert.equal(rest, {
    index: 0,
    content: 'Hey\nyou',
    tokens: [7, 8, 9],
    id_slot: -1,
    stop: true,
    model: 'fake',
    tokens_predicted: 3,
    tokens_evaluated: 5,
    prompt: 'Hi',
    has_new_line: true,
    truncated: false,
    stop_type: 'limit',
    stopping_word: '',
    tokens_cached: 3,
  });
  const { prompt_n, cache_n, prompt_per_token_ms, predicted_n, predicted_ms } = measured;
  assert.equal([prompt_n, cache_n, prompt_per_token_ms, predicted_n, predicted_ms], [2, 3, 5, 3, 20]);
  const { seed, temperature, top_k, repeat_last_n, n_predict, max_tokens } = settings;
  assert.equal([seed, temperature, top_k, repeat_last_n, n_predict, max_tokens], [4294967295, 0, 50, 64, 3, 3]);
  assert.equal((await complete(app)).json().tokens, []);
  assert.is((await complete(testApp())).json().has_new_line, false);
});

test('several completions do not repeat what is long without end', async () => {
  const grammar = `root ::= "${'a'.repeat(400_000)}"`;
  const outcome = async (body: Record<string, unknown>) => {
    const app = testApp({ batches });
    const reply = (await complete(app, { grammar, ...body })).json();
    return [reply.error?.code ?? 'answered', reply.error?.param ?? '', app.engine.jobs.length];
  };
  assert.equal(await outcome({}), ['answered', '', 1]);
  assert.equal(await outcome({ n: 64 }), ['answered', '', 64]);
  assert.equal(await outcome({ n: 128 }), ['invalid_value', 'n', 0]);
  assert.equal(await outcome({ n: 128, stream: true }), ['invalid_value', 'n', 0]);
  assert.equal(await outcome({ prompt: Array(128).fill('Hi') }), ['invalid_value', 'prompt', 0]);
  assert.equal(await outcome({ n: 128, response_fields: ['content', 'tokens'] }), ['answered', '', 128]);
  assert.equal(await outcome({ n: 64, response_fields: ['generation_settings', 'generation_settings/grammar'] }), [
    'invalid_value',
    'n',
    0,
  ]);
  assert.equal(await outcome({ n: 128, grammar: 'root ::= "a"', prompt: 'x'.repeat(400_000) }), [
    'invalid_value',
    'n',
    0,
  ]);
});

test('it says what ended it', async () => {
  const endOf = async (finish: Parameters<typeof finishOf>[2]) => {
    const app = testApp({ batches: () => [[{ text: 'x', finish: finishOf(1, 1, finish) }]] });
    const { stop_type, stopping_word } = (await complete(app, { stop: ['END'] })).json();
    return [stop_type, stopping_word];
  };
  assert.equal(await endOf({}), ['eos', '']);
  assert.equal(await endOf({ stopString: 'END' }), ['word', 'END']);
  assert.equal(await endOf({ reason: 'length' }), ['limit', '']);
});

test('a stream has an event for each token with text, then one with everything', async () => {
  const app = testApp({ batches });
  const { events, done } = readSse((await complete(app, { stream: true })).body);
  assert.not.ok(done);
  const told = events as unknown as Record<string, unknown>[];
  assert.equal(
    told.map(({ content, tokens, stop, tokens_predicted, tokens_evaluated }) => [
      content,
      tokens,
      stop,
      tokens_predicted,
      tokens_evaluated,
    ]),
    [
      ['Hey\n', [7, 8], false, 2, 2],
      ['you', [9], false, 3, 5],
      ['', [], true, 3, 5],
    ],
  );
  assert.equal([told.at(-1)?.stop_type, told.at(-1)?.prompt], ['limit', 'Hi']);
  assert.not.ok('timings' in (told[0] ?? {}));
});

test('prompts come as texts, tokens, both in one list, or several of these', async () => {
  const prompts: [unknown, unknown[]][] = [
    ['ab', ['ab']],
    [[97, 98], [[97, 98]]],
    [[97, 'b', 99], [[97, 98, 99]]],
    [{ prompt_string: 'ab' }, ['ab']],
    [
      ['ab', 'c'],
      ['ab', 'c'],
    ],
    [
      [[97], 'b', { prompt_string: 'c' }],
      [[97], [98], [99]],
    ],
  ];
  for (const [prompt, expected] of prompts) {
    const app = testApp();
    const reply = await complete(app, { prompt });
    assert.is(reply.statusCode, 200, reply.body);
    assert.equal(
      app.engine.jobs.map((job) => job.prompt),
      expected,
    );
    assert.is(Array.isArray(reply.json()), expected.length > 1);
    const texts = [reply.json()].flat().map((each: { prompt: string }) => each.prompt);
    assert.is(
      texts.join(''),
      expected.map((each) => (typeof each === 'string' ? each : Buffer.from(each as number[]))).join(''),
    );
  }
});

test('a prompt that is none is refused, and what is wrong is named', async () => {
  const wrong: [Record<string, unknown>, string][] = [
    [{ prompt: [] }, 'prompt'],
    [{ prompt: 3 }, 'prompt'],
    [{ prompt: {} }, 'prompt.prompt_string'],
    [{ prompt: [[97], 98] }, 'prompt[1]'],
    [{ prompt: [999] }, 'prompt[0]'],
    [{ prompt: ['a', [999]] }, 'prompt[1][0]'],
    [{ prompt: Array(129).fill('a') }, 'prompt'],
    [{ prompt: [1, ...Array(1025).fill('a')] }, 'prompt'],
    [{ prompt: { prompt_string: 'a', multimodal_data: ['AAAA'] } }, 'prompt.multimodal_data[0]'],
    [{ prompt: 'x'.repeat(5000) }, 'prompt'],
    [{ json_schema: { type: 'object' }, grammar: 'root ::= "a"' }, 'grammar'],
    [{ n_probs: 257 }, 'n_probs'],
    [{ n_predict: -2 }, 'n_predict'],
    [{ logit_bias: [['a', true]] }, 'logit_bias[0]'],
    [{ logit_bias: [[1.5, 1]] }, 'logit_bias[0]'],
    [{ logit_bias: [[1]] }, 'logit_bias[0]'],
  ];
  for (const [body, param] of wrong) {
    const reply = await complete(testApp(), body);
    assert.is(reply.statusCode, 400, reply.body);
    assert.is(reply.json().error.param, param);
  }
});

test('samplers of all names are obeyed, and unknown fields named', async () => {
  const app = testApp();
  const reply = await complete(app, {
    repeat_penalty: 1.5,
    seed: 3,
    grammar: 'root ::= "a"',
    ignore_eos: true,
    id_slot: 1,
  });
  assert.is(reply.headers['x-chasqui-ignored'], 'id_slot');
  const [job] = app.engine.jobs;
  assert.equal([job?.sampling.repeatPenalty, job?.sampling.seed, job?.ignoreEos], [1.5, 3, true]);
  assert.is(job?.grammar?.gbnf, 'root ::= "a"');
  const { generation_settings: settings } = reply.json();
  assert.equal([settings.repeat_penalty, settings.seed, settings.grammar], [1.5, 3, 'root ::= "a"']);
  assert.equal(settings.logit_bias?.[1], { token: 3, bias: null });
});

test('biases are for tokens, by their numbers and by texts', async () => {
  const app = testApp();
  await complete(app, {
    logit_bias: [
      [5, -1],
      ['ab', false],
      ['7', 2],
    ],
  });
  await complete(app, { logit_bias: { 5: -1, ab: false } });
  const ban = -1e6;
  assert.equal(app.engine.jobs[0]?.sampling.logitBias, { 5: -1, 97: ban, 98: ban, 7: 2 });
  assert.equal(app.engine.jobs[1]?.sampling.logitBias, { 5: -1, 97: ban, 98: ban });
});

test('n_predict: 0 only reads the prompt', async () => {
  const app = testApp();
  const { content, tokens_predicted, stop_type } = (await complete(app, { n_predict: 0, return_tokens: true })).json();
  assert.equal([content, tokens_predicted, stop_type], ['', 0, 'eos']);
  assert.is(app.engine.jobs[0]?.maxTokens, 1);
  assert.is(readSse((await complete(app, { n_predict: 0, stream: true })).body).events.length, 1);
  await complete(app, { n_predict: -1 });
  assert.is(app.engine.jobs[2]?.maxTokens, null);
});

test('only those fields are sent that are asked for', async () => {
  const response_fields = ['content', 'generation_settings/n_predict', 'nothing', '__proto__/x'];
  const reply = (await complete(testApp(), { n_predict: 3, response_fields })).json();
  assert.equal(reply, { content: 'Hello!', 'generation_settings/n_predict': 3 });
});

const gap = { input_prefix: 'pre', input_suffix: 'suf' };

test('a gap is filled', async () => {
  const app = testApp();
  const reply = (await app.send('/infill', { ...gap, prompt: 'x' })).json();
  assert.is(reply.content, 'Hello!');
  assert.equal(app.engine.jobs[0]?.prompt, [...Buffer.from('<pre>prex<suf>suf<mid>')]);
  const refused = await testApp({ model: { infills: false } }).send('/infill', gap);
  assert.equal([refused.statusCode, refused.json().error.code], [400, 'model_not_capable']);
});

test('other texts stand before it, as many of their tokens as there is room for', async () => {
  const app = testApp();
  const input_extra = [{ filename: 'a.h', text: 'one' }, { text: 'two' }];
  await app.send('/infill', { ...gap, input_extra });
  const snippet = '\n\n--- snippet ---\n\n';
  const fill = '<pre>pre<suf>suf<mid>';
  const textOf = (index: number) => Buffer.from(app.engine.jobs[index]?.prompt as number[]).toString();
  assert.is(textOf(0), `${snippet}one${snippet}two${fill}`);
  await app.send('/infill', { ...gap, n_predict: 10, input_extra: [{ text: `${'a'.repeat(500_000)}b` }] });
  assert.is(textOf(1).length, 4096 - 10 - 1);
  assert.ok(textOf(1).endsWith(`ab${fill}`));
  for (const wrong of [{}, { filename: 'a' }, { filename: 1, text: 'a' }]) {
    assert.is((await app.send('/infill', { ...gap, input_extra: [wrong] })).statusCode, 400);
  }
});

test('a model that has tokens for files gets them', async () => {
  const app = testApp();
  const { tokenize } = app.engine;
  const names: Record<string, number> = { '<|file_sep|>': 1, '<|repo_name|>': 2 };
  app.engine.tokenize = async (text, ...rest) => {
    return text in names ? Int32Array.of(names[text] as number) : tokenize.call(app.engine, text, ...rest);
  };
  await app.send('/infill', { ...gap, input_extra: [{ filename: 'a.h', text: 'one' }] });
  const text = '\x02myproject\n\x01a.h\none\x01filename\n<pre>pre<suf>suf<mid>';
  assert.is(Buffer.from(app.engine.jobs[0]?.prompt as number[]).toString(), text);
});

test('props say how a model is served, and not where its file lies', async () => {
  const { app } = testApp({ model: { parallel: 2 } });
  const props = (await app.inject('/props')).json();
  assert.equal([props.total_slots, props.model_alias, props.model_path], [2, 'fake', 'fake.gguf']);
  assert.equal(props.modalities, { vision: false, audio: false, video: false });
  const { n_ctx, params } = props.default_generation_settings;
  assert.equal([n_ctx, params.temperature, params.top_k, params.n_predict], [4096, 1, 50, -1]);
  const own = testApp({ model: { sampling: { seed: 42, temperature: 0.5 } } });
  const settings = (await own.app.inject('/props')).json().default_generation_settings.params;
  assert.equal([settings.seed, settings.temperature, settings.top_k], [42, 0.5, 50]);
  assert.is((await app.inject('/props?model=fake')).statusCode, 200);
  assert.is((await app.inject('/props?model=other')).json().error.code, 'model_not_found');
});

test('slots say how many are taken, and nothing of what is computed', async () => {
  const test = testApp({ manual: true, model: { parallel: 2 } });
  const running = complete(test, { prompt: 'a secret' });
  while (test.engine.running.size === 0) await new Promise(setImmediate);
  const reply = await test.app.inject('/slots');
  assert.equal(
    reply.json().map(({ is_processing }: { is_processing: boolean }) => is_processing),
    [true, false],
  );
  assert.not.match(reply.body, 'secret');
  test.engine.step();
  test.engine.step();
  await running;
  assert.not.ok((await test.app.inject('/slots')).json()[0].is_processing);
});

test('adapters are listed by their places', async () => {
  const adapters = [{ name: 'style', scale: 0.5 }];
  const listed = await testApp({ model: { adapters } }).app.inject('/lora-adapters');
  assert.equal(listed.json(), [{ id: 0, name: 'style', scale: 0 }]);
  assert.equal((await testApp().app.inject('/lora-adapters')).json(), []);
});

test('the scales of adapters are set for requests that do not say', async () => {
  const adapters = [
    { name: 'style', scale: 0.5 },
    { name: 'sql', scale: 1 },
  ];
  const { app, engine, send } = testApp({ model: { adapters } });
  const set = async (body: unknown) =>
    app.inject({ method: 'POST', url: '/lora-adapters', headers: JSON_TYPE, body: JSON.stringify(body) });
  const scales = async () => (await app.inject('/lora-adapters')).json().map(({ scale }: { scale: number }) => scale);
  const adaptersOf = async (body: object = {}) => {
    await send('/completion', { model: 'fake', prompt: 'a', ...body });
    return engine.jobs.at(-1)?.adapters;
  };
  assert.equal([await adaptersOf(), await scales()], [null, [0, 0]]);
  assert.equal((await set([{ id: 1, scale: 0.25 }])).json(), { success: true });
  assert.equal(await scales(), [0, 0.25]);
  assert.equal(await adaptersOf(), [{ adapter: 1, scale: 0.25 }]);
  assert.equal(await adaptersOf({ lora: [{ id: 0, scale: 2 }] }), [{ adapter: 0, scale: 2 }]);
  assert.is((await set([{ id: 'style' }])).statusCode, 200);
  assert.equal(await scales(), [0.5, 0]);
  assert.is((await set([])).statusCode, 200);
  assert.equal(await scales(), [0, 0]);

  for (const body of [[{ id: 2 }], [{ id: 'other' }], [{ id: 0 }, { id: 0 }], [{ id: 0, scale: 'x' }], {}, [{}], 'x']) {
    const reply = await set(body);
    assert.is(reply.statusCode, 400, JSON.stringify(body));
    assert.is(reply.json().error.type, 'invalid_request_error');
  }
  assert.equal(await scales(), [0, 0]);
  assert.match((await set([{ id: 0 }, { id: 0 }])).body, /The list names the same adapter twice.*"\[1\]\.id"/);
});

test('a chat’s prompt is counted', async () => {
  const { send } = testApp();
  const messages = [{ role: 'user', content: 'Hi' }];
  const reply = await send('/v1/chat/completions/input_tokens', { model: 'fake', messages });
  assert.equal(reply.json(), { object: 'response.input_tokens', input_tokens: '<user>Hi'.length });
  assert.is((await send('/v1/chat/completions/input_tokens', { model: 'fake' })).json().error.param, 'messages');
});

test('embeddings of `input` or `content` are lists of vectors', async () => {
  const { send } = testApp();
  const { data } = (await send('/v1/embeddings', { model: 'fake', input: ['a', 'bc'] })).json();
  const listed = data.map(({ index, embedding }: EmbeddingsReply['data'][number]) => ({
    index,
    embedding: [embedding],
  }));
  assert.equal((await send('/embedding', { input: ['a', 'bc'] })).json(), listed);
  assert.equal((await send('/embedding', { content: 'a' })).json(), listed.slice(0, 1));
  const [coded] = (await send('/embedding', { content: 'a', encoding_format: 'base64' })).json();
  assert.type(coded.embedding[0], 'string');
  assert.is((await send('/embedding', {})).json().error.param, 'input');
  assert.is((await send('/embedding', { content: [['a'], 5] })).json().error.param, 'content[1]');
});

test('texts are ranked in the form of Text Embeddings Inference, documents in llama-server’s', async () => {
  const { send } = testApp({ model: { pooling: 'rank' } });
  const texts = ['a', 'abc'];
  const sigmoid = (score: number) => 1 / (1 + Math.exp(-score));
  assert.equal((await send('/rerank', { query: 'q', texts })).json(), [
    { index: 1, score: sigmoid(3) },
    { index: 0, score: sigmoid(1) },
  ]);
  const raw = await send('/rerank', { query: 'q', texts, raw_scores: true, return_text: true, top_n: 1 });
  assert.equal(raw.json(), [{ index: 1, score: 3, text: 'abc' }]);
  assert.is((await send('/rerank', { query: 'q', documents: texts })).json().results[0].relevance_score, 3);
  const withTexts = await send('/reranking', { query: 'q', texts, return_documents: true, top_n: 1 });
  assert.is(withTexts.json()[0].text, texts[withTexts.json()[0].index]);
  const withDocuments = await send('/rerank', { query: 'q', documents: texts, return_documents: true });
  assert.is(typeof withDocuments.json().results[0].document.text, 'string');
  assert.is((await send('/rerank', { query: 'q' })).json().error.param, 'texts');
  assert.is((await send('/rerank', { query: 'q', texts: [] })).statusCode, 400);
});

test('speech synthesis is refused with a reason', async () => {
  const reply = await testApp().send('/v1/audio/speech', { input: 'x' });
  assert.equal([reply.statusCode, reply.json().error.code], [404, 'unknown_url']);
  assert.match(reply.json().error.message, /does not speak/);
});

test('a prompt that is too long has the error type of llama-server', async () => {
  const app = testApp();
  for (const [url, body] of [
    ['/completion', { prompt: 'x'.repeat(5000) }],
    ['/infill', { input_prefix: 'x'.repeat(5000), input_suffix: '' }],
    ['/chat/completions', { model: 'fake', messages: [{ role: 'user', content: 'x'.repeat(5000) }] }],
    ['/responses', { model: 'fake', input: 'x'.repeat(5000) }],
  ] as const) {
    for (const stream of [false, true]) {
      const reply = await app.send(url, { ...body, stream });
      const { type, code, n_ctx, message } = reply.json().error;
      assert.match(message, 'exceeds the available context size');
      assert.equal([reply.statusCode, type, code], [400, 'exceed_context_size_error', 'context_length_exceeded']);
      assert.is(n_ctx, 4096);
    }
  }
  assert.is((await app.send('/completion', { prompt: 5 })).json().error.type, 'invalid_request_error');
});

test.run();
