import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { ChatCompletionChunk } from '../../../ts/api/openai/chat/schema.js';
import { ChunkEncoder } from '../../../ts/api/openai/chat/stream.js';
import { RunningUsage } from '../../../ts/api/shared/completion/reply-fields.js';
import type { ReplyDelta, Token } from '../../../ts/engine/engine.js';
import { finishOf } from '../../support/fake-engine.js';
import { LOGPROB_BATCHES, LOGPROB_ENTRIES } from '../../support/logprob-tokens.js';

const test = suite('unit: tokens → chunks');

const head = { id: 'chatcmpl-"quoted"', created: 5, model: 'a "model" \\ of\nmine', system_fingerprint: 'chasqui-1' };

function chunks(encoder: ChunkEncoder, tokens: readonly Token[], index = 0): ChatCompletionChunk[] {
  return encoder.encode({ index, tokens }).map((json) => JSON.parse(json));
}

test('only the first call adds the role', () => {
  const encoder = new ChunkEncoder(head, { includeUsage: false, choices: 1 });
  assert.is(chunks(encoder, [{ id: 1, text: 'a' }]).length, 2);
  assert.is(chunks(encoder, [{ id: 1, text: 'b' }]).length, 1);
});

test('the usage so far counts the prompts and the tokens of all choices', () => {
  const usage = new RunningUsage([
    { prefill: { total: 9, cached: 4, computed: 9 } },
    { prefill: { total: 1, computed: 0 } },
  ]);
  const encoder = new ChunkEncoder(head, { includeUsage: true, choices: 2, usage });
  chunks(encoder, [{ id: 1, text: 'a' }]);
  assert.equal(chunks(encoder, [{ id: 1, text: 'b' }], 1).at(-1)?.usage, {
    prompt_tokens: 10,
    completion_tokens: 2,
    total_tokens: 12,
    prompt_tokens_details: { cached_tokens: 4 },
  });
});

test('any head and any text make valid JSON, on one line', () => {
  const encoder = new ChunkEncoder(head, { includeUsage: true, choices: 1 });
  for (const text of ['"', '\\', '\n', '\r\n\r\n', '\u2028', '\u0000', '\ud800', '}],"x":[{']) {
    const [json = ''] = encoder.encode({ index: 0, tokens: [{ id: 1, text }] }).slice(-1);
    assert.not.match(json, /[\r\n]/);
    const { choices, ...rest } = JSON.parse(json);
    assert.is(choices[0].delta.content, text);
    assert.equal(rest, { ...head, object: 'chat.completion.chunk', usage: null });
  }
});

test('deltas that bring nothing make no chunk, those that bring half of something make JSON', () => {
  const brought: ReplyDelta[] = [
    {},
    { content: undefined },
    { reasoning: undefined, content: undefined },
    { toolIndex: 0 },
    { toolIndex: 0, toolArguments: undefined },
    { reasoning: '', content: '' },
  ] as ReplyDelta[];
  const encoder = new ChunkEncoder(head, { includeUsage: false, choices: 1, parsed: true });
  encoder.encode({ index: 0, tokens: [] });
  const made = chunks(encoder, [{ id: 1, text: 'x', deltas: brought }]).map(({ choices }) => choices[0]?.delta);
  const call = { content: null, tool_calls: [{ index: 0, function: { arguments: '' } }] };
  assert.equal(made, [call, call, { content: '', reasoning_content: '' }]);
});

test('a token without text makes no chunk', () => {
  const encoder = new ChunkEncoder(head, { includeUsage: false, choices: 1 });
  encoder.encode({ index: 0, tokens: [] });
  assert.equal(encoder.encode({ index: 0, tokens: [{ id: 1, text: '' }] }), []);
});

test('entries that no text follows come with the finish reason', () => {
  const encoder = new ChunkEncoder(head, { includeUsage: false, choices: 1 });
  const [, half] = LOGPROB_BATCHES.flat();
  if (!half) throw new Error('no such token');
  const last = { ...half, finish: finishOf(1, 1, { reason: 'length' }) };
  const made = chunks(encoder, [last]);
  assert.equal(made.at(-1)?.choices[0], {
    index: 0,
    delta: { content: null },
    logprobs: { content: LOGPROB_ENTRIES.slice(1, 2), refusal: null },
    finish_reason: 'length',
  });
});

test('choices carry their index, and the usage of all comes once, after the last', () => {
  const encoder = new ChunkEncoder(head, { includeUsage: true, choices: 2 });
  const first = chunks(encoder, [{ id: 1, text: 'a', finish: finishOf(7, 1) }], 1);
  assert.equal(
    first.map(({ choices }) => choices[0]?.index),
    [1, 1, 1],
  );
  encoder.encode({ index: 0, tokens: [{ id: 1, text: 'b' }] });
  assert.throws(() => encoder.end(), /ended without a reason/);
  const last = chunks(encoder, [{ id: 1, text: '', finish: finishOf(7, 3) }], 0).at(-1);
  assert.equal(last?.choices, []);
  assert.is(last?.usage?.prompt_tokens, 7);
  assert.is(last?.usage?.completion_tokens, 4);
  encoder.end();
});

test('it knows whether the answer has ended', () => {
  const encoder = new ChunkEncoder(head, { includeUsage: false, choices: 1 });
  encoder.encode({ index: 0, tokens: [{ id: 1, text: 'a' }] });
  assert.throws(() => encoder.end(), /ended without a reason/);
  encoder.encode({ index: 0, tokens: [{ id: 1, text: '', finish: finishOf(1, 1) }] });
  encoder.end();
});

test.run();
