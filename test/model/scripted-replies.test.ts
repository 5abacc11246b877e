// Stop strings and invalid logits, with models that write a known text.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { buildApp } from '../../ts/api/app.js';
import { loadModel } from '../../ts/index.js';
import { ManagedPool } from '../../ts/models/managed-pool.js';
import { runtime } from '../../ts/profiles/runtime.js';
import { root } from '../support/places.js';
import { type Script, writeScriptedModel } from '../support/scripted-model.js';

const test = suite<{ folder: string }>('model: replies that are known');

test.before((context) => {
  context.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-scripted-'));
});
test.after(({ folder }) => fs.rmSync(folder, { recursive: true, force: true }));

const tools = [
  {
    type: 'function',
    function: {
      name: 'look',
      parameters: { type: 'object', properties: { at: { type: 'string' } }, required: ['at'] },
    },
  },
];

// biome-ignore lint/suspicious/noExplicitAny: replies of several kinds
type Ask = (content: string, body?: object, url?: string) => Promise<{ status: number; reply: any }>;

type Use = (ask: Ask) => Promise<void>;

async function withModel(folder: string, script: Script, use: Use, contextSize = 1024): Promise<void> {
  const file = writeScriptedModel(path.join(folder, 'm.gguf'), script);
  const engine = await loadModel(file, { contextSize, parallel: 2, threads: 1 });
  const app = buildApp(ManagedPool.of(engine), runtime);
  await use(async (content, body = {}, url = '/v1/chat/completions') => {
    const payload = { model: 'm', temperature: 0, max_tokens: 40, messages: [{ role: 'user', content }], ...body };
    const { statusCode: status, body: text } = await app.inject({ method: 'POST', url, payload });
    return { status, reply: text.startsWith('{') ? JSON.parse(text) : text };
  });
  await app.close();
  await engine.close();
}

test('stop strings do not apply within a tool call', async ({ folder }) => {
  const script = { calls: [{ tool: 'look', arguments: { at: 'END' } }], say: 'One END two' };
  await withModel(folder, script, async (ask) => {
    for (const choice of ['auto', 'required']) {
      const { reply } = await ask('Look', { tools, tool_choice: choice, stop: ['END'] });
      const [{ message, finish_reason: reason }] = reply.choices;
      assert.is(reason, 'tool_calls', JSON.stringify(reply));
      assert.is(message.tool_calls[0].function.arguments, '{"at":"END"}');
    }
    const [{ message, finish_reason: reason }] = (await ask('Say', { stop: ['END'] })).reply.choices;
    assert.equal([message.content, reason], ['One ', 'stop']);
  });
});

test('a call that max_tokens cuts off is not complete', async ({ folder }) => {
  await withModel(folder, { calls: [{ tool: 'look', arguments: { at: 'X' } }], say: 'Done.' }, async (ask) => {
    for (const choice of ['auto', 'required']) {
      const { reply } = await ask('Look', { tools, tool_choice: choice, max_tokens: 1 });
      const [{ message, finish_reason: reason }] = reply.choices;
      assert.equal([message.tool_calls[0].function.arguments, reason], ['', 'length'], JSON.stringify(reply));
    }
    const named = tools.map(({ function: { name, parameters } }) => ({ name, input_schema: parameters }));
    const { reply } = await ask('Look', { tools: named, max_tokens: 1 }, '/v1/messages');
    assert.equal([reply.content, reply.stop_reason], [[{ type: 'text', text: 'look(' }], 'max_tokens']);
    const { reply: chat } = await ask('Look', { tools, stream: false, options: { num_predict: 1 } }, '/api/chat');
    assert.equal([chat.message.content, chat.done_reason], ['look(', 'length']);
  });
});

test('headers of gpt-oss are not content, with tools and without', async ({ folder }) => {
  const template = fs.readFileSync(
    path.join(root, 'vendor/llama.cpp/models/templates/openai-gpt-oss-120b.jinja'),
    'utf8',
  );
  const pieces = ['<|channel|>analysis<|mes', 'sage|>Hm {[(.<|end|><|start|>assis', 'tant<|channel|>final <|con'];
  pieces.push('strain|>json<|mess', 'age|>{"a": [', '1, {"b": 2}]}');
  await withModel(folder, { calls: [], say: pieces.join(''), pieces, template }, async (ask) => {
    for (const body of [{}, { tools }, { tools, tool_choice: 'none' }]) {
      const [{ message }] = (await ask('Say', body)).reply.choices;
      assert.equal([message.reasoning_content, message.content], ['Hm {[(.', '{"a": [1, {"b": 2}]}']);
    }
  });
});

test('calls of gpt-oss do not depend on token boundaries', async ({ folder }) => {
  const template = fs.readFileSync(
    path.join(root, 'vendor/llama.cpp/models/templates/openai-gpt-oss-120b.jinja'),
    'utf8',
  );
  const rest = ['ok <|constrain|>json<|mess', 'age|>{"at":"EN', 'D"}'];
  for (const header of [
    ['<|channel|>commentary to=func', 'tions.lo'],
    ['<|channel|>analysis to', '=functions.lo'],
    [' to=func', 'tions.lo'],
  ]) {
    const start = header[0]?.startsWith('<') ? rest : ['ok<|channel|>commentary json<|mess', ...rest.slice(1)];
    const pieces = [...header, ...start];
    await withModel(folder, { calls: [], say: pieces.join(''), pieces, template }, async (ask) => {
      const [{ message, finish_reason: reason }] = (await ask('Look', { tools, stop: ['END'] })).reply.choices;
      assert.equal(
        [message.tool_calls?.[0]?.function, reason],
        [{ name: 'look', arguments: '{"at":"END"}' }, 'tool_calls'],
      );
    });
  }
});

test('a required call that is repeated ends the reply', async ({ folder }) => {
  const script = { calls: [{ tool: 'look', arguments: { at: 'X' } }], say: 'Done.', repeatsCalls: true };
  const use: Use = async (ask) => {
    const max = 14_000;
    const { reply } = await ask('Look', { tools, tool_choice: 'required', parallel_tool_calls: true, max_tokens: max });
    const [{ message, finish_reason: reason }] = reply.choices;
    assert.is(reason, 'tool_calls', JSON.stringify(reply.usage));
    assert.equal(
      message.tool_calls.map((call: { function: object }) => call.function),
      [{ name: 'look', arguments: '{"at":"X"}' }],
    );
    assert.ok(reply.usage.completion_tokens < max, `${reply.usage.completion_tokens}`);
  };
  await withModel(folder, script, use, 16_384);
});

test('stop strings do not apply within reasoning', async ({ folder }) => {
  await withModel(folder, { calls: [], say: 'hm, END', reasons: true }, async (ask) => {
    for (const [stop, content] of [
      ['END', 'hm, '],
      ['hm', ''],
    ]) {
      const { reply } = await ask('Well?', { reasoning_budget_tokens: 5, stop: [stop] });
      const [{ message, finish_reason: reason }] = reply.choices;
      assert.is(message.reasoning_content, 'hm, '.repeat(5));
      assert.equal([message.content ?? '', reason], [content, 'stop']);
    }
  });
});

test('without tags of the template, a reply may begin with usual ones', async ({ folder }) => {
  const pieces = ['<thinki', 'ng>hm, ', 'xEND.', '</thinki', 'ng>\n', 'One xENDx', ' two, then'];
  await withModel(folder, { calls: [], say: pieces.join(''), pieces }, async (ask) => {
    for (const [body, content, reason] of [
      [{}, 'One xENDx two, then', 'stop'],
      [{ stop: ['END'] }, 'One x', 'stop'],
      [{ stop: ['END'], tools }, 'One x', 'stop'],
      [{ max_tokens: 3 }, '', 'length'],
    ] as const) {
      const { reply } = await ask('Say', body);
      const [{ message, finish_reason: end }] = reply.choices;
      assert.equal([message.reasoning_content, message.content ?? '', end], ['hm, xEND.', content, reason]);
      assert.is(reply.usage.completion_tokens_details.reasoning_tokens, 3);
    }
    const { reply: text } = await ask('Say', { stream: true, stop: ['END'] });
    const chunks = String(text).matchAll(/^data: (\{.*\})$/gm);
    const deltas = Array.from(chunks, ([, json = '']) => JSON.parse(json).choices[0].delta);
    const joined = (field: string) => deltas.map((delta) => delta[field] ?? '').join('');
    assert.equal(deltas[0], { role: 'assistant', content: null });
    assert.equal([joined('reasoning_content'), joined('content')], ['hm, xEND.', 'One x']);
    const { reply } = await ask('Say', { reasoning_budget_tokens: 0, stop: ['END'] });
    assert.is(reply.choices[0].message.reasoning_content, 'hm, ');
    const { reply: constrained } = await ask('Say', { guided_choice: ['<th', 'no'] });
    assert.is(constrained.choices[0].message.content, '<th');
  });
});

test('constraints apply after the reasoning that the template opens', async ({ folder }) => {
  await withModel(folder, { calls: [], say: 'hm, END', reasons: true }, async (ask) => {
    const constraints = [
      [{ guided_choice: ['yes', 'no'] }, /^(yes|no)$/],
      [{ guided_regex: '[0-9]{3}' }, /^\d{3}$/],
      [{ ebnf: 'root ::= "a" root-1\nroot-1 ::= "root"' }, /^aroot$/],
      [{ guided_json: { const: 7 } }, /^7$/],
    ] as const;
    for (const [constraint, form] of constraints) {
      const { reply } = await ask('Well?', { ...constraint, reasoning_budget_tokens: 5 });
      const [{ message, finish_reason: reason }] = reply.choices;
      assert.is(message.reasoning_content, 'hm, '.repeat(5));
      assert.match(message.content ?? '', form);
      assert.is(reason, 'stop');
    }
  });
});

test('reasoning before a forced call is bounded by half of max_tokens', async ({ folder }) => {
  await withModel(folder, { calls: [], say: 'hm, END', reasons: true }, async (ask) => {
    const short = [{ type: 'function', function: { name: 'look', parameters: { type: 'object', maxProperties: 0 } } }];
    const { reply } = await ask('Look', { tools: short, tool_choice: 'required', max_tokens: 200 });
    const [{ message, finish_reason: reason }] = reply.choices;
    assert.is(message.reasoning_content, 'hm, '.repeat(100));
    assert.is(message.tool_calls[0].function.name, 'look');
    assert.is(reason, 'tool_calls', JSON.stringify(reply));
  });
});

test('invalid logits end their own request, and their cells are not reused', async ({ folder }) => {
  await withModel(folder, { calls: [], say: 'Done.', invalid: 'BROKEN' }, async (ask) => {
    const [broken, whole] = await Promise.all([ask('One BROKEN two'), ask('One two')]);
    assert.equal([broken?.status, broken?.reply.error?.code], [422, 'invalid_logits']);
    assert.equal([whole?.status, whole?.reply.choices?.[0].message.content], [200, 'Done.']);
    for (const content of ['One BROKEN two', 'One BROKEN three']) {
      assert.is((await ask(content)).reply.error.code, 'invalid_logits');
    }
    const { reply } = await ask('One two');
    assert.is(reply.choices[0].message.content, 'Done.');
  });
});

test.run();
