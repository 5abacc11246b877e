// Custom tools in chat completions: free-text input, optionally constrained by a grammar.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { ChatCompletionChunk, ToolCallDelta } from '../../ts/api/openai/chat/schema.js';
import type { RenderOptions } from '../../ts/engine/engine.js';
import { grammarOf } from '../../ts/engine/job.js';
import { testApp } from '../support/build-app.js';
import { expectError } from '../support/expect-error.js';
import type { FakeScript } from '../support/fake-engine.js';
import { inPieces } from '../support/post-to.js';
import { readSse } from '../support/read-sse.js';
import { ARGUMENTS, assertTakesText, INPUT } from '../support/text-tool.js';

const test = suite('http: custom tools of chats');

const patch = { type: 'custom', custom: { name: 'patch', description: 'Changes files.' } };
const clock = { type: 'function', function: { name: 'clock' } };

/** A patch tool with this input format. */
const withFormat = (definition: string, syntax = 'regex') => ({
  tools: [
    { type: 'custom', custom: { ...patch.custom, format: { type: 'grammar', grammar: { syntax, definition } } } },
  ],
});

function chats(script: FakeScript = {}, options: Parameters<typeof testApp>[1] = {}) {
  const { chat, engine } = testApp({ model: { takesTools: true }, ...script }, options);
  const ignored = async (body: Record<string, unknown>) => {
    const reply = await chat(body);
    assert.is(reply.statusCode, 200, reply.body);
    return decodeURIComponent(String(reply.headers['x-chasqui-ignored'] ?? ''));
  };
  return { chat, engine, ignored };
}

test('a custom tool is a function of one text, and its call comes back with that text', async () => {
  const { chat, engine } = chats({
    batches: () => inPieces(`<call>patch ${ARGUMENTS}</call><call>clock {}</call>`),
  });
  const [{ message, finish_reason: reason }] = (await chat({ tools: [patch, clock] })).json().choices;
  assert.is(reason, 'tool_calls');
  assert.equal(message.tool_calls, [
    { id: 'call0', type: 'custom', custom: { name: 'patch', input: INPUT } },
    { id: 'call1', type: 'function', function: { name: 'clock', arguments: '{}' } },
  ]);
  assertTakesText(engine.renderOptions[0]?.tools, 'Changes files.');
});

test('a stream names the call once, then sends its text in pieces', async () => {
  const { chat } = chats({ batches: () => inPieces(`<call>patch ${ARGUMENTS}</call><call>clock {}</call>`) });
  const pieces = callsOf((await chat({ tools: [patch, clock], stream: true })).body);
  const own = pieces.filter(({ index }) => index === 0);
  assert.equal(own[0], { index: 0, id: 'call0', type: 'custom', custom: { name: 'patch', input: '' } });
  assert.ok(own.length > 10);
  for (const { custom, ...rest } of own.slice(1)) {
    assert.equal(rest, { index: 0 });
    assert.match(custom?.input ?? '', /./s);
    assert.not.match(custom?.input ?? '', /[\ud800-\udfff]/u, 'no half of a pair');
  }
  assert.is(own.map(({ custom }) => custom?.input).join(''), INPUT);
  assert.is(pieces.find(({ index }) => index === 1)?.function?.name, 'clock');
});

for (const [json, input] of [
  ['{"input":"a\\n', 'a\n'],
  ['{"inp', ''],
  ['{"text":"a"}', '{"text":"a"}'],
  ['plain', 'plain'],
  ['', ''],
] as const) {
  test(`arguments such as ${json} are read as far as can be, streamed or not`, async () => {
    const { chat } = chats({ batches: () => inPieces(`<call>patch ${json}</call>`) });
    const whole = (await chat({ tools: [patch] })).json().choices[0].message.tool_calls[0];
    assert.equal(whole.custom, { name: 'patch', input });
    const pieces = callsOf((await chat({ tools: [patch], stream: true })).body);
    assert.is(pieces.map(({ custom }) => custom?.input).join(''), input);
  });
}

test('past calls and their results reach the template', async () => {
  const { chat, engine } = chats();
  const call = { id: 'a', type: 'custom', custom: { name: 'patch', input: 'x"y' } };
  const reply = await chat({
    tools: [patch],
    messages: [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'a', content: 'Done' },
    ],
  });
  assert.is(reply.statusCode, 200, reply.body);
  assert.equal(engine.conversations[0]?.[1]?.toolCalls, [{ id: 'a', name: 'patch', arguments: '{"input":"x\\"y"}' }]);
});

test('the choice may name a custom tool, alone or among the allowed ones', async () => {
  const { chat, engine } = chats();
  const named = { type: 'custom', custom: { name: 'patch' } };
  assert.is((await chat({ tools: [patch, clock], tool_choice: named })).statusCode, 200);
  assert.equal(engine.renderOptions[0]?.toolChoice, { name: 'patch' });
  const allowed = { type: 'allowed_tools', allowed_tools: { mode: 'required', tools: [named] } };
  assert.is((await chat({ tools: [patch, clock], tool_choice: allowed })).statusCode, 200);
  assert.equal(
    engine.renderOptions[1]?.tools?.map(({ name }) => name),
    ['patch'],
  );
});

const patternIn = (options: RenderOptions | undefined): string | undefined => {
  const parameters: { properties?: { input: { pattern?: string } } } = options?.tools?.[0]?.parameters ?? {};
  return parameters.properties?.input.pattern;
};

test('a grammar takes the place of the sign that the schema has for it', async () => {
  const { ignored, engine } = chats({
    renderWith: (_messages, options) => {
      const pattern = patternIn(options) ?? '^none$';
      return { grammar: grammarOf(`root ::= "\\"" ("${pattern.slice(1, -1)}") "\\""\n`) };
    },
  });
  assert.is(await ignored(withFormat('start: "a\\n"+', 'lark')), '');
  assert.match(
    engine.jobs[0]?.grammar?.gbnf ?? '',
    /^root ::= "\\"" \(input-[\da-f]{16}-0-0\) "\\""\n.*\("a\\\\n"\)\+/s,
  );
  assert.match(String(engine.renderOptions[0]?.tools?.[0]?.description), /lark grammar:\nstart: /);
});

test('a grammar that cannot be enforced is passed over and named, or refused with --strict', async () => {
  assert.is(await chats().ignored(withFormat('(?=a)a')), 'tools[0].custom.format');
  const noPlace: FakeScript = { renderWith: () => ({ grammar: grammarOf('root ::= "a"') }) };
  assert.is(await chats(noPlace).ignored(withFormat('a+')), 'tools[0].custom.format');
  for (const [script, definition] of [
    [{}, '(?=a)a'],
    [noPlace, 'a+'],
  ] as const) {
    const refused = await chats(script, { strict: true }).chat(withFormat(definition));
    expectError(refused, { status: 400, code: 'unsupported_parameter', param: 'tools[0].custom.format' });
  }
});

test('a grammar that is too large once its rules have their names is passed over and named', async () => {
  const { ignored } = chats({
    renderWith: (_messages, options) => ({ grammar: grammarOf(`root ::= "${patternIn(options)?.slice(1, -1)}"`) }),
  });
  assert.is(await ignored(withFormat(`(?:${'[\\na]?'.repeat(400)})*`)), 'tools[0].custom.format');
});

test('many grammars find their places, and a text that is like a sign stays as it is', async () => {
  const names = Array.from({ length: 20 }, (_, index) => `t${index}`);
  const sign = (name: string) => `"the grammar in the description of ${name}"`;
  const { ignored, engine } = chats({
    renderWith: () => ({ grammar: grammarOf(`root ::= ${names.map(sign).join('|')}`) }),
  });
  const tools = names.map((name) => ({
    type: 'custom',
    custom: {
      name,
      format: { type: 'grammar', grammar: { syntax: 'regex', definition: `${sign('t19').slice(1, -1)}|a` } },
    },
  }));
  assert.is(await ignored({ tools }), '');
  const lines = (engine.jobs[0]?.grammar?.gbnf ?? '').trimEnd().split('\n');
  const [, beginning] = /(input-[\da-f]{16})-0-0/.exec(lines[0] ?? '') ?? [];
  assert.is(lines[0], `root ::= ${names.map((_, index) => `${beginning}-${index}-0`).join('|')}`);
  assert.equal(
    lines.slice(1),
    names.map((_, index) => `${beginning}-${index}-0 ::= ${sign('t19')} | "a"`),
  );
});

test('errors name the fields of the request', async () => {
  const { chat } = chats();
  const cases: [Record<string, unknown>, string, string][] = [
    [withFormat('start: "a"\n  b', 'lark'), 'invalid_grammar', 'tools[0].custom.format.grammar.definition'],
    [{ tools: [{ type: 'custom' }] }, 'missing_required_parameter', 'tools[0].custom'],
    [{ tools: [{ type: 'custom', custom: { name: 'a b' } }] }, 'invalid_value', 'tools[0].custom.name'],
    [{ tools: [clock, { type: 'custom', custom: { name: 'clock' } }] }, 'invalid_value', 'tools[1].custom.name'],
    [{ tools: [clock], tool_choice: { type: 'custom', custom: { name: 'x' } } }, 'invalid_value', 'tool_choice'],
  ];
  for (const [body, code, param] of cases) expectError(await chat(body), { status: 400, code, param });
});

function callsOf(body: string): ToolCallDelta[] {
  const chunks: ChatCompletionChunk[] = readSse(body).events;
  return chunks.flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? []);
}

test.run();
