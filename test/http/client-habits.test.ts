// Requests that clients of other servers send. Each was once refused or silently ignored.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { desktop } from '../../ts/profiles/desktop.js';
import { runtime } from '../../ts/profiles/runtime.js';
import { type TestApp, testApp } from '../support/build-app.js';
import { expectError } from '../support/expect-error.js';
import { finishOf } from '../support/fake-engine.js';
import { readSse } from '../support/read-sse.js';

const test = suite('http: habits of clients');

const user = { role: 'user', content: 'Hi' };
const tool = (name: string) => ({ type: 'function', function: { name } });
const tools = [tool('look'), tool('say'), tool('walk')];
const schema = { type: 'object', properties: { a: { type: 'integer' } } };

/** Empty content, and arguments that are an object. */
const callOfObject = {
  role: 'assistant',
  content: [],
  tool_calls: [{ id: 'c', type: 'function', function: { name: 'look', arguments: { at: ['é', null, { b: 1.5 }] } } }],
};

type Check = (test: TestApp) => void;

const job = ({ engine }: TestApp) => engine.jobs[0];
const rendered = ({ engine }: TestApp) => engine.renderOptions[0];
const read = ({ engine }: TestApp) => engine.conversations[0];

type Habit = [name: string, body: Record<string, unknown>, check: Check];

const TAKEN: Habit[] = [
  ['max_tokens: -1', { max_tokens: -1 }, (t) => assert.is(job(t)?.maxTokens, null)],
  ['max_completion_tokens: -1', { max_completion_tokens: -1 }, (t) => assert.is(job(t)?.maxTokens, null)],
  [
    'max_completion_tokens: -1 beside max_tokens',
    { max_completion_tokens: -1, max_tokens: 7 },
    (t) => assert.is(job(t)?.maxTokens, 7),
  ],
  ['n_predict', { n_predict: 5 }, (t) => assert.is(job(t)?.maxTokens, 5)],
  ['n_predict: -1', { n_predict: -1 }, (t) => assert.is(job(t)?.maxTokens, null)],
  ['top_k: -1', { top_k: -1 }, (t) => assert.is(job(t)?.sampling.topK, 0)],
  ['seed: -1', { seed: -1 }, (t) => assert.is(job(t)?.sampling.seed, null)],
  ['an empty stop', { stop: '' }, (t) => assert.equal(job(t)?.stop, [])],
  ['an empty stop among others', { stop: ['', 'a', ''] }, (t) => assert.equal(job(t)?.stop, ['a'])],
  [
    '64 stops',
    { stop: Array.from({ length: 64 }, (_, index) => `s${index}`) },
    (t) => assert.is(job(t)?.stop.length, 64),
  ],
  [
    'arguments as an object beside an empty content, and an empty result',
    { messages: [user, callOfObject, { role: 'tool', tool_call_id: 'c', content: [] }] },
    (t) => {
      const toolCalls = [{ id: 'c', name: 'look', arguments: '{"at":["é",null,{"b":1.5}]}' }];
      assert.equal(read(t)?.[1], { role: 'assistant', content: '', toolCalls });
      assert.equal(read(t)?.[2], { role: 'tool', content: '', toolCallId: 'c' });
    },
  ],
  [
    'function_call with arguments as an object',
    { messages: [user, { role: 'assistant', content: null, function_call: { name: 'look', arguments: {} } }, user] },
    (t) => assert.equal(read(t)?.[1]?.toolCalls, [{ name: 'look', arguments: '{}' }]),
  ],
  [
    'tool_choice allowed_tools',
    {
      tools,
      tool_choice: {
        type: 'allowed_tools',
        allowed_tools: { mode: 'required', tools: [tool('walk'), tool('look')] },
      },
    },
    (t) => {
      assert.equal(
        rendered(t)?.tools?.map(({ name }) => name),
        ['look', 'walk'],
      );
      assert.is(rendered(t)?.toolChoice, 'required');
    },
  ],
  [
    'role function',
    {
      messages: [
        user,
        { role: 'assistant', content: null, function_call: { name: 'look', arguments: '{}' } },
        { role: 'function', name: 'look', content: 'A door.' },
      ],
    },
    (t) => {
      assert.equal(read(t)?.[1]?.toolCalls, [{ name: 'look', arguments: '{}' }]);
      assert.equal(read(t)?.[2], { role: 'tool', content: 'A door.', name: 'look' });
    },
  ],
  [
    'refusal parts',
    {
      messages: [
        user,
        { role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }], refusal: null },
        user,
        { role: 'assistant', content: null, refusal: 'Never.' },
        user,
      ],
    },
    (t) => {
      assert.is(read(t)?.[1]?.content, 'No.');
      assert.is(read(t)?.[3]?.content, 'Never.');
    },
  ],
  ...[{ content: null }, {}].map(
    (content): Habit => [
      `content of a tool: ${JSON.stringify(content)}`,
      {
        messages: [
          user,
          {
            role: 'assistant',
            tool_calls: [{ id: 'c', index: 0, ...tool('look'), function: { name: 'look', arguments: '{}' } }],
          },
          { role: 'tool', tool_call_id: 'c', ...content },
        ],
      },
      (t) => assert.equal(read(t)?.[2], { role: 'tool', content: '', toolCallId: 'c' }),
    ],
  ),
  [
    'json_object with schema',
    { response_format: { type: 'json_object', schema } },
    (t) => assert.equal(rendered(t)?.jsonSchema, schema),
  ],
  [
    'json_schema with its schema beside it',
    { response_format: { type: 'json_schema', schema } },
    (t) => assert.equal(rendered(t)?.jsonSchema, schema),
  ],
  ['top-level json_schema', { json_schema: schema }, (t) => assert.equal(rendered(t)?.jsonSchema, schema)],
  [
    'continue_final_message',
    {
      messages: [user, { role: 'assistant', content: 'Well' }],
      continue_final_message: true,
      add_generation_prompt: false,
    },
    (t) => assert.is(rendered(t)?.continueFinalMessage, undefined),
  ],
  [
    'continue_final_message: false',
    { messages: [user, { role: 'assistant', content: 'Well' }], continue_final_message: false },
    (t) => assert.is(rendered(t)?.continueFinalMessage, false),
  ],
  [
    'add_generation_prompt: true',
    { add_generation_prompt: true, continue_final_message: false },
    (t) => assert.is(job(t)?.prompt, '<user>Hi'),
  ],
];

for (const [name, body, check] of TAKEN) {
  test(`taken: ${name}`, async () => {
    const app = testApp({}, { strict: true });
    const reply = await app.chat(body);
    assert.is(reply.statusCode, 200, reply.body);
    assert.is(reply.headers['x-chasqui-ignored'], undefined);
    check(app);
  });
}

const STRICT_SCHEMAS: [name: string, of: object, refused: string | null][] = [
  ['a bound of a number', { type: 'number', minimum: 0 }, null],
  ['a nullable number with a bound', { type: ['number', 'null'], maximum: 5 }, null],
  ['multipleOf', { type: 'integer', multipleOf: 5 }, null],
  ['a format', { type: 'string', format: 'email' }, null],
  ['a format that is not enforced', { type: 'string', format: 'color' }, 'format'],
];

for (const [name, of, refused] of STRICT_SCHEMAS) {
  test(`strict schemas ${refused ? 'must not' : 'may'} have ${name}`, async () => {
    const strict = { name: 'x', strict: true, schema: { type: 'object', properties: { a: of } } };
    const { chat, engine } = testApp();
    const reply = await chat({ response_format: { type: 'json_schema', json_schema: strict } });
    const called = await chat({
      tools: [{ type: 'function', function: { name: 'f', strict: true, parameters: strict.schema } }],
    });
    if (refused !== null) {
      const below = `properties.a.${refused}`;
      const [ofFormat, ofTool] = [
        `response_format.json_schema.schema.${below}`,
        `tools[0].function.parameters.${below}`,
      ];
      expectError(reply, { status: 400, code: 'unsupported_parameter', param: ofFormat });
      return expectError(called, { status: 400, code: 'unsupported_parameter', param: ofTool });
    }
    assert.equal([reply.statusCode, called.statusCode], [200, 200], reply.body);
    assert.is(reply.headers['x-chasqui-ignored'], undefined);
    assert.equal(engine.renderOptions[0]?.jsonSchema, strict.schema);
  });
}

const NAMED: [name: string, body: Record<string, unknown>, header: string][] = [
  ['within stream_options', { stream_options: { include_obfuscation: false } }, 'stream_options.include_obfuscation'],
  ['within a message', { messages: [{ ...user, colour: 'red', cache: null }] }, 'messages%5B0%5D.colour'],
  [
    'within a part',
    { messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi', cache_control: { type: 'ephemeral' } }] }] },
    'messages%5B0%5D.content%5B0%5D.cache_control',
  ],
  ['beside an unknown field', { x: 1, messages: [user, { ...user, y: 1 }] }, 'x, messages%5B1%5D.y'],
  ['within a tool', { tools: [{ ...tool('a'), cached: true }] }, 'tools%5B0%5D.cached'],
];

for (const [name, body, header] of NAMED) {
  test(`named, and refused where that is asked for: ${name}`, async () => {
    const reply = await testApp().chat(body);
    assert.is(reply.statusCode, 200, reply.body);
    assert.is(reply.headers['x-chasqui-ignored'], header);
    const strict = await testApp({}, { strict: true }).chat(body);
    const param = decodeURIComponent(header.split(', ')[0] ?? '');
    expectError(strict, { status: 400, code: 'unknown_parameter', param });
  });
}

test('template variables, schemas and arguments accept any members', async () => {
  const { chat } = testApp({}, { strict: true });
  const parameters = { type: 'object', properties: { anything: { colour: 1 } } };
  const reply = await chat({
    chat_template_kwargs: { enable_thinking: false, mine: { deep: 1 } },
    tools: [{ type: 'function', function: { name: 'f', parameters } }],
    tool_choice: tool('f'),
    logit_bias: { 5: 1 },
  });
  assert.is(reply.statusCode, 200, reply.body);
});

test('as many unknown parts are named as a header holds', async () => {
  const messages = Array.from({ length: 500 }, () => ({ ...user, ['x'.repeat(80)]: 1 }));
  const reply = await testApp().chat({ messages, ...Object.fromEntries(messages.map((_, index) => [`f${index}`, 1])) });
  assert.is(reply.statusCode, 200);
  const header = String(reply.headers['x-chasqui-ignored']);
  assert.ok(header.length < 8000 && header.endsWith('...'), header);
});

const REFUSED: [name: string, body: Record<string, unknown>, param: string, says: RegExp][] = [
  ['max_tokens 0', { max_tokens: 0 }, 'max_tokens', /must be -1 or at least 1, but got 0/],
  ['max_tokens -2', { max_tokens: -2 }, 'max_tokens', /must be -1 or at least 1, but got -2/],
  ['65 stops', { stop: Array(65).fill('x') }, 'stop', /at most 64 items/],
  [
    'allowed tools that are none',
    { tools, tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [tool('fly')] } } },
    'tool_choice',
    /names `fly`/,
  ],
  [
    'no allowed tools',
    { tools, tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [] } } },
    'tool_choice.allowed_tools.tools',
    /empty array/,
  ],
  ['nothing to continue', { continue_final_message: true }, 'continue_final_message', /last message/],
  [
    'to continue a message and to begin one',
    {
      messages: [user, { role: 'assistant', content: 'Hel' }],
      continue_final_message: true,
      add_generation_prompt: true,
    },
    'continue_final_message',
    /exclude each other/,
  ],
];

for (const [name, body, param, says] of REFUSED) {
  test(`refused: ${name}`, async () => {
    expectError(await testApp().chat(body), { status: 400, code: 'invalid_value', param, says });
  });
}

test('no generation prompt where there is nothing to continue, and two schemas, are refused', async () => {
  const { chat } = testApp();
  const unsupported = { status: 400, code: 'unsupported_parameter' };
  expectError(await chat({ add_generation_prompt: false }), { ...unsupported, param: 'add_generation_prompt' });
  const response_format = { type: 'json_object', schema };
  expectError(await chat({ json_schema: schema, response_format }), { ...unsupported, param: 'json_schema' });
  expectError(await chat({ json_schema: schema, grammar: 'root ::= "a"' }), { ...unsupported, param: 'grammar' });
});

test('timings_per_token: times so far with each chunk, and whole ones at the end', async () => {
  const timingsOf = async (body: object) =>
    readSse((await testApp().chat({ stream: true, ...body })).body).events.map(({ timings }) => timings);
  const [first, hel, ...rest] = await timingsOf({ timings_per_token: true });
  assert.is(first, undefined, 'the chunk with the role');
  assert.equal(Object.keys(hel).sort(), [
    'cache_n',
    'predicted_ms',
    'predicted_n',
    'predicted_per_second',
    'prompt_ms',
    'prompt_n',
    'prompt_per_second',
  ]);
  assert.equal(
    rest.map(({ predicted_n, cache_n }) => [predicted_n, cache_n]),
    [
      [4, 0],
      [4, 0],
      [4, 0],
    ],
  );
  const withUsage = await timingsOf({ timings_per_token: true, stream_options: { include_usage: true } });
  assert.equal(withUsage.at(-1), withUsage.at(-2), 'the chunk with the usage has those of the end');
  assert.ok((await timingsOf({})).every((timings) => timings === undefined));
  assert.is((await testApp().chat({ timings_per_token: true })).json().timings.predicted_n, 4);
});

test('the limit of `--n-predict` is that of requests without one', async () => {
  const app = testApp({}, {}, { ...runtime, maxTokens: 7 });
  await app.send('/completion', { prompt: 'Hi', n_predict: -1 });
  await app.send('/completion', { prompt: 'Hi', n_predict: 2 });
  await app.send('/v1/chat/completions', { model: 'fake', messages: [user] });
  assert.equal(
    app.engine.jobs.map(({ maxTokens }) => maxTokens),
    [7, 2, 7],
  );
});

test('with `--verbose`, chats report their prompt and settings', async () => {
  const { send } = testApp({}, { verbose: true });
  const chat = { model: 'fake', temperature: 0.5, messages: [user] };
  const { __verbose: report } = (await send('/v1/chat/completions', chat)).json();
  assert.is(report.prompt, '<user>Hi');
  assert.equal([report.generation_settings.temperature, report.generation_settings.stream], [0.5, false]);
  const { events } = readSse((await send('/v1/chat/completions', { ...chat, n: 2, stream: true })).body);
  const reports = events.filter(({ __verbose }) => __verbose);
  assert.is(reports.length, 1);
  const { timings, ...streamed } = reports[0].__verbose;
  assert.equal(
    { ...streamed, timings: report.timings },
    { ...report, generation_settings: { ...report.generation_settings, stream: true } },
  );
  assert.is(timings.predicted_n, report.timings.predicted_n);
  assert.is((await testApp().send('/v1/chat/completions', chat)).json().__verbose, undefined);
});

test('a request asks for the report by `verbose`, which has the fields of `/completion`', async () => {
  const adapters = [{ name: 'style', scale: 1 }];
  const model = { adapters, adaptersInUse: [{ adapter: 0, scale: 0.25 }] };
  const chat = (body: object) => ({ model: 'fake', messages: [user], ...body });
  const reportOf = async (body: object, verbose = false) =>
    (await testApp({ model }, { verbose }).send('/v1/chat/completions', chat(body))).json().__verbose;
  const report = await reportOf({ verbose: true });
  const { send } = testApp({ model });
  const reply = (await send('/completion', { prompt: 'Hi' })).json();
  const missing = Object.keys(reply).filter((name) => !(name in report));
  assert.equal(missing, ['content', 'tokens', 'has_new_line']);
  assert.equal(Object.keys(report.timings), Object.keys(reply.timings));
  assert.equal(reply.generation_settings.lora, [{ id: 0, scale: 0.25 }]);
  assert.equal(report.generation_settings.lora, [{ id: 0, scale: 0.25 }]);
  const own = await reportOf({ verbose: true, lora: [{ id: 'style' }] });
  assert.equal(own.generation_settings.lora, [{ id: 0, scale: 1 }]);
  assert.is(await reportOf({ verbose: false }, true), undefined);
  assert.is((await send('/v1/chat/completions', chat({ verbose: 'yes' }))).json().error.param, 'verbose');
});

test('it says whether the context was full, and how long each token took after the first', async () => {
  const endOf = async (prompt: number, tokens: number, reason: 'length' | 'stop') => {
    const finish = finishOf(prompt, tokens, { reason, timings: { queuedMs: 1, promptMs: 10, predictedMs: 20 } });
    const app = testApp({ model: { contextLength: 100 }, batches: () => [[{ text: 'x', finish }]] });
    const reply = (await app.send('/completion', { prompt: 'Hi' })).json();
    return [reply.truncated, reply.timings.predicted_per_token_ms];
  };
  assert.equal(await endOf(60, 41, 'length'), [true, 0.5]);
  assert.equal(await endOf(60, 41, 'stop'), [false, 0.5]);
  assert.equal(await endOf(60, 1, 'length'), [false, 0]);
});

test('the slots can be hidden', async () => {
  const { app } = testApp({}, { slots: false });
  assert.is((await app.inject('/slots')).statusCode, 404);
  const endpoints = async (each: typeof app) => (await each.inject('/props')).json().endpoint_slots;
  assert.equal([await endpoints(app), await endpoints(testApp().app)], [false, true]);
});

for (const profile of [runtime, desktop]) {
  test(`${profile.mode}: slashes may be doubled`, async () => {
    const { app, send } = testApp({}, {}, profile);
    assert.is((await app.inject('//v1/models')).statusCode, 200);
    assert.is((await app.inject('/v1//models/fake')).statusCode, 200);
    const reply = await send('//v1//chat/completions', { model: 'fake', messages: [user] });
    assert.is(reply.statusCode, 200, reply.body);
  });
}

test.run();
