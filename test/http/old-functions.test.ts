// Chats with `functions` and `function_call`, the form before `tools`.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { closeApps, testApp } from '../support/build-app.js';
import { expectError } from '../support/expect-error.js';
import { readSse } from '../support/read-sse.js';

const test = suite('http: functions in the old form');

test.after.each(closeApps);

const functions = [{ name: 'add', description: 'Adds.', parameters: { type: 'object' } }];
const batches = () => [[{ text: '<call>add {"a":' }], [{ text: '1}</call>' }, { text: '' }]];
const model = { takesTools: true };

test('a call is replied as function_call, and the model may make one', async () => {
  const { chat, engine } = testApp({ batches, model });
  const { message, finish_reason } = (await chat({ functions })).json().choices[0];
  const function_call = { name: 'add', arguments: '{"a":1}' };
  assert.equal(message, { role: 'assistant', content: null, refusal: null, function_call });
  assert.is(finish_reason, 'function_call');
  const [options] = engine.renderOptions;
  assert.equal(options?.tools, [functions[0]]);
  assert.is(options?.parallelToolCalls, false);
  const messages = [{ role: 'user', content: 'Add.' }, message, { role: 'function', name: 'add', content: '3' }];
  assert.is((await chat({ functions, messages })).statusCode, 200);
  const [, call, result] = engine.conversations.at(-1) ?? [];
  assert.equal(call?.toolCalls, [function_call]);
  assert.equal([result?.role, result?.name, result?.content], ['tool', 'add', '3']);
});

test('a stream has pieces of the call, the first with its name', async () => {
  const { chat } = testApp({ batches, model });
  const { events } = readSse((await chat({ functions, stream: true })).body);
  const pieces = events.flatMap(({ choices: [{ delta }] }) => delta.function_call ?? []);
  assert.is(pieces[0].name, 'add');
  assert.is(pieces.map((piece) => piece.arguments).join(''), '{"a":1}');
  assert.ok(events.every(({ choices: [{ delta }] }) => !('tool_calls' in delta)));
  assert.is(events.at(-1).choices[0].finish_reason, 'function_call');
});

test('function_call chooses as tool_choice does', async () => {
  const { chat, engine } = testApp({ batches, model });
  for (const choice of ['none', 'auto', { name: 'add' }]) {
    const reply = await chat({ functions, function_call: choice });
    assert.is(reply.statusCode, 200, reply.body);
  }
  assert.equal(
    engine.renderOptions.map(({ toolChoice }) => toolChoice),
    ['none', 'auto', { name: 'add' }],
  );
});

for (const [body, param, code] of [
  [{ functions: [{}] }, 'functions[0].name', 'missing_required_parameter'],
  [{ functions: [{ name: 'a b' }] }, 'functions[0].name', 'invalid_value'],
  [{ functions, function_call: 'required' }, 'function_call', 'invalid_value'],
  [{ functions, function_call: { name: 'sub' } }, 'function_call', 'invalid_value'],
  [{ function_call: { name: 'add' } }, 'function_call', 'invalid_value'],
  [{ functions, tools: [{ type: 'function', function: functions[0] }] }, 'functions', 'invalid_value'],
  [{ functions: [...functions, ...functions] }, 'functions[1].name', 'invalid_value'],
] as const) {
  test(`${JSON.stringify(body)} is refused for ${param}`, async () => {
    expectError(await testApp({ model }).chat(body), { status: 400, param, code });
  });
}

test.run();
