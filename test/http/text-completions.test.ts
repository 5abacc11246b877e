import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ChasquiError } from '../../ts/errors.js';
import { VERSION } from '../../ts/version.js';
import { testApp } from '../support/build-app.js';
import { type ExpectedError, expectError } from '../support/expect-error.js';
import { finishOf } from '../support/fake-engine.js';
import { LOGPROB_BATCHES, LOGPROB_ENTRIES } from '../support/logprob-tokens.js';
import { readSse } from '../support/read-sse.js';

const test = suite('http: completions');

const URL = '/v1/completions';
const body = (fields: object = {}) => ({ model: 'fake', prompt: 'Once', ...fields });

test('a whole reply has the published shape and nothing else', async () => {
  const { send, engine } = testApp();
  const reply = await send(URL, body());
  assert.is(reply.statusCode, 200, reply.body);
  const { id, created, ...rest } = reply.json();
  assert.match(id, /^cmpl-[0-9a-f]{32}$/);
  assert.ok(Number.isInteger(created));
  assert.equal(rest, {
    object: 'text_completion',
    model: 'fake',
    system_fingerprint: `chasqui-${VERSION}`,
    choices: [{ index: 0, text: 'Hello!', logprobs: null, finish_reason: 'stop' }],
    usage: { prompt_tokens: 4, completion_tokens: 4, total_tokens: 8, prompt_tokens_details: { cached_tokens: 0 } },
  });
  assert.is(engine.jobs[0]?.prompt, 'Once');
  assert.equal(engine.conversations, [], 'no template is asked');
});

test('a stream has chunks of the same shape, one for each wake, the end of its own, and the usage when it is asked for', async () => {
  const { send } = testApp();
  const reply = await send(URL, body({ stream: true, stream_options: { include_usage: true } }));
  assert.is(reply.headers['content-type'], 'text/event-stream; charset=utf-8');
  const { events, done } = readSse(reply.body);
  assert.ok(done);
  assert.equal(
    events.map(({ object, choices }) => ({ object, choices })),
    [
      { object: 'text_completion', choices: [{ index: 0, text: 'Hel', logprobs: null, finish_reason: null }] },
      { object: 'text_completion', choices: [{ index: 0, text: 'lo!', logprobs: null, finish_reason: null }] },
      { object: 'text_completion', choices: [{ index: 0, text: '', logprobs: null, finish_reason: 'stop' }] },
      { object: 'text_completion', choices: [] },
    ],
  );
  assert.equal(
    events.map(({ usage }) => usage?.total_tokens ?? null),
    [null, null, null, 8],
  );
});

test('a schema becomes the grammar of the job, and what of it cannot be enforced is named', async () => {
  const { send, engine } = testApp();
  const schema = { type: 'object', properties: { a: { type: 'string', format: 'color' } } };
  const reply = await send(URL, body({ json_schema: schema }));
  assert.is(reply.statusCode, 200, reply.body);
  assert.is(reply.headers['x-chasqui-ignored'], 'json_schema.properties.a.format');
  assert.is(engine.jobs[0]?.grammar?.schema, JSON.stringify(schema));
  const native = await send('/completion', { prompt: 'Once', json_schema: schema });
  assert.is(native.headers['x-chasqui-ignored'], 'json_schema.properties.a.format');
  assert.is(engine.jobs[1]?.grammar?.schema, JSON.stringify(schema));
  const both = await send(URL, body({ json_schema: schema, grammar: 'root ::= "a"' }));
  expectError(both, { status: 400, code: 'unsupported_parameter', param: 'grammar' });
  const long = await send(URL, body({ json_schema: { title: 'x'.repeat(600_000) } }));
  expectError(long, { status: 400, code: 'invalid_value', param: 'json_schema' });
  for (const stream of [false, true]) {
    const failing = testApp({ failAt: 0, failWith: new ChasquiError('invalid_grammar', 'The schema is none.') });
    const refused = await failing.send(URL, body({ json_schema: schema, stream }));
    expectError(refused, { status: 400, code: 'invalid_grammar', param: 'json_schema' });
  }
});

test('`response_format` becomes the grammar of the job, under its own name in errors and headers', async () => {
  const { send, engine } = testApp();
  const schema = { type: 'object', properties: { a: { type: 'string', format: 'color' } } };
  const anyObject = { type: 'object' };
  for (const [format, enforced, ignored] of [
    [{ type: 'json_schema', json_schema: { name: 'n', schema } }, schema, 'response_format.json_schema.schema'],
    [{ type: 'json_schema', schema }, schema, 'response_format.schema'],
    [{ type: 'json_object', schema }, schema, 'response_format.schema'],
    [{ type: 'json_object' }, anyObject],
    [{ type: 'json_schema', json_schema: { schema: {} } }, anyObject],
    [{ type: 'text' }, null],
  ] as const) {
    for (const stream of [false, true]) {
      const reply = await send(URL, body({ response_format: format, stream }));
      assert.is(reply.statusCode, 200, reply.body);
      assert.equal(JSON.parse(engine.jobs.at(-1)?.grammar?.schema ?? 'null'), enforced);
      const named = ignored === undefined ? undefined : `${ignored}.properties.a.format`;
      assert.is(reply.headers['x-chasqui-ignored'], named);
    }
  }

  const strict = { type: 'json_schema', json_schema: { schema, strict: true } };
  const path = 'response_format.json_schema';
  for (const [fields, param, code = 'unsupported_parameter'] of [
    [{ response_format: strict }, `${path}.schema.properties.a.format`],
    [{ response_format: { type: 'json_schema' } }, path, 'missing_required_parameter'],
    [{ response_format: { type: 'xml' } }, 'response_format.type', 'invalid_value'],
    [
      { response_format: { type: 'json_object', schema: { title: 'x'.repeat(600_000) } } },
      'response_format.schema',
      'invalid_value',
    ],
    [{ response_format: strict, json_schema: schema }, 'json_schema'],
    [{ response_format: strict, grammar: 'root ::= "a"' }, 'grammar'],
    [{ response_format: strict, guided_regex: 'a+' }, 'guided_regex'],
  ] as const) {
    const refused = await send(URL, body(fields));
    expectError(refused, { status: 400, code, param });
  }
  const failing = testApp({ failAt: 0, failWith: new ChasquiError('invalid_grammar', 'The schema is none.') });
  const refused = await failing.send(URL, body({ response_format: { type: 'json_object', schema } }));
  expectError(refused, { status: 400, code: 'invalid_grammar', param: 'response_format.schema' });
});

test('without being asked a stream says nothing of usage', async () => {
  const { send } = testApp();
  const { events } = readSse((await send(URL, body({ stream: true }))).body);
  assert.ok(events.every((event) => !('usage' in event)));
});

test('several prompts have n choices each, and each prompt counts once', async () => {
  const { send, engine } = testApp({ batches: (job) => [[{ text: `<${job.prompt}>` }]] });
  const { choices, usage } = (await send(URL, body({ prompt: ['a', 'bcd'], n: 2, seed: 5 }))).json();
  assert.equal(
    choices.map(({ index, text }: { index: number; text: string }) => [index, text]),
    [
      [0, '<a>'],
      [1, '<a>'],
      [2, '<bcd>'],
      [3, '<bcd>'],
    ],
  );
  assert.is(usage.prompt_tokens, 4);
  assert.is(usage.completion_tokens, 4);
  assert.equal(
    engine.jobs.map((job) => job.sampling.seed),
    [5, 6, 5, 6],
  );
});

test('tokens go to the engine as they are', async () => {
  const { send, engine } = testApp();
  await send(URL, body({ prompt: [1, 2, 3] }));
  await send(URL, body({ prompt: [[4], [5, 6]] }));
  assert.equal(
    engine.jobs.map(({ prompt }) => prompt),
    [[1, 2, 3], [4], [5, 6]],
  );
});

test('echo begins each choice with its prompt, spelled out if it came as tokens', async () => {
  const { send } = testApp();
  const texts = async (fields: object) =>
    (await send(URL, body({ echo: true, ...fields }))).json().choices.map(({ text }: { text: string }) => text);
  assert.equal(await texts({ prompt: ['a', 'b'] }), ['aHello!', 'bHello!']);
  assert.equal(await texts({ prompt: [...Buffer.from('hé')] }), ['héHello!']);
  const { events } = readSse((await send(URL, body({ echo: true, stream: true }))).body);
  assert.is(events.map(({ choices }) => choices[0].text).join(''), 'OnceHello!');
});

test('echo does not repeat what is long without end', async () => {
  const prompt = 'x'.repeat(400_000);
  const outcome = async (fields: object) => {
    const { send, engine } = testApp({ model: { contextLength: 2 ** 30 } });
    const reply = (await send(URL, body({ echo: true, ...fields }))).json();
    return [reply.error?.code ?? 'answered', reply.error?.param ?? '', engine.jobs.length];
  };
  assert.equal(await outcome({ prompt, n: 64 }), ['answered', '', 64]);
  assert.equal(await outcome({ prompt, n: 128, echo: false }), ['answered', '', 128]);
  assert.equal(await outcome({ prompt, n: 128 }), ['invalid_value', 'n', 0]);
  assert.equal(await outcome({ prompt, n: 128, stream: true }), ['invalid_value', 'n', 0]);
  assert.equal(await outcome({ prompt: [prompt, '\0'.repeat(200_000)], n: 32 }), ['invalid_value', 'n', 0]);
  const { send } = testApp({ model: { contextLength: 2 ** 30 } });
  expectError(await send(URL, body({ echo: true, prompt, n: 128 })), {
    status: 400,
    code: 'invalid_value',
    param: 'n',
    says: /128 completions .* 51200256 characters .* without `echo`/,
  });
});

test('a suffix makes the prompt that fills the gap', async () => {
  const { send, engine } = testApp();
  await send(URL, body({ prompt: 'a', suffix: 'b' }));
  assert.is(Buffer.from(engine.jobs[0]?.prompt as number[]).toString(), '<pre>a<suf>b<mid>');
});

test('log-probabilities come in the form that completions had', async () => {
  const { send, engine } = testApp({ batches: () => LOGPROB_BATCHES });
  const { choices } = (await send(URL, body({ logprobs: 2 }))).json();
  assert.is(engine.jobs[0]?.topLogprobs, 2);
  const { tokens, token_logprobs, top_logprobs, text_offset } = choices[0].logprobs;
  assert.equal(
    tokens,
    LOGPROB_ENTRIES.map(({ token }) => token),
  );
  assert.equal(
    token_logprobs,
    LOGPROB_ENTRIES.map(({ logprob }) => logprob),
  );
  assert.is(top_logprobs.length, tokens.length);
  assert.is(text_offset[0], 0);
  const whole = (await send(URL, body({ logprobs: 0, stream: true }))).body;
  const streamed = readSse(whole).events.flatMap(({ choices: [choice] }) => choice.logprobs?.tokens ?? []);
  assert.equal(streamed, tokens);
});

test('sampling, limits and stop strings mean what they mean in a chat', async () => {
  const { send, engine } = testApp();
  await send(URL, body({ temperature: 0.3, max_tokens: 7, stop: ['x'], repetition_penalty: 1.2, best_of: 1 }));
  const job = engine.jobs[0];
  assert.is(job?.sampling.temperature, 0.3);
  assert.is(job?.sampling.topK, 50);
  assert.is(job?.sampling.repeatPenalty, 1.2);
  assert.is(job?.maxTokens, 7);
  assert.equal(job?.stop, ['x']);
});

test('a grammar is obeyed, and times are reported where they are asked for', async () => {
  const { send, engine } = testApp();
  const plain = (await send(URL, body({ grammar: 'root ::= "a"', timings: true }))).json();
  assert.is(engine.jobs[0]?.grammar?.gbnf, 'root ::= "a"');
  assert.is(plain.timings.predicted_n, 4);
  const { events } = readSse((await send(URL, body({ stream: true, timings_per_token: true }))).body);
  assert.equal(
    events.map(({ timings }) => [timings.predicted_n, 'queued_ms' in timings]),
    [
      [1, false],
      [4, false],
      [4, true],
    ],
  );
  const without = readSse((await send(URL, body({ stream: true }))).body);
  assert.ok(without.events.every((event) => !('timings' in event)));
});

test('unknown parts of fields are named, or refused where that is asked for', async () => {
  const fields = body({ stream_options: { include_obfuscation: true } });
  const reply = await testApp().send(URL, fields);
  assert.is(reply.headers['x-chasqui-ignored'], 'stream_options.include_obfuscation');
  const strict = await testApp({}, { strict: true }).send(URL, fields);
  expectError(strict, { status: 400, code: 'unknown_parameter', param: 'stream_options.include_obfuscation' });
});

test('a prompt that is too long says so in numbers', async () => {
  const { error } = (await testApp().send(URL, body({ prompt: 'x'.repeat(5000) }))).json();
  assert.equal([error.n_prompt_tokens, error.n_ctx], [5000, 4096]);
});

test('a field of chats alone is ignored and named', async () => {
  const reply = await testApp().send(URL, body({ messages: [], top_logprobs: 3, user: null }));
  assert.is(reply.statusCode, 200);
  assert.is(reply.headers['x-chasqui-ignored'], 'messages, top_logprobs;did-you-mean=logprobs');
});

const REFUSED: [name: string, fields: object, expected: ExpectedError][] = [
  ['no prompt', { prompt: undefined }, { status: 400, code: 'missing_required_parameter', param: 'prompt' }],
  ['a number', { prompt: 5 }, { status: 400, code: 'invalid_type', param: 'prompt' }],
  ['no prompts', { prompt: [] }, { status: 400, code: 'invalid_value', param: 'prompt' }],
  ['no tokens', { prompt: [[]] }, { status: 400, code: 'invalid_value', param: 'prompt[0]' }],
  ['a token beside lists', { prompt: [['a'], 1] }, { status: 400, code: 'invalid_type', param: 'prompt[1]' }],
  ['a token below zero', { prompt: [-1] }, { status: 400, code: 'invalid_value', param: 'prompt[0]' }],
  ['a token outside', { prompt: [[1], [9999]] }, { status: 400, code: 'invalid_value', param: 'prompt[1][0]' }],
  ['a fraction', { prompt: [1.5] }, { status: 400, code: 'invalid_type', param: 'prompt[0]' }],
  ['too many choices', { prompt: ['a', 'b'], n: 100 }, { status: 400, code: 'invalid_value', param: 'n' }],
  ['best_of', { best_of: 2 }, { status: 400, code: 'unsupported_parameter', param: 'best_of' }],
  ['best_of below n', { best_of: 1, n: 2 }, { status: 400, code: 'invalid_value', param: 'best_of' }],
  ['logprobs of chats', { logprobs: true }, { status: 400, code: 'invalid_type', param: 'logprobs' }],
  [
    'another model',
    { model: 'other' },
    { status: 404, type: 'not_found_error', code: 'model_not_found', param: 'model' },
  ],
  ['too long', { prompt: 'x'.repeat(5000) }, { status: 400, code: 'context_length_exceeded', param: 'prompt' }],
];

for (const [name, fields, expected] of REFUSED) {
  test(`refused: ${name}`, async () => expectError(await testApp().send(URL, body(fields)), expected));
}

test('a suffix for a model that fills no gaps is refused', async () => {
  const { send, engine } = testApp({ model: { infills: false } });
  const reply = await send(URL, body({ suffix: 'b' }));
  expectError(reply, { status: 400, code: 'model_not_capable', param: 'suffix', says: /Omit `suffix`/ });
  assert.is(engine.jobs.length, 0);
});

test('a failure in the middle of a stream is an error event', async () => {
  const failWith = new ChasquiError('decode_failed', 'It broke.');
  const { send } = testApp({ failAt: 1, failWith });
  const { events, done } = readSse((await send(URL, body({ stream: true }))).body);
  assert.not.ok(done);
  assert.is(events.at(-1).error.code, 'decode_failed');
});

test('a choice that just stops is an error, not a completion', async () => {
  const { send, serverErrors } = testApp({ unfinished: true });
  expectError(await send(URL, body()), { status: 500, type: 'server_error', code: 'internal_error' });
  assert.match((serverErrors[0] as Error).message, 'ended without a reason');
});

test('finish reasons are the engine’s', async () => {
  const { send } = testApp({ batches: () => [[{ text: 'x', finish: finishOf(1, 1, { reason: 'length' }) }]] });
  assert.is((await send(URL, body())).json().choices[0].finish_reason, 'length');
});

test.run();
