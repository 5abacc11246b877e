import type { LightMyRequestResponse } from 'fastify';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ChasquiError } from '../../ts/errors.js';
import { runtime } from '../../ts/profiles/runtime.js';
import { serverless } from '../../ts/profiles/serverless.js';
import { closeApps, listeningApp, testApp } from '../support/build-app.js';
import { FAKE_TAGS, type FakeScript, finishOf } from '../support/fake-engine.js';
import { DEPLOYMENT } from '../support/modes.js';
import { inPieces, postTo, readNamedEvents } from '../support/post-to.js';
import { until } from '../support/until.js';

const test = suite('http: Anthropic messages');

test.after.each(closeApps);

const URL = '/v1/messages';
const request = { model: 'fake', max_tokens: 50, messages: [{ role: 'user', content: 'Hi' }] };

function messages(script: FakeScript = {}, options: Parameters<typeof testApp>[1] = {}) {
  const { app, ...rest } = testApp(script, options);
  const post = postTo(app, URL);
  return { ...rest, app, ask: (body: object = {}) => post({ ...request, ...body }) };
}

/** Checks the error envelope, which combines ours with Anthropic's. */
function expectFailure(
  reply: LightMyRequestResponse,
  { status, ...expected }: { status: number; type: string; param: string | null; code: string },
): void {
  assert.is(reply.statusCode, status, reply.body);
  const { type, error, ...rest } = reply.json();
  const { message, ...told } = error;
  assert.equal([type, rest, told], ['error', { request_id: reply.headers['request-id'] }, expected], message);
  assert.match(message, /./);
  assert.is(reply.headers['request-id'], reply.headers['x-request-id']);
}

test('a whole message has the published fields', async () => {
  const { ask, engine } = messages();
  const reply = await ask({ system: 'Be brief.', top_k: 3, metadata: { user_id: 'u' } });
  assert.is(reply.statusCode, 200, reply.body);
  assert.is(reply.headers['request-id'], reply.headers['x-request-id']);
  assert.is(reply.headers['x-chasqui-ignored'], undefined);
  const { id, ...rest } = reply.json();
  assert.match(id, /^msg_/);
  assert.equal(rest, {
    type: 'message',
    role: 'assistant',
    model: 'fake',
    content: [{ type: 'text', text: 'Hello!' }],
    container: null,
    diagnostics: null,
    stop_details: null,
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: {
      input_tokens: 25,
      cache_read_input_tokens: 0,
      cache_creation_input_tokens: 0,
      cache_creation: null,
      output_tokens: 4,
      output_tokens_details: null,
      inference_geo: null,
      server_tool_use: null,
      service_tier: 'standard',
      speed: null,
    },
  });
  const [job] = engine.jobs;
  assert.equal([job?.prompt, job?.maxTokens, job?.sampling.topK], ['<system>Be brief.<user>Hi', 50, 3]);
});

test('a stream has every event, by name, and no [DONE]', async () => {
  const { ask } = messages();
  const reply = await ask({ stream: true });
  assert.is(reply.headers['content-type'], 'text/event-stream; charset=utf-8');
  const events = readNamedEvents(reply.body);
  assert.equal(
    events.map(({ type, delta }) => (delta?.text === undefined ? type : `${type} ${delta.text}`)),
    [
      'message_start',
      'ping',
      'content_block_start',
      'content_block_delta Hel',
      'content_block_delta lo',
      'content_block_delta !',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ],
  );
  assert.is(events[0].message.usage.input_tokens, 8);
});

test('the stop sequence that came is named', async () => {
  const finish = finishOf(8, 1, { stopString: 'END' });
  const { ask, engine } = messages({ batches: () => [[{ text: 'a', finish }]] });
  const { stop_reason, stop_sequence } = (await ask({ stop_sequences: ['END', 'X'] })).json();
  assert.equal([stop_reason, stop_sequence], ['stop_sequence', 'END']);
  assert.equal(engine.jobs[0]?.stop, ['END', 'X']);
});

test('thinking, text and tool use are blocks of their own, whole and streamed', async () => {
  const text = '<think>Hm.</think>I look.<call>weather {"city":"Cuzco"}</call>';
  const batches = () => inPieces(text);
  const { ask, engine } = messages({ batches, model: { takesTools: true } });
  const body = { tools: [{ name: 'weather', input_schema: { type: 'object' } }], thinking: { type: 'disabled' } };
  const whole = (await ask(body)).json();
  const id = whole.content[2]?.id;
  assert.equal(whole.content, [
    { type: 'thinking', thinking: 'Hm.', signature: '' },
    { type: 'text', text: 'I look.' },
    { type: 'tool_use', id, name: 'weather', input: { city: 'Cuzco' }, caller: { type: 'direct' } },
  ]);
  assert.is(whole.stop_reason, 'tool_use');
  assert.equal(engine.renderOptions[0]?.templateKwargs, { enable_thinking: false });

  const events = readNamedEvents((await ask({ ...body, stream: true })).body);
  assert.is(events.at(-2).delta.stop_reason, 'tool_use');
  const json = events.map(({ delta }) => delta?.partial_json ?? '').join('');
  assert.equal(JSON.parse(json), { city: 'Cuzco' });
  const open = events
    .filter(({ type }) => /^content_block_(start|stop)$/.test(type))
    .map(({ type, index }) => [type, index]);
  const inOrder = [0, 1, 2].flatMap((index) => [
    ['content_block_start', index],
    ['content_block_stop', index],
  ]);
  assert.equal(open, inOrder);
});

const wrong: [object, string, string][] = [
  [{ max_tokens: undefined }, 'max_tokens', 'missing_required_parameter'],
  [{ max_tokens: 0 }, 'max_tokens', 'invalid_value'],
  [{ messages: [] }, 'messages', 'invalid_value'],
  [{ messages: [{ role: 'tool', content: 'a' }] }, 'messages[0].role', 'invalid_value'],
  [{ messages: [{ role: 'user', content: [{ type: 'input_text' }] }] }, 'messages[0].content[0].type', 'invalid_value'],
  [
    { messages: [{ role: 'user', content: [{ type: 'image', source: { type: 'disk', path: 'f' } }] }] },
    'messages[0].content[0].source.type',
    'invalid_value',
  ],
  [
    { messages: [{ role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'f', input: '{}' }] }] },
    'messages[0].content[0].input',
    'invalid_type',
  ],
  [
    { messages: [{ role: 'user', content: [{ type: 'tool_result', content: 'a' }] }] },
    'messages[0].content[0].tool_use_id',
    'missing_required_parameter',
  ],
  [{ system: [{ type: 'image' }] }, 'system[0].type', 'invalid_value'],
  [{ tools: [{ input_schema: {} }] }, 'tools[0].name', 'missing_required_parameter'],
  [
    {
      tools: [{ type: 'web_search_20250305', name: 'web_search' }],
      tool_choice: { type: 'tool', name: 'web_search' },
    },
    'tools[0]',
    'unsupported_parameter',
  ],
  [{ tools: [{ name: '' }] }, 'tools[0].name', 'invalid_value'],
  [{ thinking: { type: 'sometimes' } }, 'thinking.type', 'invalid_value'],
  [{ tool_choice: { type: 'tool' } }, 'tool_choice.name', 'missing_required_parameter'],
  [{ tool_choice: 'auto' }, 'tool_choice', 'invalid_type'],
  [{ stop_sequences: ['x'.repeat(1001)] }, 'stop_sequences[0]', 'invalid_value'],
  [{ temperature: '1' }, 'temperature', 'invalid_type'],
  [{ output_config: { format: { type: 'json_schema' } } }, 'output_config.format.schema', 'missing_required_parameter'],
];

for (const [body, param, code] of wrong) {
  test(`${JSON.stringify(body)} is an error of ${param}`, async () => {
    const { ask, engine } = messages();
    expectFailure(await ask(body), { status: 400, type: 'invalid_request_error', param, code });
    assert.is(engine.jobs.length, 0);
  });
}

test('a budget of thinking limits reasoning, and is named where that cannot be told from the rest', async () => {
  const thinking = { type: 'enabled', budget_tokens: 1024 };
  const telling = messages({ reasons: true });
  const reply = await telling.ask({ thinking });
  assert.is(reply.headers['x-chasqui-ignored'], undefined);
  assert.is(telling.engine.jobs[0]?.reasoningBudget, 1024);
  assert.equal(telling.engine.jobs[0]?.reasoning, FAKE_TAGS);

  await telling.ask({ thinking, reasoning_budget_tokens: 7 });
  assert.is(telling.engine.jobs[1]?.reasoningBudget, 7);
  await telling.ask({ thinking: { ...thinking, type: 'disabled' } });
  assert.is(telling.engine.jobs[2]?.reasoningBudget, null);

  const other = messages();
  assert.is((await other.ask({ thinking })).headers['x-chasqui-ignored'], 'thinking.budget_tokens');
});

test("hints and tools of Anthropic's servers are ignored and reported", async () => {
  const { ask, engine } = messages({ model: { takesTools: true } });
  const reply = await ask({
    cache_control: { type: 'ephemeral' },
    context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] },
    thinking: { type: 'enabled', budget_tokens: 1024, display: 'omitted' },
    tools: [
      { type: 'web_search_20250305', name: 'web_search', max_uses: 5 },
      { type: 'mcp_toolset', mcp_server_name: 'm' },
      { type: 'custom', name: 'f', input_schema: { type: 'object' }, cache_control: { type: 'ephemeral' } },
    ],
    messages: [
      { role: 'user', content: 'Hi' },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'Hm.', signature: 'abc' },
          { type: 'server_tool_use', id: 's', name: 'web_search', input: { query: 'a' } },
          { type: 'web_search_tool_result', tool_use_id: 's', content: [] },
          { type: 'text', text: 'It is so.', citations: [] },
        ],
      },
      { role: 'user', content: [{ type: 'text', text: 'Why?', cache_control: { type: 'ephemeral', ttl: '1h' } }] },
    ],
  });
  assert.is(reply.statusCode, 200, reply.body);
  assert.equal(String(reply.headers['x-chasqui-ignored']).split(', ').map(decodeURIComponent), [
    'messages[1].content[1]',
    'messages[1].content[2]',
    'tools[0]',
    'tools[1]',
    'thinking.display',
    'context_management',
    'thinking.budget_tokens',
  ]);
  assert.is(engine.jobs[0]?.prompt, '<user>Hi<assistant>It is so.<user>Why?');
  assert.equal(
    engine.renderOptions[0]?.tools?.map(({ name }) => name),
    ['f'],
  );
});

test('a request that asks for nothing unusual has nothing passed over', async () => {
  const { ask } = messages();
  const reply = await ask({
    cache_control: { type: 'ephemeral' },
    context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
    thinking: { type: 'adaptive' },
  });
  assert.equal([reply.statusCode, reply.headers['x-chasqui-ignored']], [200, undefined], reply.body);
});

test('a strict server refuses tools that it cannot run', async () => {
  const { ask } = messages({ model: { takesTools: true } }, { strict: true });
  const reply = await ask({ tools: [{ type: 'web_search_20250305', name: 'web_search' }] });
  expectFailure(reply, {
    status: 400,
    type: 'invalid_request_error',
    param: 'tools[0]',
    code: 'unsupported_parameter',
  });
});

test('a prompt that is too long is told in Anthropic’s words, whole and streamed', async () => {
  const failWith = new ChasquiError('context_length_exceeded', 'The prompt does not fit.');
  Object.assign(failWith, { promptTokens: 5034, contextLength: 4096 });
  const { ask } = messages({ failAt: 0, failWith });
  for (const stream of [false, true]) {
    const reply = await ask({ stream });
    const { error } = reply.json();
    assert.equal([reply.statusCode, error.type], [400, 'invalid_request_error']);
    assert.is(error.message, 'prompt is too long: 5034 tokens > 4095 maximum');
  }
});

test('the models are listed for Anthropic’s clients as they know it', async () => {
  const { app } = messages();
  const get = (url: string, headers: object = { 'anthropic-version': '2023-06-01' }) =>
    app.inject({ method: 'GET', url, headers: { ...headers } });
  const { data, ...page } = (await get('/v1/models?limit=1000')).json();
  assert.equal(page, { has_more: false, first_id: 'fake', last_id: 'fake' });
  const [{ created_at, ...model }] = data;
  assert.equal(model, {
    type: 'model',
    id: 'fake',
    display_name: 'fake',
    max_input_tokens: 4096,
    max_tokens: 4096,
  });
  assert.is(new Date(created_at).toISOString(), created_at);
  assert.equal((await get('/v1/models/fake')).json(), data[0]);
  assert.equal((await get('/v1/models?after_id=fake')).json().data, []);
  const missing = { status: 404, type: 'not_found_error', param: null, code: 'model_not_found' };
  expectFailure(await get('/v1/models/other'), missing);
  const limit = { status: 400, type: 'invalid_request_error', param: 'limit', code: 'invalid_value' };
  for (const value of ['0', '1001', 'x', '1&limit=2']) expectFailure(await get(`/v1/models?limit=${value}`), limit);

  assert.is((await get('/v1/models', {})).json().object, 'list');
  assert.is((await get('/v1/models/fake', {})).json().object, 'model');
  assert.is((await get('/v1/models/other', {})).json().type, undefined);
});

test('errors in the chat body name the fields of this protocol', async () => {
  const { ask } = messages();
  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AA' } };
  const { error } = (await ask({ system: 'a', messages: [{ role: 'user', content: [image] }] })).json();
  assert.match(error.param, /^messages\[0\]\.content\[0\]/);
  assert.match(error.message, /`messages\[0\]\.content\[0\]/);
});

test('failures of every kind have Anthropic’s words for it', async () => {
  const { ask, app } = messages({}, { bodyLimit: 1000 });
  const type = 'invalid_request_error';
  expectFailure(await ask({ model: 'other' }), {
    status: 404,
    type: 'not_found_error',
    param: 'model',
    code: 'model_not_found',
  });
  const big = await ask({ system: 'x'.repeat(2000) });
  expectFailure(big, { status: 413, type: 'request_too_large', param: null, code: 'request_too_large' });
  const headers = { 'content-type': 'application/json' };
  const broken = await app.inject({ method: 'POST', url: URL, headers, payload: '{' });
  expectFailure(broken, { status: 400, type, param: null, code: 'invalid_json' });

  const failing = async (code: ConstructorParameters<typeof ChasquiError>[0]) =>
    messages({ failAt: 0, failWith: new ChasquiError(code, 'No.') }).ask();
  const failures = [
    ['queue_full', 429, 'rate_limit_error'],
    ['engine_closed', 503, 'overloaded_error'],
    ['server_busy', 503, 'overloaded_error'],
    ['decode_failed', 500, 'api_error'],
  ] as const;
  for (const [code, status, type] of failures) {
    expectFailure(await failing(code), { status, type, param: null, code });
  }
});

test('a failure in a stream is an event of its own, after what was open is closed', async () => {
  const { ask } = messages({ failAt: 1, failWith: new ChasquiError('decode_failed', 'The model broke.') });
  const events = readNamedEvents((await ask({ stream: true })).body);
  assert.is(events.at(-2).type, 'content_block_stop');
  const { type, error } = events.at(-1);
  assert.is(type, 'error');
  assert.match(error.message, /evaluation of the model failed.* under request req_/);
  assert.equal({ ...error, message: '' }, { message: '', type: 'api_error', param: null, code: 'decode_failed' });
});

test('a client that goes frees its sequence', async () => {
  const { engine, url } = await listeningApp({ manual: true });
  const controller = new AbortController();
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify({ ...request, stream: true });
  const reply = fetch(url + URL, { method: 'POST', headers, body, signal: controller.signal });
  await until(() => engine.running.size === 1, 'the job is submitted');
  engine.step();
  await reply;
  controller.abort();
  await until(() => engine.running.size === 0, 'the sequence is freed');
  assert.is(engine.cancelled, 1);
});

test('the prompt’s tokens are counted without an answer', async () => {
  const { app, engine } = messages();
  const count = postTo(app, `${URL}/count_tokens`);
  const { max_tokens, ...rest } = request;
  const reply = await count({ ...rest, system: 'Be brief.' });
  assert.equal(reply.json(), { input_tokens: 25 });
  assert.is(engine.jobs.length, 0);
  const missing = { status: 400, type: 'invalid_request_error', param: 'messages', code: 'missing_required_parameter' };
  expectFailure(await count({ model: 'fake' }), missing);
});

test("errors about the path have Anthropic's envelope", async () => {
  for (const [profile, base, options] of [
    [runtime, '', {}],
    [serverless, '/acme/chat', { deployment: DEPLOYMENT, access: 'public' }],
  ] as const) {
    const { app } = testApp({}, options, profile);
    for (const [method, url, type] of [
      ['GET', '/v1/messages', 'invalid_request_error'],
      ['POST', '/v1/messages/batches', 'not_found_error'],
    ] as const) {
      const reply = await app.inject({ method, url: base + url });
      const { type: kind, error } = reply.json();
      assert.equal([kind, error.type, reply.headers['request-id']], ['error', type, reply.headers['x-request-id']]);
    }
    assert.is((await app.inject(`${base}/v1/nothing`)).json().type, undefined);
  }
});

test.run();
