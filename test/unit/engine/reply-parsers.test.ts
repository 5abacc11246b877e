import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { ReplyParsers } from '../../../ts/engine/local/reply-parsers.js';
import { RECORD_FLAGS } from '../../../ts/native/addon.js';
import { FakeParser } from '../../support/fake-parser.js';

const FORMAT = { kind: 0, parser: '', generationPrompt: '', continues: false };
const { finish, failure, progress } = RECORD_FLAGS;

/** One wake: of each record the job, the token's text and the flags. */
function read(parsers: ReplyParsers, records: readonly [job: number, text: string, flags: number][]) {
  const columns = records.flatMap(([job, text, flags]) => [job, 1, text.length, flags]);
  return parsers.read(Int32Array.from(columns), records.length, records.map(([, text]) => text).join(''));
}

test('without a job that has a format nothing is read', () => {
  const parsers = new ReplyParsers(() => new FakeParser());
  assert.is(read(parsers, [[1, 'a', 0]]), undefined);
});

test('each job is parsed once for a wake, at the place of its last record', () => {
  const parsers = new ReplyParsers(() => new FakeParser());
  parsers.add(1, FORMAT);
  parsers.add(3, FORMAT);
  const wake = [
    [1, 'a', 0],
    [2, 'unparsed', 0],
    [3, '<think>x', 0],
    [1, 'b', 0],
  ] as [number, string, number][];
  const parsed = read(parsers, wake);
  assert.equal(
    [...(parsed ?? [])],
    [
      [3, { deltas: [{ content: 'ab' }] }],
      [2, { deltas: [{ reasoning: 'x' }] }],
    ],
  );
});

test('a record of progress is no token of a reply', () => {
  const parsers = new ReplyParsers(() => new FakeParser());
  parsers.add(1, FORMAT);
  assert.equal([...(read(parsers, [[1, '', progress]]) ?? [])], []);
});

test('the last token brings what was held back, and how many tokens were reasoning', () => {
  const parsers = new ReplyParsers(() => new FakeParser());
  parsers.add(1, FORMAT);
  read(parsers, [
    [1, '<think>x', 0],
    [1, 'y', 0],
  ]);
  read(parsers, [[1, '</think>z<', 0]]);
  const end = read(parsers, [[1, '', finish]])?.get(0);
  assert.equal(end, { deltas: [{ content: '<' }], reasoningTokens: 2 });
  assert.is(read(parsers, [[1, 'late', 0]]), undefined);
});

test('a job that fails or is removed is parsed no more', () => {
  const parsers = new ReplyParsers(() => new FakeParser());
  parsers.add(1, FORMAT);
  parsers.add(2, FORMAT);
  const parsed = read(parsers, [
    [1, 'a', 0],
    [1, '', failure],
  ]);
  assert.equal([...(parsed ?? [])], []);
  parsers.remove(2);
  assert.is(read(parsers, [[2, 'b', 0]]), undefined);
});

test.run();
