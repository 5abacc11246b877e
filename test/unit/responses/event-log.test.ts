import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type EventLog, EventLogs } from '../../../ts/api/openai/responses/event-log.js';
import { ChasquiError } from '../../../ts/errors.js';

const test = suite('unit: kept events');

const never = new AbortController().signal;

async function read(log: EventLog, number = 0, signal = never): Promise<string[]> {
  const events: string[] = [];
  for await (const batch of log.from(number, signal)) events.push(...batch.map(String));
  return events;
}

const isDropped = (error: unknown) => error instanceof ChasquiError && error.param === 'starting_after';

test('are read from any number on, those that come later too, by any number of readers', async () => {
  const logs = new EventLogs();
  const log = logs.open('a');
  log.add(['0', '1']);
  const all = read(log);
  const later = read(log, 3);
  await Promise.resolve();
  log.add(['2']);
  log.add(['3', '4']);
  logs.end('a');
  assert.equal(
    [await all, await later],
    [
      ['0', '1', '2', '3', '4'],
      ['3', '4'],
    ],
  );
  assert.equal([await read(log, 2), await read(log, 5), await read(log, 99)], [['2', '3', '4'], [], []]);
});

test('a reader is given a part at a time, because its client may not read it', async () => {
  const logs = new EventLogs();
  const log = logs.open('a');
  const events = ['a', 'b', 'x'.repeat(100_000), 'c', 'y'.repeat(60_000), 'z'.repeat(60_000), 'd'];
  log.add(events);
  logs.end('a');
  const batches: string[][] = [];
  for await (const batch of log.from(0, never)) batches.push(batch.map(String));
  assert.equal(batches, [events.slice(0, 3), events.slice(3, 6), ['d']]);
});

test('a reader that is aborted is told why', async () => {
  const log = new EventLogs().open('a');
  const controller = new AbortController();
  const reading = read(log, 0, controller.signal).catch((thrown: unknown) => thrown);
  await Promise.resolve();
  const reason = new Error('enough');
  controller.abort(reason);
  assert.is(await reading, reason);
});

test('are kept for ten minutes after the end', () => {
  let now = 0;
  const logs = new EventLogs(() => now);
  const log = logs.open('a');
  now = 3_600_000;
  assert.is(logs.get('a'), log);
  logs.end('a');
  now += 599_999;
  assert.is(logs.get('a'), log);
  now += 1;
  assert.is(logs.get('a'), null);
});

test('where they are too long together, those that have ended make room, then the oldest of the longest', async () => {
  const logs = new EventLogs(Date.now, 100);
  const ended = logs.open('ended');
  ended.add(['x'.repeat(40)]);
  logs.end('ended');
  const short = logs.open('short');
  short.add(['y'.repeat(10)]);
  const long = logs.open('long');
  long.add(['a'.repeat(30)]);
  assert.is(logs.get('ended'), ended);
  long.add(['b'.repeat(30)]);
  assert.is(logs.get('ended'), null);
  long.add(['c'.repeat(30)]);
  assert.is(long.length, 90);
  long.add(['d'.repeat(30)]);
  logs.end('long');
  assert.equal(await read(long, 2), ['c'.repeat(30), 'd'.repeat(30)]);
  const refused = await read(long, 1).catch((thrown: unknown) => thrown);
  assert.ok(isDropped(refused), String(refused));
  logs.end('short');
  assert.equal(await read(short), ['y'.repeat(10)]);
  // What is deleted takes no room any more.
  logs.delete('long');
  const next = logs.open('next');
  next.add(['e'.repeat(90)]);
  assert.is(logs.get('short'), short);
});

test('an event that is longer than all there is room for is dropped, and does no harm', async () => {
  const logs = new EventLogs(Date.now, 100);
  const log = logs.open('a');
  log.add(['x'.repeat(1000)]);
  log.add(['y']);
  logs.end('a');
  assert.equal(await read(log, 1), ['y']);
  assert.is(log.length, 1);
});

test.run();
