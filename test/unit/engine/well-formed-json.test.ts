import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type ChatMessage, toRenderRequest } from '../../../ts/engine/engine.js';
import { grammarOfSchema, replaceLoneSurrogates } from '../../../ts/engine/job.js';

const test = suite('well-formed JSON');

test('half of a surrogate pair becomes the replacement character, in values and in names', () => {
  const value = { a: 'x\ud800', '\udc00': ['\udc00\ud800', '\ud83d\ude00', '\ud83d\ud83d\ude00'] };
  const expected = { a: 'x\ufffd', '\ufffd': ['\ufffd\ufffd', '\ud83d\ude00', '\ufffd\ud83d\ude00'] };
  assert.equal(JSON.parse(replaceLoneSurrogates(JSON.stringify(value))), expected);
});

test('text that looks like an escape, and everything else, stays as it is', () => {
  for (const text of ['\\ud800', '\\\\ud800', 'a"\n\u0000\u2028\\', '\ufffd', '\\u', '']) {
    const json = JSON.stringify({ text });
    assert.is(replaceLoneSurrogates(json), json);
  }
});

const texts: [json: string, result: string][] = [
  ['{"a":"\\ud83d\\ude00"}', '{"a":"\\ud83d\\ude00"}'],
  ['{"a":"\\uD83D\\uDE00"}', '{"a":"\\uD83D\\uDE00"}'],
  ['{"a":"\\uDBFF\\u0041"}', '{"a":"\\ufffd\\u0041"}'],
  ['{"a":"\\udc00\\ud800"}', '{"a":"\\ufffd\\ufffd"}'],
  ['{"a":"\\\\ud800"}', '{"a":"\\\\ud800"}'],
  ['{"a":"\\\\\\ud800"}', '{"a":"\\\\\\ufffd"}'],
  ['{"a":"\\ud8', '{"a":"\\ud8'],
  ['no JSON', 'no JSON'],
];
for (const [json, result] of texts) {
  test(`${json} of somebody else's becomes ${result}`, () => assert.is(replaceLoneSurrogates(json), result));
}

test('that is so in all of a conversation, and in a schema', () => {
  const half = 'x\ud800';
  const call = { id: half, name: half, arguments: JSON.stringify({ a: half }) };
  const messages: ChatMessage[] = [
    { role: 'user', content: half, name: half },
    { role: 'assistant', content: '', reasoning: half, toolCalls: [call] },
    { role: 'tool', content: half, toolCallId: half },
  ];
  const tools = [{ name: 'f', description: half, parameters: { properties: { [half]: { description: half } } } }];
  const request = toRenderRequest(messages, { tools, jsonSchema: { enum: [half] }, templateKwargs: { half } }, '', []);
  for (const text of [request, grammarOfSchema({ enum: [half] }).schema ?? '']) {
    assert.match(text, /\\ufffd/);
    assert.not.match(text, /\\ud800/);
  }
});

test.run();
