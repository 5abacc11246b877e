// What POST /v1/responses makes of tools other than functions, and of what came of them.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { testApp } from '../support/build-app.js';
import { expectError } from '../support/expect-error.js';
import type { FakeScript } from '../support/fake-engine.js';
import { inPieces, postTo, readNamedEvents } from '../support/post-to.js';

const test = suite('http: tools of responses');

function responses(script: FakeScript = {}, options: Parameters<typeof testApp>[1] = {}) {
  const { app, engine } = testApp({ model: { takesTools: true }, ...script }, options);
  const post = postTo(app, '/v1/responses');
  const ignored = async (body: object) => {
    const reply = await post({ model: 'fake', input: 'Hi', ...body });
    assert.is(reply.statusCode, 200, reply.body);
    return decodeURIComponent(String(reply.headers['x-chasqui-ignored'] ?? ''));
  };
  return { engine, ignored, respond: (body: object = {}) => post({ model: 'fake', input: 'Hi', ...body }) };
}

const clock = { type: 'function', name: 'clock' };
const HOSTED = ['web_search', 'web_search_preview', 'local_shell', 'image_generation', 'file_search', 'mcp'];

test('tools that only OpenAI runs are passed over and named', async () => {
  const { engine, ignored } = responses();
  const hosted = HOSTED.map((type) => ({ type, server_label: 'a', vector_store_ids: [] }));
  const names = await ignored({ tools: [...hosted, clock, { type: 'code_interpreter', container: { type: 'auto' } }] });
  assert.is(names, [...HOSTED.keys(), HOSTED.length + 1].map((index) => `tools[${index}]`).join(', '));
  assert.equal(engine.renderOptions[0]?.tools, [{ name: 'clock' }]);
});

test('they are refused where the choice forces one, and with --strict', async () => {
  const tools = [{ type: 'web_search' }, clock];
  const forced = await responses().respond({ tools, tool_choice: { type: 'web_search_preview' } });
  expectError(forced, { status: 400, param: 'tool_choice.type', code: 'invalid_value' });
  const strict = await responses({}, { strict: true }).respond({ tools });
  expectError(strict, { status: 400, param: 'tools[0]', code: 'unsupported_parameter' });
});

const namespace = {
  type: 'namespace',
  name: 'mcp__files__',
  description: 'Files.',
  tools: [
    { type: 'function', name: 'read', parameters: { type: 'object' }, defer_loading: false },
    { type: 'custom', name: 'patch' },
  ],
};

test('a namespace is flattened, and its name comes back on the call', async () => {
  const batches = () => inPieces('<call>mcp__files__read {}</call><call>clock {}</call>');
  const { engine, respond } = responses({ batches });
  const tools = [namespace, clock, { ...namespace, name: 'other' }];
  const { output } = (await respond({ tools })).json();
  assert.equal(
    engine.renderOptions[0]?.tools?.map(({ name }) => name),
    ['mcp__files__read', 'mcp__files__patch', 'clock', 'other__read', 'other__patch'],
  );
  const shown = output.map((item: Record<string, unknown>) => [item.type, item.name, item.namespace]);
  assert.equal(shown, [
    ['function_call', 'read', 'mcp__files__'],
    ['function_call', 'clock', undefined],
  ]);
  const [{ id: _id, status: _status, ...call }] = output;
  const result = { type: 'function_call_output', call_id: call.call_id, output: 'x' };
  await respond({ tools, input: [{ role: 'user', content: 'Hi' }, call, result] });
  assert.is(engine.conversations.at(-1)?.[1]?.toolCalls?.[0]?.name, 'mcp__files__read');
  const choice = { type: 'function', name: 'read' };
  await respond({ tools: [namespace], tool_choice: choice });
  assert.equal(engine.renderOptions.at(-1)?.toolChoice, { name: 'mcp__files__read' });
});

test('two namespaces with tools of one name in chats are an error of the second', async () => {
  const { respond } = responses();
  const reply = await respond({ tools: [namespace, namespace] });
  expectError(reply, { status: 400, param: 'tools[1].tools[0].name', code: 'invalid_value' });
});

const patch = { type: 'custom', name: 'patch', description: 'Changes files.' };
const PATCH = '*** Begin "Patch"\n+\té\\😀\n';

/** The arguments of a call, with every way that JSON has to write a character. */
const ARGUMENTS = String.raw`{ "input" : "*** Begin \"Patch\"\n+\t\u00e9\\\ud83d\ude00\n"}`;

test('a custom tool is a function of one string, and its call comes back as it was declared', async () => {
  const { engine, respond } = responses({ batches: () => inPieces(`<call>patch ${ARGUMENTS}</call>`) });
  const { output } = (await respond({ tools: [patch] })).json();
  const [{ id, call_id: _call, ...call }] = output;
  assert.match(id, /^ctc_/);
  assert.equal(call, { type: 'custom_tool_call', status: 'completed', name: 'patch', input: PATCH });
  const [tool] = engine.renderOptions[0]?.tools ?? [];
  assert.match(String(tool?.description), /^Changes files\./);
  assert.equal(tool?.parameters, {
    type: 'object',
    properties: { input: { type: 'string' } },
    required: ['input'],
    additionalProperties: false,
  });
});

test('the input of a custom tool is streamed as text', async () => {
  // One character at a time, so that every escape comes in pieces.
  const { respond } = responses({ batches: () => inPieces(`<call>patch ${ARGUMENTS}</call><call>clock {}</call>`) });
  const events = readNamedEvents((await respond({ tools: [patch, clock], stream: true })).body);
  const deltas = events.filter(({ type }) => type === 'response.custom_tool_call_input.delta');
  assert.ok(deltas.length > 10);
  assert.is(deltas.map(({ delta }) => delta).join(''), PATCH);
  assert.ok(deltas.every(({ delta }) => delta.isWellFormed()));
  const done = events.find(({ type }) => type === 'response.custom_tool_call_input.done');
  assert.is(done.input, PATCH);
  assert.is(events.filter(({ type }) => type === 'response.function_call_arguments.done').length, 1);
  assert.is(events.at(-1).response.output[0].input, PATCH);
});

for (const [json, input] of [
  ['{"input":"a\\n', 'a\n'],
  ['{"inp', ''],
  ['{"text":"a"}', '{"text":"a"}'],
  ['plain', 'plain'],
  ['', ''],
] as const) {
  test(`arguments such as ${json} are read as far as can be`, async () => {
    const { respond } = responses({ batches: () => inPieces(`<call>patch ${json}</call>`) });
    assert.is((await respond({ tools: [patch] })).json().output[0].input, input);
  });
}

const withFormat = (definition: string, syntax = 'regex') => ({
  tools: [{ ...patch, format: { type: 'grammar', syntax, definition } }],
});
const patternOf = ({ engine }: { engine: ReturnType<typeof responses>['engine'] }): string | undefined => {
  const parameters: { properties?: { input: { pattern?: string } } } =
    engine.renderOptions.at(-1)?.tools?.[0]?.parameters ?? {};
  return parameters.properties?.input.pattern;
};

test('a regular expression is enforced where its matches are written in JSON as they are', async () => {
  const app = responses();
  for (const [definition, pattern] of [
    ['^(add|sub)\\(\\d{1,3}, [a-f\\d]+\\)$', '^(?:(add|sub)\\([0-9]{1,3}, [a-f0-9]+\\))$'],
    ['\\w+', '^(?:[A-Za-z0-9_]+)$'],
  ] as const) {
    assert.is(await app.ignored(withFormat(definition)), '');
    assert.is(patternOf(app), pattern);
  }
});

test('other grammars are told to the model, passed over and named', async () => {
  const app = responses();
  for (const definition of ['.*', '[^a]', 'a"b', 'a\\n', 'a\nb', '\\p{L}+', '\\bword\\b', '[\\s]']) {
    assert.is(await app.ignored(withFormat(definition)), 'tools[0].format', definition);
    assert.is(patternOf(app), undefined, definition);
  }
  assert.is(await app.ignored(withFormat('start: "a"+', 'lark')), 'tools[0].format');
  assert.match(String(app.engine.renderOptions.at(-1)?.tools?.[0]?.description), /lark grammar:\nstart: "a"\+$/);
  // The converter to grammars knows no lookahead, whatever it looks for.
  assert.is(await app.ignored(withFormat('(?=a)a')), 'tools[0].format');
});

test('calls and results of every tool that a client runs are part of the conversation', async () => {
  const { engine, ignored } = responses();
  const screenshot = { type: 'computer_screenshot', image_url: '' };
  const input = [
    { role: 'user', content: 'Hi' },
    { type: 'custom_tool_call', call_id: 'a', name: 'patch', input: 'x"y' },
    { type: 'custom_tool_call_output', call_id: 'a', output: 'Done' },
    { type: 'local_shell_call', id: 'l', call_id: 'b', status: 'completed', action: { type: 'exec', command: ['ls'] } },
    { type: 'local_shell_call_output', id: 'b', output: '{"output":"f"}' },
    { type: 'shell_call', call_id: 'c', action: { commands: ['ls'] } },
    { type: 'shell_call_output', call_id: 'c', output: [{ stdout: 'f', stderr: '', outcome: { type: 'timeout' } }] },
    { type: 'apply_patch_call', call_id: 'd', operation: { type: 'delete_file', path: 'f' } },
    { type: 'apply_patch_call_output', call_id: 'd', status: 'completed' },
    { type: 'computer_call', call_id: 'e', action: { type: 'screenshot' } },
    { type: 'computer_call_output', call_id: 'e', output: screenshot },
    { type: 'function_call', call_id: 'f', name: 'clock', arguments: '{}' },
    { type: 'function_call_output', call_id: 'f', output: [{ type: 'input_text', text: 'Noon' }] },
  ];
  assert.is(await ignored({ input, tools: [clock] }), '');
  const messages = engine.conversations[0] ?? [];
  const calls = messages.flatMap(({ toolCalls = [] }) => toolCalls.map((call) => [call.id, call.name, call.arguments]));
  assert.equal(calls, [
    ['a', 'patch', '{"input":"x\\"y"}'],
    ['b', 'local_shell', '{"type":"exec","command":["ls"]}'],
    ['c', 'shell', '{"commands":["ls"]}'],
    ['d', 'apply_patch', '{"type":"delete_file","path":"f"}'],
    ['e', 'computer', '{"type":"screenshot"}'],
    ['f', 'clock', '{}'],
  ]);
  const results = messages.filter(({ role }) => role === 'tool').map((each) => [each.toolCallId, each.content]);
  assert.equal(results, [
    ['a', 'Done'],
    ['b', '{"output":"f"}'],
    ['c', '[{"stdout":"f","stderr":"","outcome":{"type":"timeout"}}]'],
    ['d', ''],
    ['e', JSON.stringify(screenshot)],
    ['f', 'Noon'],
  ]);
});

test('items of tools that OpenAI’s servers run are passed over and named', async () => {
  const { engine, ignored } = responses();
  const input = [
    { type: 'web_search_call', id: 'ws', status: 'completed', action: { type: 'search', query: 'q' } },
    { role: 'user', content: 'Hi' },
    { type: 'mcp_list_tools', id: 'm', server_label: 's', tools: [] },
  ];
  assert.is(await ignored({ input }), 'input[0], input[2]');
  assert.is(engine.jobs[0]?.prompt, '<user>Hi');
});

test('the tokens of a prompt are counted with its tools', async () => {
  const { app } = testApp({ model: { takesTools: true } });
  const count = postTo(app, '/v1/responses/input_tokens');
  const reply = await count({ model: 'fake', input: 'Hi', tools: [{ type: 'web_search' }, patch] });
  assert.equal(reply.json(), { object: 'response.input_tokens', input_tokens: 8 });
  assert.is(decodeURIComponent(String(reply.headers['x-chasqui-ignored'])), 'tools[0]');
});

test.run();
