// What POST /v1/responses makes of tools other than functions, and of what came of them.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { RenderOptions } from '../../ts/engine/engine.js';
import { grammarOf } from '../../ts/engine/job.js';
import { testApp } from '../support/build-app.js';
import { expectError } from '../support/expect-error.js';
import type { FakeScript } from '../support/fake-engine.js';
import { inPieces, postTo, readNamedEvents } from '../support/post-to.js';
import { ARGUMENTS, assertTakesText, INPUT } from '../support/text-tool.js';

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
const HOSTED = ['web_search', 'web_search_preview', 'image_generation', 'file_search', 'mcp'];

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

test('`include` values that only OpenAI has are ignored and reported, and refused with --strict', async () => {
  const { ignored, respond } = responses();
  const include = ['reasoning.encrypted_content', 'message.output_text.logprobs', 'web_search_call.action.sources'];
  assert.is(await ignored({ include }), 'include[0], include[2]');
  assert.is((await respond({ include: include.slice(1, 2) })).headers['x-chasqui-ignored'], undefined);
  const strict = await responses({}, { strict: true }).respond({ include });
  expectError(strict, { status: 400, param: 'include[0]', code: 'unsupported_parameter' });
});

test('unknown `include` values are refused', async () => {
  const refused = await responses().respond({ include: ['message.output_text.logprobs', 'foo'] });
  const says = /`include\[1\]` must be "message\.output_text\.logprobs", .*, but got .*foo/;
  expectError(refused, { status: 400, param: 'include[1]', code: 'invalid_value', says });
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

test('a custom tool is a function of one string, and its call comes back as it was declared', async () => {
  const { engine, respond } = responses({ batches: () => inPieces(`<call>patch ${ARGUMENTS}</call>`) });
  const { output } = (await respond({ tools: [patch] })).json();
  const [{ id, call_id: _call, ...call }] = output;
  assert.match(id, /^ctc_/);
  assert.equal(call, { type: 'custom_tool_call', status: 'completed', name: 'patch', input: INPUT });
  assertTakesText(engine.renderOptions[0]?.tools, 'Changes files.');
});

test('the input of a custom tool is streamed as text', async () => {
  // One character at a time, so that every escape comes in pieces.
  const { respond } = responses({ batches: () => inPieces(`<call>patch ${ARGUMENTS}</call><call>clock {}</call>`) });
  const events = readNamedEvents((await respond({ tools: [patch, clock], stream: true })).body);
  const deltas = events.filter(({ type }) => type === 'response.custom_tool_call_input.delta');
  assert.ok(deltas.length > 10);
  assert.is(deltas.map(({ delta }) => delta).join(''), INPUT);
  assert.ok(deltas.every(({ delta }) => delta.isWellFormed()));
  const done = events.find(({ type }) => type === 'response.custom_tool_call_input.done');
  assert.is(done.input, INPUT);
  assert.is(events.filter(({ type }) => type === 'response.function_call_arguments.done').length, 1);
  assert.is(events.at(-1).response.output[0].input, INPUT);
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
const patternIn = (options: RenderOptions | undefined): string | undefined => {
  const parameters: { properties?: { input: { pattern?: string } } } = options?.tools?.[0]?.parameters ?? {};
  return parameters.properties?.input.pattern;
};

/** The part of a grammar that llama.cpp makes of the pattern. */
const asRule = (pattern: string): string => `input ::= "\\"" ("${pattern.slice(1, -1)}") "\\""\n`;

const withGrammar = (gbnf: (pattern: string) => string) =>
  responses({
    renderWith: (_messages, options) => {
      const pattern = patternIn(options);
      return pattern === undefined ? {} : { grammar: grammarOf(gbnf(pattern)) };
    },
  });

test('a grammar takes the place of the sign that the schema has for it', async () => {
  const app = withGrammar((pattern) => `root ::= input\n${asRule(pattern)}`);
  for (const [definition, syntax, text] of [
    ['^(add|sub)\\(\\d{1,3}\\)$', 'regex', /"add" \| "sub"/],
    ['start: "a\\n"+', 'lark', /\("a\\\\n"\)\+/],
  ] as const) {
    assert.is(await app.ignored(withFormat(definition, syntax)), '', definition);
    const { gbnf = '' } = app.engine.jobs.at(-1)?.grammar ?? {};
    const [, root] = /^input ::= "\\"" \((input-[\da-f]{16}-0-0)\) "\\""$/m.exec(gbnf) ?? [];
    assert.ok(root, gbnf);
    assert.match(gbnf.slice(gbnf.indexOf(`\n${root} ::= `)), text);
    const tool = app.engine.renderOptions.at(-1)?.tools?.[0];
    assert.match(String(tool?.description), new RegExp(`${syntax} grammar:\n`));
    assert.is(patternIn(app.engine.renderOptions.at(-1)), '^the grammar in the description of patch$');
  }
});

test('two tools keep their grammars apart', async () => {
  const app = withGrammar(() =>
    ['patch', 'query'].map((name) => asRule(`^the grammar in the description of ${name}$`)).join(''),
  );
  const [tool] = withFormat('a').tools;
  const other = { ...tool, name: 'query', format: { type: 'grammar', grammar: { syntax: 'regex', definition: 'b' } } };
  assert.is(await app.ignored({ tools: [tool, other] }), '');
  const { gbnf = '' } = app.engine.jobs.at(-1)?.grammar ?? {};
  assert.match(gbnf, /-0-0 ::= "a"\n.*-1-0 ::= "b"\n/s);
});

test('a grammar that cannot be enforced is told to the model, passed over and named', async () => {
  const app = responses();
  for (const [definition, syntax] of [
    ['(?=a)a', 'regex'],
    ['start: a "x"\na: start | "y"', 'lark'],
    ['start: /a+?/', 'lark'],
    [`start: "${'a'.repeat(50_000)}"`, 'lark'],
  ] as const) {
    assert.is(await app.ignored(withFormat(definition, syntax)), 'tools[0].format', definition);
    const [tool] = app.engine.renderOptions.at(-1)?.tools ?? [];
    assert.ok(String(tool?.description).endsWith(`${syntax} grammar:\n${definition}`));
    assert.is(patternIn(app.engine.renderOptions.at(-1)), undefined);
  }
});

test('a grammar is passed over and named where calls have a form that has no JSON for it', async () => {
  const app = withGrammar(() => 'root ::= "<input>" [^<]* "</input>"\n');
  assert.is(await app.ignored(withFormat('a+')), 'tools[0].format');
  assert.is(app.engine.jobs.at(-1)?.grammar?.gbnf, 'root ::= "<input>" [^<]* "</input>"\n');
  const [tool] = withFormat('a+').tools;
  const tools = [namespace, tool];
  const script = { renderWith: () => ({ grammar: grammarOf('root ::= "a"') }) };
  assert.is(await responses(script).ignored({ tools }), 'tools[1].format');
  const strict = responses(script, { strict: true });
  const refused = await strict.respond({ tools });
  expectError(refused, { status: 400, code: 'unsupported_parameter', param: 'tools[1].format' });
  assert.match(refused.json().error.message, /^`tools\[1\]\.format` is not supported/);
});

test('an invalid grammar is an error with its place and reason', async () => {
  const { respond } = responses();
  const own = await respond(withFormat('start: "a"\n  b', 'lark'));
  const expected = { status: 400, code: 'invalid_grammar', param: 'tools[0].format.definition' };
  expectError(own, expected);
  assert.is(
    own.json().error.message,
    '`tools[0].format.definition` is not a valid Lark grammar: line 2, column 4: expected `:`, found the end.',
  );
  const tool = { ...patch, format: { type: 'grammar', grammar: { syntax: 'regex', definition: '(a' } } };
  const nested = await respond({ tools: [{ type: 'namespace', name: 'n', tools: [tool] }] });
  expectError(nested, { ...expected, param: 'tools[0].tools[0].format.grammar.definition' });
  assert.match(nested.json().error.message, /is not a valid regular expression: line 1, column 3: expected `\)`/);
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

const SHELL = '{"commands":["ls","pwd"],"timeout_ms":9}';
const EXEC = '{"command":["ls","-l"],"env":{"A":"b"}}';
const PATCH = '{"type":"update_file","path":"a.txt","diff":"@@\\n-a\\n+b"}';
const clientTools = [{ type: 'local_shell' }, { type: 'shell' }, { type: 'apply_patch' }];
const clientCalls = `<call>local_shell ${EXEC}</call><call>shell ${SHELL}</call><call>apply_patch ${PATCH}</call>`;
const clientItems = [
  {
    type: 'local_shell_call',
    status: 'completed',
    action: {
      type: 'exec',
      command: ['ls', '-l'],
      env: { A: 'b' },
      timeout_ms: null,
      user: null,
      working_directory: null,
    },
  },
  {
    type: 'shell_call',
    status: 'completed',
    action: { commands: ['ls', 'pwd'], timeout_ms: 9, max_output_length: null },
    environment: { type: 'local' },
  },
  {
    type: 'apply_patch_call',
    status: 'completed',
    operation: { type: 'update_file', path: 'a.txt', diff: '@@\n-a\n+b' },
  },
];

test('tools that the client runs are functions for the model, and their calls have the form of the protocol', async () => {
  const { engine, ignored, respond } = responses({ batches: () => inPieces(clientCalls) });
  assert.is(await ignored({ tools: clientTools }), '');
  const offered = engine.renderOptions[0]?.tools ?? [];
  assert.equal(
    offered.map(({ name, parameters }) => [name, (parameters as { required: string[] }).required]),
    [
      ['local_shell', ['command']],
      ['shell', ['commands']],
      ['apply_patch', ['type', 'path', 'diff']],
    ],
  );
  const reply = (await respond({ tools: clientTools })).json();
  assert.equal(reply.tools, clientTools);
  const shown = reply.output.map(({ id: _id, call_id: _call, ...item }: Record<string, unknown>) => item);
  assert.equal(shown, clientItems);
  const events = readNamedEvents((await respond({ tools: clientTools, stream: true })).body);
  const done = events.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => item);
  assert.equal(
    done.map(({ id: _id, call_id: _call, ...item }) => item),
    clientItems,
  );
  assert.not.ok(events.some(({ type }) => /arguments|input\.d/.test(type)));
  // The client sends the items back.
  const outputs = [
    { type: 'local_shell_call_output', id: done[0].call_id, output: '{"output":"f"}' },
    { type: 'shell_call_output', call_id: done[1].call_id, output: [{ stdout: 'f', stderr: '', outcome: {} }] },
    { type: 'apply_patch_call_output', call_id: done[2].call_id, status: 'failed', output: 'No such file' },
  ];
  const next = await respond({ tools: clientTools, input: [{ role: 'user', content: 'Hi' }, ...done, ...outputs] });
  assert.equal([next.statusCode, next.headers['x-chasqui-ignored']], [200, undefined], next.body);
  const messages = engine.conversations.at(-1) ?? [];
  const [first, second, third] = messages.slice(-3).map(({ content }) => content);
  assert.equal([first, third], ['{"output":"f"}', 'The call failed. No such file']);
  assert.match(String(second), /"stdout":"f"/);
});

test('one of them can be required, alone or among allowed tools', async () => {
  const { engine, respond } = responses();
  assert.is((await respond({ tools: clientTools, tool_choice: { type: 'shell' } })).statusCode, 200);
  assert.equal(engine.renderOptions.at(-1)?.toolChoice, { name: 'shell' });
  const allowed = { type: 'allowed_tools', mode: 'required', tools: [{ type: 'apply_patch' }] };
  await respond({ tools: clientTools, tool_choice: allowed });
  assert.equal(
    engine.renderOptions.at(-1)?.tools?.map(({ name }) => name),
    ['apply_patch'],
  );
});

test('a call that was cut off, or is not as it should be, runs nothing', async () => {
  const cut = async (name: string, json: string) => {
    const { respond } = responses({ batches: () => inPieces(`<call>${name} ${json}</call>`) });
    const [item] = (await respond({ tools: clientTools })).json().output;
    return [item.status, item.action?.command ?? item.action?.commands ?? item.operation];
  };
  assert.equal(await cut('local_shell', '{"command":["rm","-rf","/tmp'), ['incomplete', []]);
  assert.equal(await cut('shell', '{"commands":["rm -rf /tm'), ['incomplete', []]);
  const nothing = { type: 'update_file', path: '', diff: '' };
  assert.equal(await cut('apply_patch', '{"type":"delete_file","path":"/'), ['in_progress', nothing]);
  assert.equal(await cut('shell', '{"commands":"ls"}'), ['completed', ['ls']]);
  assert.equal(await cut('shell', '{"commands":[1,null,{"a":2}],"timeout_ms":"x"}'), [
    'completed',
    ['1', 'null', '{"a":2}'],
  ]);
  const odd = { type: 'delete_file', path: '' };
  assert.equal(await cut('apply_patch', '{"type":"delete_file","path":7}'), ['completed', odd]);
});

test('a shell in a container is passed over, and a local one tells of its skills', async () => {
  const { engine, ignored } = responses();
  const skills = [{ name: 'charts', description: 'Draws charts.', path: '/skills/charts' }];
  const tools = [
    { type: 'shell', environment: { type: 'container_auto' } },
    { type: 'shell', environment: { type: 'local', skills } },
  ];
  assert.is(await ignored({ tools }), 'tools[0]');
  assert.match(String(engine.renderOptions[0]?.tools?.[0]?.description), /charts \(in \/skills\/charts\): Draws/);
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
