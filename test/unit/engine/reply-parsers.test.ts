import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { GROWTH_FLAGS } from '../../../ts/engine/core.js';
import type { Token } from '../../../ts/engine/engine.js';
import { ReplyParsers } from '../../../ts/engine/local/reply-parsers.js';
import { deliver, JobStream } from '../../../ts/engine/token-stream.js';
import { RECORD_FLAGS } from '../../../ts/native/addon.js';
import { FakeParser } from '../../support/fake-parser.js';

const FORMAT = { kind: 0, parser: '', generationPrompt: '', continues: false };
const { finish, failure, progress } = RECORD_FLAGS;

type Records = readonly [job: number, text: string, flags: number][];

/** One wake: of each record the job, the token's text and the flags. */
function columnsOf(records: Records): [columns: Int32Array, count: number, text: string] {
  const columns = records.flatMap(([job, text, flags]) => [job, 1, text.length, flags]);
  return [Int32Array.from(columns), records.length, records.map(([, text]) => text).join('')];
}

function read(parsers: ReplyParsers, records: Records) {
  return parsers.read(...columnsOf(records));
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

test('a token whose text is all that its reply grew by has a flag instead', async () => {
  const parsers = new ReplyParsers(() => new FakeParser());
  const streams = new Map([1, 2, 3, 4].map((job) => [job, new JobStream()]));
  for (const job of streams.keys()) parsers.add(job, FORMAT);
  const taken = new Map<number, Token[]>();
  for (const [job, stream] of streams) void stream.forEachBatch((tokens) => void taken.set(job, tokens));
  read(parsers, [[2, '<think>', 0]]);
  const [columns, count, text] = columnsOf([
    [1, 'a', 0],
    [2, 'b', 0],
    [3, '<', 0],
    [4, 'c<think>', 0],
  ]);
  const parsed = parsers.read(columns, count, text);
  assert.equal(
    [columns[3], columns[7], columns[11], columns[15]],
    [GROWTH_FLAGS.content, GROWTH_FLAGS.reasoning, 0, 0],
  );
  assert.equal([...(parsed?.keys() ?? [])], [2, 3]);
  deliver(streams, columns, count, text, [], parsed);
  const deltas = [...taken.values()].map(([token]) => token?.deltas);
  assert.equal(deltas, [[{ content: 'a' }], [{ reasoning: 'b' }], [], [{ content: 'c' }]]);
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
