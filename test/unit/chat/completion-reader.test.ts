import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type CompletionDelta, CompletionReader } from '../../../ts/api/shared/completion/completion-reader.js';
import type { Finish, Token } from '../../../ts/engine/engine.js';
import { finishOf } from '../../support/fake-engine.js';
import { parseBatches } from '../../support/fake-parser.js';

const test = suite('unit: tokens → deltas of an answer');

const tokens = (texts: string[], finish: Partial<Finish> = {}): Token[] =>
  texts.map((text, index) => ({
    id: index,
    text,
    logprobs: { id: index, bytes: Buffer.from(text), logprob: -index, top: [] },
    ...(index === texts.length - 1 && { finish: finishOf(1, texts.length, finish) }),
  }));

function inBatches(all: Token[], size: number): Token[][] {
  return Array.from({ length: Math.ceil(all.length / size) }, (_, index) =>
    all.slice(index * size, (index + 1) * size),
  );
}

function readAll(reader: CompletionReader, batches: Token[][]): CompletionDelta[] {
  return batches.flatMap((batch) => reader.read(batch));
}

const textOf = (deltas: CompletionDelta[], key: 'content' | 'reasoning_content') =>
  deltas.map((delta) => delta[key] ?? '').join('');
const logprobTokens = (deltas: CompletionDelta[]) =>
  deltas.flatMap(({ logprobs }) => logprobs ?? []).map(({ token }) => token);

const ANSWER = [
  '<thi',
  'nk>',
  'Hm',
  ', so',
  '</think>',
  'It',
  ' is',
  ' 5',
  '. ',
  '<call>',
  'add {"a"',
  ':1}',
  '</call>',
  '',
];

test('where nothing is parsed each text is a delta', () => {
  const reader = new CompletionReader();
  const deltas = readAll(reader, inBatches(tokens(['a', '', 'b']), 2));
  assert.equal(
    deltas.map(({ content }) => content),
    ['a', 'b'],
  );
  assert.equal(logprobTokens(deltas), ['a', '']);
  assert.is(reader.finishReason, 'stop');
  assert.is(reader.reasoningTokens, null);
});

for (const size of [1, 2, 3, 5, 100]) {
  test(`reasoning, content and calls, in batches of ${size}`, () => {
    const reader = new CompletionReader(true);
    const deltas = readAll(reader, parseBatches(inBatches(tokens(ANSWER), size)));
    assert.is(textOf(deltas, 'reasoning_content'), 'Hm, so');
    assert.is(textOf(deltas, 'content'), 'It is 5. ');
    const calls = deltas.flatMap((delta) => delta.tool_calls ?? []);
    const { function: first, ...head } = calls[0] ?? { function: {} };
    assert.equal(head, { index: 0, id: 'call0', type: 'function' });
    assert.is(first.name, 'add');
    assert.is(calls.map((call) => call.function.arguments).join(''), '{"a":1}');
    assert.is(reader.finishReason, 'tool_calls');
    assert.is(reader.reasoningTokens, 4, 'the opening tag and the thought');
  });

  test(`log-probabilities are those of the content, in batches of ${size}`, () => {
    const deltas = readAll(new CompletionReader(true), parseBatches(inBatches(tokens(ANSWER), size)));
    assert.equal(logprobTokens(deltas), ['It', ' is', ' 5', '. ']);
  });
}

test('an answer that is cut off within a call ends with length', () => {
  const reader = new CompletionReader(true);
  reader.read(parseBatches([tokens(['<call>add {"a"'], { reason: 'length' })]).flat());
  assert.is(reader.finishReason, 'length');
});

test('only complete calls are a reason to finish', () => {
  for (const [text, reason] of [
    ['<call>add {"a":1}', 'tool_calls'],
    ['<call>add {"a":1}</call><call>add {"a"', 'stop'],
    ['<call>add {"a":"\n"}', 'stop'],
    ['<call>add 5', 'stop'],
    ['<call>add ', 'stop'],
  ] as const) {
    const reader = new CompletionReader(true);
    reader.read(parseBatches([tokens([text])]).flat());
    assert.is(reader.finishReason, reason, text);
  }
});

test('it knows whether the answer has ended', () => {
  const reader = new CompletionReader();
  assert.not(reader.ended);
  assert.throws(() => reader.finish, /ended without a reason/);
});

test.run();
