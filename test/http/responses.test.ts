import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ChasquiError } from '../../ts/errors.js';
import { closeApps, listeningApp, testApp } from '../support/build-app.js';
import { expectError } from '../support/expect-error.js';
import type { FakeScript } from '../support/fake-engine.js';
import { LOGPROB_BATCHES, LOGPROB_ENTRIES } from '../support/logprob-tokens.js';
import { inPieces, postTo, readNamedEvents } from '../support/post-to.js';
import { until } from '../support/until.js';

const test = suite('http: responses');

test.after.each(closeApps);

const URL = '/v1/responses';

function responses(script: FakeScript = {}, options: Parameters<typeof testApp>[1] = {}) {
  const { app, ...rest } = testApp(script, options);
  const post = postTo(app, URL);
  return { ...rest, app, respond: (body: object = {}) => post({ model: 'fake', input: 'Hi', ...body }) };
}

test('timings_per_token: times so far with what each step brought, and whole ones at the end', async () => {
  for (const how of [{}, { background: true }]) {
    const { respond } = responses();
    const timed = readNamedEvents((await respond({ stream: true, timings_per_token: true, ...how })).body);
    const told = timed.filter((event) => 'timings' in event);
    const last = told.pop();
    assert.equal([last.type, last.timings.predicted_n, last.timings.cache_n], ['response.completed', 4, 0]);
    // One write may bring several tokens.
    assert.ok(told.length > 0);
    assert.ok(told.every(({ type, timings }) => type === 'response.output_text.delta' && !('queued_ms' in timings)));
    const counts = told.map(({ timings }) => timings.predicted_n);
    assert.equal([counts.at(-1), [...new Set(counts)].sort()], [4, counts]);
    const plain = readNamedEvents((await respond({ stream: true, ...how })).body);
    assert.ok(plain.every((event) => !('timings' in event)));
  }
});

test('a whole response has the published fields', async () => {
  const { respond, engine } = responses();
  const reply = await respond({ instructions: 'Be brief.', max_output_tokens: 9, metadata: { a: 'b' } });
  assert.is(reply.statusCode, 200, reply.body);
  const { id, created_at, completed_at, output, ...rest } = reply.json();
  assert.match(id, /^resp_/);
  assert.ok(created_at > 1_700_000_000 && completed_at >= created_at);
  assert.match(output[0].id, /^msg_/);
  assert.equal(output, [
    {
      type: 'message',
      id: output[0].id,
      status: 'completed',
      role: 'assistant',
      content: [{ type: 'output_text', text: 'Hello!', annotations: [], logprobs: [] }],
    },
  ]);
  assert.equal(rest, {
    object: 'response',
    status: 'completed',
    error: null,
    incomplete_details: null,
    model: 'fake',
    usage: {
      input_tokens: 25,
      input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
      output_tokens: 4,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 29,
    },
    instructions: 'Be brief.',
    max_output_tokens: 9,
    metadata: { a: 'b' },
    parallel_tool_calls: true,
    reasoning: { effort: null, summary: null },
    temperature: 1,
    top_p: 1,
    presence_penalty: 0,
    frequency_penalty: 0,
    top_logprobs: 0,
    text: { format: { type: 'text' } },
    tool_choice: 'auto',
    tools: [],
    truncation: 'disabled',
    background: false,
    store: true,
    previous_response_id: null,
    service_tier: 'default',
    max_tool_calls: null,
    safety_identifier: null,
    prompt_cache_key: null,
    conversation: null,
  });
  assert.equal(engine.jobs[0]?.prompt, '<system>Be brief.<user>Hi');
  assert.is(engine.jobs[0]?.maxTokens, 9);
  assert.is(engine.jobs[0]?.sampling.topK, 50);
});

test('a stream has every event, by name, and ends with [DONE]', async () => {
  const { respond } = responses();
  const reply = await respond({ stream: true, quux: 1, max_tokens: 5 });
  assert.is(reply.headers['content-type'], 'text/event-stream; charset=utf-8');
  assert.is(reply.headers['x-chasqui-ignored'], 'quux, max_tokens;did-you-mean=max_output_tokens');
  assert.ok(reply.body.endsWith('\n\ndata: [DONE]\n\n'));
  const events = readNamedEvents(reply.body);
  assert.equal(
    events.map(({ type, delta }) => (delta === undefined ? type : `${type} ${delta}`)),
    [
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta Hel',
      'response.output_text.delta lo',
      'response.output_text.delta !',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.completed',
    ],
  );
  assert.is(events.at(-1).response.output[0].content[0].text, 'Hello!');
});

test('log-probabilities come with the text when they are included', async () => {
  const { respond, engine } = responses({ batches: () => LOGPROB_BATCHES });
  const body = { include: ['message.output_text.logprobs'], top_logprobs: 2 };
  const [{ content }] = (await respond(body)).json().output;
  assert.equal(content[0].logprobs, LOGPROB_ENTRIES);
  assert.is(engine.jobs[0]?.topLogprobs, 2);
  const events = readNamedEvents((await respond({ ...body, stream: true })).body);
  const deltas = events.filter(({ type }) => type === 'response.output_text.delta');
  assert.equal(
    deltas.flatMap(({ logprobs }) => logprobs),
    LOGPROB_ENTRIES,
  );
});

const THINKING = '<think>Hm.</think>I look.<call>weather {"city":"Cuzco"}</call><call>clock {}</call>';
const tools = [
  { type: 'function', name: 'weather', parameters: { type: 'object' } },
  { type: 'function', name: 'clock' },
];

test('reasoning, text and calls are items of their own, whole and streamed', async () => {
  const batches = () => inPieces(THINKING);
  const { respond, engine } = responses({ batches, model: { takesTools: true } });
  const whole = (await respond({ tools })).json();
  const shown = (item: Record<string, unknown>) => [item.type, item.name ?? item.content, item.arguments, item.status];
  assert.equal(whole.output.map(shown), [
    ['reasoning', [{ type: 'reasoning_text', text: 'Hm.' }], undefined, 'completed'],
    ['message', [{ type: 'output_text', text: 'I look.', annotations: [], logprobs: [] }], undefined, 'completed'],
    ['function_call', 'weather', '{"city":"Cuzco"}', 'completed'],
    ['function_call', 'clock', '{}', 'completed'],
  ]);
  assert.is(whole.usage.output_tokens_details.reasoning_tokens, '<think>Hm.</think>'.length - '</think>'.length);
  assert.equal(
    engine.renderOptions[0]?.tools?.map(({ name }) => name),
    ['weather', 'clock'],
  );

  const events = readNamedEvents((await respond({ tools, stream: true })).body);
  assert.equal(events.at(-1).response.output.map(shown), whole.output.map(shown));
  const isDone = ({ type }: { type: string }) => type === 'response.function_call_arguments.done';
  const done = events.filter(isDone).map((event) => [event.name, event.arguments]);
  assert.equal(done, [
    ['weather', '{"city":"Cuzco"}'],
    ['clock', '{}'],
  ]);
});

test('the choice of tools and the format reach the template', async () => {
  const { respond, engine } = responses({ model: { takesTools: true } });
  await respond({ tools, tool_choice: { type: 'function', name: 'clock' }, parallel_tool_calls: false });
  const schema = { type: 'object', properties: { a: { type: 'integer' } } };
  await respond({ text: { format: { type: 'json_schema', name: 'n', schema, strict: true } } });
  const [first, second] = engine.renderOptions;
  assert.equal([first?.toolChoice, first?.parallelToolCalls], [{ name: 'clock' }, false]);
  assert.equal(second?.jsonSchema, schema);
});

test('unenforceable parts of a format are reported by the names in the request', async () => {
  const { respond } = responses();
  const format = { type: 'json_schema', name: 'n', schema: { type: 'string', format: 'color' }, strict: false };
  const reply = await respond({ text: { format } });
  assert.is(reply.statusCode, 200, reply.body);
  assert.is(reply.headers['x-chasqui-ignored'], 'text.format.schema.format');
});

const wrong: [object, string, string, RegExp?][] = [
  [{ input: undefined }, 'input', 'missing_required_parameter'],
  [{ input: [] }, 'input', 'invalid_value'],
  [{ input: 5 }, 'input', 'invalid_type'],
  [{ input: ['a'] }, 'input[0]', 'invalid_type'],
  [{ input: [{}] }, 'input[0].type', 'missing_required_parameter'],
  [{ input: [{ type: 'thought', id: 'a' }] }, 'input[0].type', 'invalid_value', /function_call_output/],
  [{ input: [{ type: 'item_reference' }] }, 'input[0].id', 'missing_required_parameter'],
  [{ input: [{ role: 'tool', content: 'a' }] }, 'input[0].role', 'invalid_value'],
  [{ input: [{ role: 'user' }] }, 'input[0].content', 'missing_required_parameter'],
  [{ input: [{ role: 'user', content: [{ type: 'input_video' }] }] }, 'input[0].content[0].type', 'invalid_value'],
  [
    {
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'a' },
            { type: 'input_image', detail: 'low' },
          ],
        },
      ],
    },
    'input[0].content[1].image_url',
    'missing_required_parameter',
  ],
  [{ input: [{ type: 'function_call', call_id: 'a', name: 'f' }] }, 'input[0].arguments', 'missing_required_parameter'],
  [{ tools: [{ type: 'function' }] }, 'tools[0].name', 'missing_required_parameter'],
  [{ tools: [{ type: 'custom' }] }, 'tools[0].name', 'missing_required_parameter'],
  [{ tools: [{ type: 'web_search' }], tool_choice: 'required' }, 'tool_choice', 'invalid_value'],
  [{ tools: [{ type: 'function', name: 'a b' }] }, 'tools[0].name', 'invalid_value'],
  [{ reasoning: { effort: 'huge' } }, 'reasoning.effort', 'invalid_value', /"minimal"/],
  [{ tool_choice: 'any' }, 'tool_choice', 'invalid_value', /"none", "auto" or "required"/],
  [{ tool_choice: { type: 'file_search' } }, 'tool_choice.type', 'invalid_value'],
  [{ text: { format: { type: 'xml' } } }, 'text.format.type', 'invalid_value'],
  [{ text: { format: { type: 'json_schema', name: 'n' } } }, 'text.format.schema', 'missing_required_parameter'],
  [{ temperature: '0.5' }, 'temperature', 'invalid_type'],
  [{ max_output_tokens: 0 }, 'max_output_tokens', 'invalid_value'],
  [{ truncation: 'middle' }, 'truncation', 'invalid_value', /"auto" or "disabled"/],
  [{ conversation: 'conv_1', previous_response_id: 'resp_1' }, 'conversation', 'invalid_value'],
  [{ prompt: { id: 'p' } }, 'prompt', 'unsupported_parameter'],
  [{ metadata: { a: 1 } }, 'metadata.a', 'invalid_type'],
];

for (const [body, param, code, says] of wrong) {
  test(`${JSON.stringify(body)} is an error of ${param}`, async () => {
    const { respond, engine } = responses();
    expectError(await respond(body), { status: 400, param, code, ...(says && { says }) });
    assert.is(engine.jobs.length, 0);
  });
}

test('null is as good as absent, and what asks for nothing passes', async () => {
  const { respond } = responses();
  const nothing = { previous_response_id: null, tools: [], text: { format: null }, store: true, background: false };
  const reply = await respond({ ...nothing, truncation: 'auto', stream_options: { include_obfuscation: false } });
  assert.is(reply.statusCode, 200, reply.body);
  assert.is(reply.headers['x-chasqui-ignored'], undefined);
});

test('an empty input is one: agents ask so whether a server is there', async () => {
  const { respond, engine } = responses();
  const reply = await respond({ input: '', max_output_tokens: 1 });
  assert.is(reply.statusCode, 200, reply.body);
  assert.equal([engine.jobs[0]?.prompt, engine.jobs[0]?.maxTokens], ['<user>', 1]);
});

test('another model’s name is a 404', async () => {
  const { respond } = responses();
  const expected = { status: 404, type: 'not_found_error', param: 'model', code: 'model_not_found' };
  expectError(await respond({ model: 'other' }), expected);
});

test('errors in tools and schemas name the fields of this protocol', async () => {
  const { respond } = responses({ model: { takesTools: true } });
  const schema = { type: 'object', properties: { a: { type: 'string', format: 'color' } } };
  const strict = { type: 'json_schema', name: 'n', schema, strict: true };
  const called = { type: 'function_call', call_id: 'a', name: 'weather', arguments: '{}' };
  const failures: [object, string][] = [
    [{ text: { format: strict } }, 'text.format.schema.properties.a.format'],
    [{ tools: [tools[0], tools[0]] }, 'tools[1].name'],
    [{ tools, tool_choice: { type: 'function', name: 'other' } }, 'tool_choice'],
    [{ tools, input: [{ role: 'user', content: 'a' }, called] }, 'input[1]'],
  ];
  for (const [body, param] of failures) {
    const { error } = (await respond(body)).json();
    assert.is(error?.param, param, JSON.stringify(body));
  }
  const beside = await respond({ tools, text: { format: { ...strict, strict: false } } });
  assert.is(beside.statusCode, 200, beside.body);
  const none = await responses({ model: { takesTools: false } }).respond({ tools });
  assert.is(none.json().error.param, 'tools');
});

test('errors in the chat body name the fields of this protocol', async () => {
  const { respond } = responses();
  const image = { type: 'input_image', image_url: 'data:image/png;base64,AA' };
  const reply = await respond({ instructions: 'a', input: [{ role: 'user', content: [image] }] });
  assert.match(reply.json().error.param, /^input\[0\]\.content\[0\]/);
  assert.match(reply.json().error.message, /`input\[0\]\.content\[0\]/);
  const long = { status: 400, param: 'input', code: 'context_length_exceeded' };
  expectError(await respond({ input: 'x'.repeat(5000) }), long);
  expectError(await respond({ input: 'x'.repeat(5000), stream: true }), long);
});

test('a failure in a stream ends the response and is told', async () => {
  const { respond, serverErrors } = responses({
    failAt: 1,
    failWith: new ChasquiError('decode_failed', 'The model broke.'),
  });
  const events = readNamedEvents((await respond({ stream: true })).body);
  assert.equal(
    events.slice(-2).map(({ type }) => type),
    ['response.failed', 'error'],
  );
  assert.is(events.at(-1).error.code, 'decode_failed');
  assert.is(events.at(-2).response.error.code, 'server_error');
  assert.is(serverErrors.length, 1);
});

test('a stream that just stops does not look complete', async () => {
  const { respond } = responses({ unfinished: true });
  const events = readNamedEvents((await respond({ stream: true })).body);
  assert.is(events.at(-1).type, 'error');
  assert.is((await respond()).statusCode, 500);
});

test('a long wait begins with comments, and a failure then has a beginning too', async () => {
  const { engine, url } = await listeningApp({ manual: true }, { keepAliveMs: 5 });
  const body = JSON.stringify({ model: 'fake', input: 'Hi', stream: true });
  const reply = await fetch(url + URL, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  assert.is(reply.status, 200);
  for (const stream of engine.running) stream.fail(new ChasquiError('context_length_exceeded', 'Too long.'));
  const text = await reply.text();
  assert.match(text, /^: keep-alive\n\n/);
  const expected = ['response.created', 'response.in_progress', 'response.failed', 'error'];
  const events = readNamedEvents(text);
  assert.equal(
    events.map(({ type }) => type),
    expected,
  );
  assert.is(events.at(-1).param, 'input');
  // By this code agents know that they have to shorten the conversation.
  assert.is(events.at(-2).response.error.code, 'context_length_exceeded');
});

test('a client that goes frees its sequence', async () => {
  const { engine, url } = await listeningApp({ manual: true });
  const controller = new AbortController();
  const body = JSON.stringify({ model: 'fake', input: 'Hi', stream: true });
  const headers = { 'content-type': 'application/json' };
  const reply = fetch(url + URL, { method: 'POST', headers, body, signal: controller.signal });
  await until(() => engine.running.size === 1, 'the job is submitted');
  engine.step();
  await reply;
  controller.abort();
  await until(() => engine.running.size === 0, 'the sequence is freed');
  assert.is(engine.cancelled, 1);
});

test('the prompt’s tokens are counted without an answer', async () => {
  const { app, engine } = responses();
  const count = postTo(app, '/v1/responses/input_tokens');
  const reply = await count({ model: 'fake', instructions: 'Be brief.', input: 'Hi' });
  assert.equal(reply.json(), { object: 'response.input_tokens', input_tokens: 25 });
  assert.is(engine.jobs.length, 0);
});

test('it takes POST, and with --strict no unknown field', async () => {
  const { app, respond } = responses({}, { strict: true });
  const reply = await app.inject({ method: 'GET', url: URL });
  expectError(reply, { status: 405, code: 'method_not_allowed' });
  expectError(await respond({ max_tokens: 5 }), {
    status: 400,
    param: 'max_tokens',
    code: 'unknown_parameter',
    says: /`max_output_tokens`/,
  });
});

test.run();
