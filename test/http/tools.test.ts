import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { ChatCompletionChunk } from '../../ts/api/openai/chat/schema.js';
import type { Token } from '../../ts/engine/engine.js';
import { testApp } from '../support/build-app.js';
import { expectError } from '../support/expect-error.js';
import { finishOf } from '../support/fake-engine.js';
import { readSse } from '../support/read-sse.js';

const test = suite('http: tools, formats and reasoning');

const tools = [{ type: 'function', function: { name: 'add', parameters: { type: 'object' } } }];
const PARAMETERS = 'tools[0].function.parameters';
const two: Partial<Token>[][] = [
  [{ text: '<think>Both.</think>' }, { text: 'Sure.' }],
  [{ text: '<call>add {"a":' }, { text: '1}</call>' }],
  [{ text: '<call>add {"a":2}</call>' }, { text: '' }],
];
const calls = [
  { id: 'call0', type: 'function', function: { name: 'add', arguments: '{"a":1}' } },
  { id: 'call1', type: 'function', function: { name: 'add', arguments: '{"a":2}' } },
];

test('a whole reply has its calls, its reasoning and their finish reason', async () => {
  const { chat } = testApp({ batches: () => two });
  const reply = (await chat({ tools })).json();
  assert.equal(reply.choices[0], {
    index: 0,
    message: { role: 'assistant', content: 'Sure.', refusal: null, reasoning_content: 'Both.', tool_calls: calls },
    logprobs: null,
    finish_reason: 'tool_calls',
  });
  assert.equal(reply.usage.completion_tokens_details, { reasoning_tokens: 1 });
});

for (const reason of ['length', 'stop'] as const) {
  test(`a call that was cut off is reported, but not as a complete one: ${reason}`, async () => {
    const text = '<call>add {"a":1}</call><call>add {"a"';
    const finish = finishOf(1, 5, { reason });
    const { app, chat } = testApp({ batches: () => [[{ text, finish }]] });
    const post = async (url: string, body: object) => (await app.inject({ method: 'POST', url, payload: body })).json();
    const messages = [{ role: 'user', content: 'Add.' }];

    const [choice] = (await chat({ tools })).json().choices;
    assert.is(choice.finish_reason, reason);
    assert.is(choice.message.tool_calls[1].function.arguments, '{"a"');
    const chunks = chunksOf((await chat({ tools, stream: true })).body);
    assert.is(chunks.at(-1)?.choices[0]?.finish_reason, reason);

    const named = [{ name: 'add', input_schema: { type: 'object' } }];
    const message = await post('/v1/messages', { model: 'fake', max_tokens: 5, messages, tools: named });
    assert.equal(
      message.content.map((block: { text?: string; input?: object }) => block.text ?? block.input),
      [{ a: 1 }, 'add({"a"'],
    );
    assert.is(message.stop_reason, reason === 'length' ? 'max_tokens' : 'end_turn');

    const ollama = await post('/api/chat', { model: 'fake', messages, tools, stream: false });
    assert.equal([ollama.message.tool_calls.length, ollama.message.content], [1, 'add({"a"']);
    assert.is(ollama.done_reason, reason);

    const functions = [{ type: 'function', name: 'add', parameters: { type: 'object' } }];
    const response = await post('/v1/responses', { model: 'fake', input: 'Add.', tools: functions });
    assert.equal(
      response.output.map((item: { status: string; arguments: string }) => [item.status, item.arguments]),
      [
        ['completed', '{"a":1}'],
        ['incomplete', '{"a"'],
      ],
    );
  });
}

test('content is null where there are calls only', async () => {
  const { chat } = testApp({ batches: () => [[{ text: '<call>add {}</call>' }]] });
  const { message } = (await chat({ tools })).json().choices[0];
  assert.is(message.content, null);
  assert.is(message.tool_calls.length, 1);
});

test('a stream names each call once, then sends its arguments in pieces', async () => {
  const { chat } = testApp({ batches: () => two });
  const chunks = chunksOf((await chat({ tools, stream: true, stream_options: { include_usage: true } })).body);
  const deltas = chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta));
  assert.equal(deltas[0], { role: 'assistant', content: null });
  assert.is(deltas.map(({ reasoning_content: piece = '' }) => piece).join(''), 'Both.');
  assert.is(deltas.map(({ content }) => content ?? '').join(''), 'Sure.');
  const pieces = deltas.flatMap((delta) => delta.tool_calls ?? []);
  assert.equal(
    pieces.filter(({ id }) => id !== undefined).map(({ index, id, type }) => [index, id, type]),
    [
      [0, 'call0', 'function'],
      [1, 'call1', 'function'],
    ],
  );
  for (const index of [0, 1]) {
    const own = pieces.filter((piece) => piece.index === index);
    assert.is(own[0]?.function?.name, 'add');
    assert.is(own.map((piece) => piece.function?.arguments).join(''), calls[index]?.function.arguments);
  }
  assert.is(chunks.at(-2)?.choices[0]?.finish_reason, 'tool_calls');
  assert.equal(chunks.at(-1)?.usage?.completion_tokens_details, { reasoning_tokens: 1 });
});

test('every choice has calls of its own', async () => {
  const { chat } = testApp({ batches: () => two });
  const { choices } = (await chat({ tools, n: 3 })).json();
  for (const { message } of choices) assert.equal(message.tool_calls, calls);
});

test('reasoning is told apart without tools where the template does so', async () => {
  const { chat } = testApp({ reasons: true, batches: () => [[{ text: '<think>Hm.</think>Yes.' }]] });
  const { message, finish_reason: reason } = (await chat()).json().choices[0];
  assert.equal(message, { role: 'assistant', content: 'Yes.', refusal: null, reasoning_content: 'Hm.' });
  assert.is(reason, 'stop');
});

test('calls and their results reach the template', async () => {
  const { chat, engine } = testApp();
  const reply = await chat({
    tools,
    messages: [
      { role: 'user', content: 'Add.' },
      { role: 'assistant', content: null, reasoning_content: 'Hm.', tool_calls: calls },
      { role: 'tool', content: '3', tool_call_id: 'call0' },
    ],
  });
  assert.is(reply.statusCode, 200, reply.body);
  assert.equal(engine.conversations[0]?.slice(1), [
    {
      role: 'assistant',
      content: '',
      reasoning: 'Hm.',
      toolCalls: calls.map(({ id, function: call }) => ({ id, ...call })),
    },
    { role: 'tool', content: '3', toolCallId: 'call0' },
  ]);
  assert.equal(engine.renderOptions[0], {
    tools: [{ name: 'add', parameters: { type: 'object' } }],
    toolChoice: 'auto',
  });
});

test("the engine gets the template's grammar, preserved tokens and stop strings", async () => {
  const grammar = { gbnf: 'root ::= "a"', lazy: true, triggers: [], prefill: '', thinkingStart: '', thinkingEnds: [] };
  const { chat, engine } = testApp({
    renderWith: () => ({ grammar, preservedTokens: ['<call>'], additionalStops: ['<end>'] }),
  });
  await chat({ tools, stop: 'x' });
  assert.equal(engine.jobs[0]?.grammar, grammar);
  assert.equal(engine.jobs[0]?.preservedTokens, ['<call>']);
  assert.equal([engine.jobs[0]?.stop, engine.jobs[0]?.formatStops], [['x'], ['<end>']]);
});

test('a continued message begins whole replies, unless `echo` says otherwise', async () => {
  const format = { kind: 0, parser: '', generationPrompt: '', continues: true };
  const { app, chat, engine } = testApp({ renderWith: () => ({ format }) });
  for (const [body, continues] of [
    [{}, false],
    [{ stream: true }, true],
    [{ echo: false }, true],
    [{ stream: true, echo: true }, false],
  ] as const) {
    await chat(body);
    assert.is(engine.jobs.at(-1)?.format?.continues, continues, JSON.stringify(body));
  }
  const payload = { model: 'fake', max_tokens: 5, messages: [{ role: 'user', content: 'Hi' }] };
  await app.inject({ method: 'POST', url: '/v1/messages', payload });
  assert.is(engine.jobs.at(-1)?.format?.continues, true);
});

test('a grammar of the request’s own', async () => {
  const { chat, engine } = testApp();
  assert.is((await chat({ grammar: 'root ::= "a"' })).statusCode, 200);
  assert.is(engine.jobs[0]?.grammar?.gbnf, 'root ::= "a"');
  assert.is(engine.jobs[0]?.grammar?.lazy, false);
});

test('timings are there when asked for, whole and streamed', async () => {
  const finish = finishOf(10, 5, {
    cachedTokens: 4,
    timings: { queuedMs: 1, promptMs: 2, predictedMs: 4 },
    draftedTokens: 3,
    acceptedTokens: 1,
  });
  const { chat } = testApp({ batches: () => [[{ text: 'x', finish }]] });
  const expected = {
    queued_ms: 1,
    cache_n: 4,
    prompt_n: 6,
    prompt_ms: 2,
    prompt_per_second: 3000,
    predicted_n: 5,
    predicted_ms: 4,
    predicted_per_second: 1000,
    draft_n: 3,
    draft_n_accepted: 1,
  };
  assert.equal((await chat({ timings: true })).json().timings, expected);
  const short = testApp({
    batches: () => [[{ text: 'x', finish: finishOf(10, 1, { cachedTokens: 10, timings: { ...finish.timings } }) }]],
  });
  const none = (await short.chat({ timings: true })).json().timings;
  assert.equal([none.prompt_per_second, none.predicted_per_second], [0, 0], 'of nothing');
  assert.is((await chat()).json().timings, undefined);
  const chunks = chunksOf((await chat({ timings: true, stream: true })).body);
  assert.equal(
    chunks.map(({ timings }) => timings),
    [undefined, undefined, expected],
  );
});

const user = { role: 'user', content: 'Hi' };
const answer = { role: 'assistant', content: 'A' };
const call = calls[0];

const REFUSED: [name: string, body: Record<string, unknown>, code: string, param: string][] = [
  ['a tool without a function', { tools: [{ type: 'function' }] }, 'missing_required_parameter', 'tools[0].function'],
  ['a tool of another type', { tools: [{ type: 'web', function: {} }] }, 'invalid_value', 'tools[0].type'],
  [
    'a name with a space',
    { tools: [{ ...tools[0], function: { name: 'a b' } }] },
    'invalid_value',
    'tools[0].function.name',
  ],
  [
    'a schema that is none',
    { tools: [{ type: 'function', function: { name: 'a', parameters: 5 } }] },
    'invalid_type',
    'tools[0].function.parameters',
  ],
  ['a choice nobody knows', { tools, tool_choice: 'any' }, 'invalid_value', 'tool_choice'],
  [
    'a choice without a name',
    { tools, tool_choice: { type: 'function', function: {} } },
    'missing_required_parameter',
    'tool_choice.function.name',
  ],
  ['a choice that is a number', { tools, tool_choice: 5 }, 'invalid_type', 'tool_choice'],
  [
    'an unknown function',
    { tools, tool_choice: { type: 'function', function: { name: 'sub' } } },
    'invalid_value',
    'tool_choice',
  ],
  ['a format nobody knows', { response_format: { type: 'xml' } }, 'invalid_value', 'response_format.type'],
  [
    'a format without its schema',
    { response_format: { type: 'json_schema' } },
    'missing_required_parameter',
    'response_format.json_schema',
  ],
  ['an effort nobody knows', { reasoning_effort: 'max' }, 'invalid_value', 'reasoning_effort'],
  [
    'thinking that is no boolean',
    { chat_template_kwargs: { enable_thinking: 'yes' } },
    'invalid_type',
    'chat_template_kwargs.enable_thinking',
  ],
  [
    'an earlier call without type',
    { messages: [user, { role: 'assistant', tool_calls: [{}] }] },
    'missing_required_parameter',
    'messages[1].tool_calls[0].type',
  ],
  [
    'arguments as a list',
    {
      messages: [user, { role: 'assistant', tool_calls: [{ ...call, function: { name: 'a', arguments: [] } }] }, user],
    },
    'invalid_type',
    'messages[1].tool_calls[0].function.arguments',
  ],
  [
    'arguments as an object that is nested too deeply',
    {
      messages: [
        user,
        {
          role: 'assistant',
          tool_calls: [
            { ...call, function: { name: 'a', arguments: JSON.parse(`${'{"a":'.repeat(70)}1${'}'.repeat(70)}`) } },
          ],
        },
        user,
      ],
    },
    'invalid_value',
    'messages[1].tool_calls[0].function.arguments',
  ],
  [
    'arguments nested too deeply',
    {
      messages: [
        user,
        { role: 'assistant', tool_calls: [{ ...call, function: { name: 'a', arguments: '['.repeat(100_000) } }] },
        user,
      ],
    },
    'invalid_value',
    'messages[1].tool_calls[0].function.arguments',
  ],
  [
    'a call without its result',
    { tools, messages: [user, { role: 'assistant', tool_calls: [call] }] },
    'unsupported_parameter',
    'messages[1].tool_calls',
  ],
  ['two answers at the end', { messages: [user, answer, answer] }, 'unsupported_parameter', 'messages[2]'],
];

for (const [name, body, code, param] of REFUSED) {
  test(`refuses: ${name}`, async () => {
    const { chat, engine } = testApp();
    expectError(await chat(body), { status: 400, code, param });
    assert.is(engine.jobs.length, 0);
  });
}

function chunksOf(body: string): ChatCompletionChunk[] {
  return readSse(body).events;
}

const lenient = { type: 'string', format: 'color', uniqueItems: true };

test('keywords that no grammar can enforce are ignored and reported', async () => {
  const { chat, engine } = testApp({ model: { takesTools: true } });
  const tool = {
    type: 'function',
    function: { name: 'f', parameters: { properties: { v: {}, w: { uniqueItems: true } } } },
  };
  const response_format = { type: 'json_schema', json_schema: { name: 'x', schema: lenient } };
  const reply = await chat({ tools: [tool], response_format, quux: 1 });
  assert.is(reply.statusCode, 200, reply.body);
  assert.equal(String(reply.headers['x-chasqui-ignored']).split(', ').map(decodeURIComponent), [
    'quux',
    'response_format.json_schema.schema.format',
    'response_format.json_schema.schema.uniqueItems',
    'tools[0].function.parameters.properties.w.uniqueItems',
  ]);
  assert.equal(engine.renderOptions[0]?.jsonSchema, lenient);
});

test('the list of what is passed over stays short enough for a header', async () => {
  const { chat } = testApp();
  const properties = Object.fromEntries(
    Array.from({ length: 200 }, (_, i) => [`\u{1f600}`.repeat(99) + i, { format: 'color' }]),
  );
  const reply = await chat({
    response_format: { type: 'json_schema', json_schema: { name: 'x', schema: { properties } } },
  });
  assert.is(reply.statusCode, 200, reply.body);
  const header = String(reply.headers['x-chasqui-ignored']);
  assert.ok(header.length < 8192, `${header.length} characters`);
  assert.match(header, /, \.\.\.$/);
});

test('the same is refused where it is to be obeyed strictly', async () => {
  const { chat } = testApp();
  const schema = { ...lenient, format: 'email' };
  const response_format = { type: 'json_schema', json_schema: { name: 'x', schema, strict: true } };
  const param = 'response_format.json_schema.schema.uniqueItems';
  expectError(await chat({ response_format }), { status: 400, code: 'unsupported_parameter', param });
});

test('parameters of another type than an object are refused by name', async () => {
  const { chat } = testApp();
  const ask = (type: unknown) =>
    chat({ tools: [{ type: 'function', function: { name: 'put', parameters: { type } } }] });
  const error = { status: 400, code: 'invalid_value', param: PARAMETERS };
  for (const type of ['string', ['array', 'null']]) expectError(await ask(type), error);
  for (const type of [undefined, 'object', ['object', 'null']]) assert.is((await ask(type)).statusCode, 200);
});

test('a required call has no effect without tools', async () => {
  const { chat } = testApp();
  for (const tools of [undefined, []]) {
    const reply = await chat({ tool_choice: 'required', ...(tools && { tools }) });
    assert.equal([reply.statusCode, reply.json().choices[0]?.finish_reason], [200, 'stop'], reply.body);
  }
});

test.run();
