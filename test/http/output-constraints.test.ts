// Constraints in the fields of vLLM and SGLang: each becomes a grammar or a schema, or is refused.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ChasquiError } from '../../ts/errors.js';
import { testApp } from '../support/build-app.js';
import { expectError } from '../support/expect-error.js';
import { GbnfTexts } from '../support/gbnf-texts.js';

const test = suite('http: constraints of vLLM and SGLang');

const SCHEMA = { type: 'object', properties: { a: { type: 'integer' } } };

const REGEX = String.raw`[a-c]+\n"\d{2}`;
const LARK = 'start: "a" NUMBER\nNUMBER: /[0-9]+/';
const GBNF = 'root ::= "yes" | "no"';

const ENDPOINTS: Record<string, Record<string, unknown>> = {
  '/v1/chat/completions': { messages: [{ role: 'user', content: 'Hi' }] },
  '/v1/completions': { prompt: 'Hi' },
  '/v1/responses': { input: 'Hi' },
  '/v1/messages': { messages: [{ role: 'user', content: 'Hi' }], max_tokens: 5 },
};

const GRAMMARS: [fields: Record<string, unknown>, yes: string[], no: string[]][] = [
  [{ guided_regex: REGEX }, ['abc\n"12'], ['abc\n"1', 'd\n"12']],
  [{ regex: REGEX }, ['a\n"12'], ['a\\n"12']],
  [{ structured_outputs: { regex: REGEX } }, ['a\n"12'], ['a']],
  [{ structured_outputs: { regex: REGEX, json: null, json_object: false } }, ['a\n"12'], ['a']],
  [{ extra_body: { guided_regex: REGEX } }, ['a\n"12'], ['a']],
  [{ guided_choice: ['a "b"\\', 'é😀', ''] }, ['a "b"\\', 'é😀', ''], ['a', 'é']],
  [{ structured_outputs: { choice: ['x', 'y'] } }, ['x', 'y'], ['xy', '']],
  [{ guided_grammar: LARK }, ['a12'], ['a', '12']],
  [{ ebnf: LARK }, ['a12'], ['a', '12']],
  [{ structured_outputs: { grammar: GBNF } }, ['yes', 'no'], ['maybe']],
  [{ ebnf: GBNF }, ['yes'], ['maybe']],
];

const SCHEMAS: [fields: Record<string, unknown>, schema: object][] = [
  [{ guided_json: SCHEMA }, SCHEMA],
  [{ guided_json: JSON.stringify(SCHEMA) }, SCHEMA],
  [{ structured_outputs: { json: SCHEMA } }, SCHEMA],
  [{ structured_outputs: { json_object: true } }, { type: 'object' }],
  [{ json_schema: JSON.stringify(SCHEMA) }, SCHEMA],
];

for (const [url, body] of Object.entries(ENDPOINTS)) {
  for (const [fields, yes, no] of GRAMMARS) {
    test(`${url} enforces ${JSON.stringify(fields)}`, async () => {
      const { engine, send } = testApp();
      const reply = await send(url, { model: 'fake', ...body, ...fields });
      assert.is(reply.statusCode, 200, reply.body);
      assert.is(reply.headers['x-chasqui-ignored'], undefined);
      const texts = new GbnfTexts(engine.jobs[0]?.grammar?.gbnf ?? '');
      for (const text of yes) assert.ok(texts.has('root', text), `takes ${text}`);
      for (const text of no) assert.not(texts.has('root', text), `refuses ${text}`);
    });
  }
}

for (const [fields, schema] of SCHEMAS) {
  test(`chats enforce ${JSON.stringify(fields)}`, async () => {
    const { engine, chat } = testApp();
    const reply = await chat(fields);
    assert.is(reply.statusCode, 200, reply.body);
    assert.equal(engine.renderOptions[0]?.jsonSchema, schema);
  });
}

test('responses and messages take schemas of vLLM, and name what cannot be enforced', async () => {
  for (const url of ['/v1/responses', '/v1/messages', '/v1/chat/completions']) {
    const { engine, send } = testApp();
    const schema = { type: 'array', uniqueItems: true };
    const reply = await send(url, { model: 'fake', ...ENDPOINTS[url], guided_json: schema });
    assert.equal(engine.renderOptions[0]?.jsonSchema, schema);
    assert.is(reply.headers['x-chasqui-ignored'], 'guided_json.uniqueItems');
  }
});

const NESTED = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;

const REFUSED: [fields: Record<string, unknown>, param: string, code: string][] = [
  [{ guided_regex: '(' }, 'guided_regex', 'invalid_grammar'],
  [{ regex: '(?=a)b' }, 'regex', 'invalid_grammar'],
  [{ regex: 'a'.repeat(40_000) }, 'regex', 'invalid_grammar'],
  [{ structured_outputs: { regex: 'a{5000}' } }, 'structured_outputs.regex', 'invalid_grammar'],
  [{ guided_grammar: 'nothing' }, 'guided_grammar', 'invalid_grammar'],
  [{ guided_grammar: 'other: "a"' }, 'guided_grammar', 'invalid_grammar'],
  [{ guided_json: '{' }, 'guided_json', 'invalid_value'],
  [{ guided_json: '[]' }, 'guided_json', 'invalid_value'],
  [{ guided_json: NESTED }, 'guided_json', 'invalid_value'],
  [{ guided_json: 7 }, 'guided_json', 'invalid_type'],
  [{ json_schema: 'text' }, 'json_schema', 'invalid_value'],
  [{ guided_choice: [] }, 'guided_choice', 'invalid_value'],
  [{ guided_choice: [1] }, 'guided_choice[0]', 'invalid_type'],
  [{ guided_choice: Array(2000).fill('a') }, 'guided_choice', 'invalid_value'],
  [{ structured_outputs: {} }, 'structured_outputs', 'invalid_value'],
  [{ structured_outputs: { structural_tag: '{}' } }, 'structured_outputs.structural_tag', 'unsupported_parameter'],
  [{ structural_tag: '{}' }, 'structural_tag', 'unsupported_parameter'],
  [{ guided_regex: 'a', guided_choice: ['a'] }, 'guided_regex', 'unsupported_parameter'],
  [{ structured_outputs: { regex: 'a', choice: ['a'] } }, 'structured_outputs.regex', 'unsupported_parameter'],
  [{ guided_json: SCHEMA, json_schema: SCHEMA }, 'guided_json', 'unsupported_parameter'],
  [{ regex: 'a', grammar: GBNF }, 'regex', 'unsupported_parameter'],
  [{ extra_body: { regex: 'a' }, ebnf: GBNF }, 'regex', 'unsupported_parameter'],
];

for (const [fields, param, code] of REFUSED) {
  const shown = JSON.stringify(fields).slice(0, 80);
  test(`chats and completions refuse ${shown} with the name of the field`, async () => {
    const { send } = testApp();
    for (const url of ['/v1/chat/completions', '/v1/completions']) {
      const reply = await send(url, { model: 'fake', ...ENDPOINTS[url], ...fields });
      expectError(reply, { status: 400, code: code, param: param });
      assert.ok(reply.json().error.message.includes(`\`${param}\``));
    }
  });
}

test('grammars of constraints leave a place for reasoning, and `grammar` applies from the first character', async () => {
  for (const [url, body] of Object.entries(ENDPOINTS)) {
    if (url === '/v1/completions') continue;
    const { engine, send } = testApp({ reasons: true });
    const reply = await send(url, { model: 'fake', ...body, guided_choice: ['yes', 'no'], reasoning_budget_tokens: 9 });
    assert.equal([reply.statusCode, reply.headers['x-chasqui-ignored']], [200, undefined], reply.body);
    const [job] = engine.jobs;
    const texts = new GbnfTexts(job?.grammar?.gbnf ?? '');
    for (const text of ['yes', '<think>Hm.</think>no', '<think></think>\n\nyes'])
      assert.ok(texts.has('root', text), text);
    for (const text of ['Hm.</think>no', '<think>Hm.', '<think>Hm.</think>maybe']) assert.not(texts.has('root', text));
    assert.equal([job?.reasoning?.start, job?.reasoningBudget], ['<think>', 9]);
  }
  const { engine, chat } = testApp({ reasons: true });
  await chat({ grammar: GBNF });
  assert.equal([engine.jobs[0]?.grammar?.gbnf, engine.jobs[0]?.reasoning], [GBNF, null]);
});

test('a constraint beside another format or tools is refused', async () => {
  const { chat, send } = testApp({ model: { takesTools: true } });
  const format = { response_format: { type: 'json_object' } };
  expectError(await chat({ guided_regex: 'a', ...format }), {
    status: 400,
    code: 'unsupported_parameter',
    param: 'guided_regex',
  });
  assert.is((await chat({ guided_regex: 'a', response_format: { type: 'text' } })).statusCode, 200);
  const tools = [{ type: 'function', function: { name: 'f' } }];
  expectError(await chat({ regex: 'a', tools }), { status: 400, code: 'unsupported_parameter', param: 'regex' });
  const text = { format: { type: 'json_object' } };
  const reply = await send('/v1/responses', { model: 'fake', input: 'Hi', regex: 'a', text });
  expectError(reply, { status: 400, code: 'unsupported_parameter', param: 'regex' });
  assert.match(reply.json().error.message, /`text\.format`/);
});

test('errors of the engine name the field that the grammar came from', async () => {
  const failWith = new ChasquiError('invalid_grammar', 'The grammar cannot be used: no.');
  for (const [url, body] of Object.entries(ENDPOINTS)) {
    const { send } = testApp({ failAt: 0, failWith });
    const reply = await send(url, { model: 'fake', ...body, ebnf: 'root ::= a' });
    assert.is(reply.statusCode, 400);
    if (url !== '/v1/messages') assert.is(reply.json().error.param, 'ebnf', url);
  }
});

test.run();
