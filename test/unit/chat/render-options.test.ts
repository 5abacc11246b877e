import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { ChatCompletionRequest } from '../../../ts/api/shared/chat/chat-schema.js';
import { toRenderOptions } from '../../../ts/api/shared/chat/render-options.js';
import { ChasquiError } from '../../../ts/errors.js';
import { FakeEngine } from '../../support/fake-engine.js';

const test = suite('unit: tools, schemas and reasoning of a request');

const { model } = new FakeEngine();
const options = (body: Partial<ChatCompletionRequest>, taken = model) =>
  toRenderOptions({ model: 'm', messages: [], ...body }, taken);

function refusal(body: Partial<ChatCompletionRequest>, taken = model): [code: string, param: string | null] {
  try {
    options(body, taken);
  } catch (error) {
    if (error instanceof ChasquiError) return [error.code, error.param];
    throw error;
  }
  throw new Error('It was not refused.');
}

const tool = (name: string, parameters?: object) => ({
  type: 'function' as const,
  function: { name, ...(parameters && { parameters }) },
});
const named = (name: string) => ({ type: 'function' as const, function: { name } });

test('nothing asks for nothing', () => {
  assert.equal(options({}), {});
  assert.equal(options({ tools: [], response_format: { type: 'text' }, tool_choice: 'auto' }), {});
});

test('tools and every form of tool_choice', () => {
  const tools = [tool('a'), tool('b', { type: 'object' })];
  const chosen = [{ name: 'a' }, { name: 'b', parameters: { type: 'object' } }];
  assert.equal(options({ tools }), { tools: chosen, toolChoice: 'auto' });
  assert.equal(options({ tools, tool_choice: 'none' }), { tools: chosen, toolChoice: 'none' });
  assert.equal(options({ tools, tool_choice: 'required' }), { tools: chosen, toolChoice: 'required' });
  assert.equal(options({ tools, tool_choice: named('b') }), { tools: chosen, toolChoice: { name: 'b' } });
  assert.is(options({ tools, parallel_tool_calls: false }).parallelToolCalls, false);
});

test('tools that cannot be meant', () => {
  assert.equal(refusal({ tools: [tool('a'), tool('a')] }), ['invalid_value', 'tools[1].function.name']);
  assert.equal(refusal({ tools: [tool('a')], tool_choice: named('c') }), ['invalid_value', 'tool_choice']);
  assert.equal(refusal({ tool_choice: 'required' }), ['invalid_value', 'tool_choice']);
  assert.equal(refusal({ tool_choice: named('a') }), ['invalid_value', 'tool_choice']);
});

test('a template without tools', () => {
  const without = { ...model, takesTools: false };
  assert.equal(refusal({ tools: [tool('a')] }, without), ['unsupported_parameter', 'tools']);
  assert.equal(options({ tools: [tool('a')], tool_choice: 'none' }, without), {});
});

test('response formats', () => {
  const schema = { type: 'object', properties: { a: { type: 'string' } } };
  assert.equal(options({ response_format: { type: 'json_object' } }), { jsonSchema: { type: 'object' } });
  assert.equal(options({ response_format: { type: 'json_schema', json_schema: { name: 'x', schema } } }), {
    jsonSchema: schema,
  });
  assert.equal(options({ response_format: { type: 'json_schema', json_schema: { name: 'x' } } }), {
    jsonSchema: { type: 'object' },
  });
  assert.equal(refusal({ response_format: { type: 'json_schema' } }), [
    'missing_required_parameter',
    'response_format.json_schema',
  ]);
});

test('a format beside tools is what the answer must be otherwise; with one that must be called it does not matter', () => {
  const body = { tools: [tool('a')], response_format: { type: 'json_object' as const } };
  assert.equal(options(body).jsonSchema, { type: 'object' });
  assert.is(options(body).toolChoice, 'auto');
  assert.is(options({ ...body, tool_choice: 'required' }).jsonSchema, undefined);
  assert.equal(options({ ...body, tool_choice: 'none' }).jsonSchema, { type: 'object' });
});

test('a grammar stands alone', () => {
  const grammar = 'root ::= "a"';
  assert.equal(options({ grammar }), {});
  assert.equal(refusal({ grammar, tools: [tool('a')] }), ['unsupported_parameter', 'grammar']);
  assert.equal(refusal({ grammar, response_format: { type: 'json_object' } }), ['unsupported_parameter', 'grammar']);
});

test('reasoning', () => {
  assert.equal(options({ reasoning_effort: 'low' }).templateKwargs, { reasoning_effort: 'low' });
  assert.equal(options({ reasoning_effort: 'none' }).templateKwargs, { enable_thinking: false });
  assert.equal(
    options({ reasoning_effort: 'high', chat_template_kwargs: { a: [1], reasoning_effort: 'low' } }).templateKwargs,
    {
      a: [1],
      reasoning_effort: 'low',
    },
  );
});

test('nothing that is nested deeper than recursion can bear', () => {
  let deep: object = {};
  for (let i = 0; i < 100; i++) deep = { items: deep };
  assert.equal(refusal({ tools: [tool('a', deep)] }), ['invalid_value', 'tools[0].function.parameters']);
  assert.equal(refusal({ chat_template_kwargs: { deep } }), ['invalid_value', 'chat_template_kwargs']);
});

test('no object of a schema with more members than can be looked through', () => {
  const members = (n: number) => Object.fromEntries(Array.from({ length: n }, (_, i) => [`p${i}`, {}]));
  const list = (n: number) => ({ type: 'array', items: [{ type: 'object', properties: members(n) }] });
  const schema = (n: number) => ({ type: 'object', properties: { list: list(n) } });
  assert.equal(refusal({ tools: [tool('a', schema(5001))] }), ['invalid_value', 'tools[0].function.parameters']);
  assert.equal(options({ tools: [tool('a', schema(5000))] }).toolChoice, 'auto');
  assert.equal(options({ tools: [tool('a', { enum: Object.keys(members(6000)) })] }).toolChoice, 'auto');
});

test("variables that llama.cpp sets are not the request's to set", () => {
  for (const name of ['messages', 'tools', 'add_generation_prompt', 'bos_token', 'eos_token']) {
    const body = { chat_template_kwargs: { enable_thinking: true, [name]: [] } };
    assert.equal(refusal(body), ['invalid_value', `chat_template_kwargs.${name}`]);
  }
  const kwargs = { enable_thinking: false, date_string: '1 May 2026', documents: [{ text: 'a' }] };
  assert.equal(options({ chat_template_kwargs: kwargs }).templateKwargs, kwargs);
});

test('schemas are long together, whatever is done with them', () => {
  const schema = { description: 'a'.repeat(200 * 1024) };
  const format = { type: 'json_schema' as const, json_schema: { name: 'x', schema } };
  const tools = [tool('a', schema), tool('b'), tool('c', schema), tool('d', schema)];
  for (const choice of ['auto', 'none', 'required', named('a')] as const) {
    assert.equal(refusal({ tools, tool_choice: choice }), ['invalid_value', 'tools[3].function.parameters']);
    const two = { tools: tools.slice(1), tool_choice: choice === 'none' || choice === 'auto' ? choice : named('c') };
    assert.equal(refusal({ ...two, response_format: format }), ['invalid_value', 'response_format.json_schema.schema']);
    assert.ok(options(two));
  }
  assert.ok(options({ response_format: format }));
});

test('variables of templates are no place for long texts', () => {
  const long = { text: 'a'.repeat(2 ** 18) };
  assert.equal(refusal({ chat_template_kwargs: long }), ['invalid_value', 'chat_template_kwargs']);
  assert.ok(options({ chat_template_kwargs: { text: 'a'.repeat(2 ** 17) } }).templateKwargs);
});

test.run();
