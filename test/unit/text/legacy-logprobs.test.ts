import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { LogprobColumns } from '../../../ts/api/openai/completions/legacy-logprobs.js';
import type { Token } from '../../../ts/engine/engine.js';

const test = suite('text: log-probabilities as columns');

/** `text`: what the engine publishes with the token. */
function token(bytes: Buffer, logprob: number, top: [string, number][] = [], text = bytes.toString()): Token {
  const alternatives = top.map(([text, value]) => ({ id: 2, bytes: Buffer.from(text), logprob: value }));
  return { id: 1, text, logprobs: { id: 1, bytes, logprob, top: alternatives } };
}

test('offsets count characters from where the text begins', () => {
  const columns = new LogprobColumns({ withTop: false, offset: 10 });
  for (const text of ['ab', '🙂', 'c']) columns.add(token(Buffer.from(text), -1));
  assert.equal(columns.take(), {
    tokens: ['ab', '🙂', 'c'],
    token_logprobs: [-1, -1, -1],
    top_logprobs: null,
    text_offset: [10, 12, 13],
  });
});

test('the parts of a character begin where it does', () => {
  const columns = new LogprobColumns({ withTop: false, offset: 0 });
  const smile = Buffer.from('🙂');
  columns.add(token(smile.subarray(0, 2), -1, [], ''));
  columns.add(token(smile.subarray(2), -1, [], '🙂'));
  columns.add(token(Buffer.from('x'), -1));
  assert.equal(columns.take()?.text_offset, [0, 0, 1]);
});

test('alternatives are there when they were asked for, and each take is what is new', () => {
  const columns = new LogprobColumns({ withTop: true, offset: 0 });
  columns.add(
    token(Buffer.from('a'), -0.5, [
      ['a', -0.5],
      ['b', -2],
    ]),
  );
  assert.equal(columns.take()?.top_logprobs, [{ a: -0.5, b: -2 }]);
  assert.is(columns.take(), null);
});

test('tokens without log-probabilities leave nothing', () => {
  const columns = new LogprobColumns({ withTop: true, offset: 0 });
  columns.add({ id: 1, text: 'a' });
  assert.is(columns.take(), null);
});

test.run();
