import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Token } from '../../../ts/engine/engine.js';
import { deliver, JobStream } from '../../../ts/engine/token-stream.js';
import { RECORD_FLAGS } from '../../../ts/native/addon.js';
import { finishOf } from '../../support/fake-engine.js';

const test = suite('unit: token stream');

function streamAndLog(): { stream: JobStream; log: string[] } {
  const log: string[] = [];
  const stream = new JobStream();
  stream.attach({
    onEnd: (left, finish) => {
      if (finish) log.push(finish.reason);
      log.push(left ? 'left' : 'ended');
    },
    onBacklog: (paused) => log.push(paused ? 'paused' : 'resumed'),
  });
  return { stream, log };
}

const token = (text: string): Token => ({ id: 1, text });
const last = (text: string): Token => ({ id: 1, text, finish: finishOf(1, 1) });

async function texts(stream: AsyncIterable<Token>): Promise<string> {
  let text = '';
  for await (const each of stream) text += each.text;
  return text;
}

test('tokens come one by one, those pushed between two reads included', async () => {
  const { stream, log } = streamAndLog();
  const first = stream.next();
  stream.push(token('a'));
  stream.push(token('b'));
  stream.flush();
  stream.push(token('c'));
  assert.is((await first).value?.text, 'a');
  stream.push(last('d'));
  stream.flush();
  assert.is(await texts(stream), 'bcd');
  assert.equal(log, ['stop', 'ended']);
});

test('a prompt is as far as the engine has told, first of all of what was cached, and complete with the first token', () => {
  const { stream } = streamAndLog();
  assert.is(stream.prefill, null);
  stream.promptTokens = 100;
  assert.equal(stream.prefill, { computed: 0, total: 100 });
  const streams = new Map([[7, stream]]);
  const wake = (...records: number[][]) => deliver(streams, Int32Array.from(records.flat()), records.length, '', []);
  wake([7, 16, 0, RECORD_FLAGS.progress], [8, 5, 0, RECORD_FLAGS.progress]);
  assert.equal(stream.prefill, { computed: 16, total: 100, cached: 16 });
  wake([7, 64, 0, RECORD_FLAGS.progress]);
  assert.equal(stream.prefill, { computed: 64, total: 100, cached: 16 });
  wake([7, 1, 0, 0]);
  assert.equal(stream.prefill, { computed: 100, total: 100, cached: 16 });
});

test('log-probabilities of the prompt are no tokens, and begin again with another attempt', () => {
  const { stream } = streamAndLog();
  const streams = new Map([[7, stream]]);
  const logprobs = [{ id: 5 }, { id: 6 }];
  const scored = RECORD_FLAGS.prompt | RECORD_FLAGS.logprobs;
  deliver(streams, Int32Array.of(7, 5, 0, scored, 9, 5, 0, scored, 7, 6, 0, scored), 3, '', [
    logprobs[0],
    {},
    logprobs[1],
  ]);
  assert.equal(stream.promptLogprobs, logprobs);
  stream.attach({ onEnd: () => {}, onBacklog: () => {} });
  assert.equal(stream.promptLogprobs, []);
});

test('batches are taken in the wake, as they were flushed', async () => {
  const { stream } = streamAndLog();
  const taken: string[] = [];
  const whole = stream.forEachBatch((tokens) => void taken.push(tokens.map(({ text }) => text).join('')));
  stream.push(token('a'));
  stream.push(token('b'));
  stream.flush();
  assert.equal(taken, ['ab']);
  stream.push(last('c'));
  stream.flush();
  assert.equal(taken, ['ab', 'c']);
  await whole;
});

test('nothing is brought to a reader that is still busy with a batch; then all that came meanwhile', async () => {
  const { stream, log } = streamAndLog();
  const taken: number[] = [];
  let ready = () => {};
  const whole = stream.forEachBatch((tokens) => {
    taken.push(tokens.length);
    return taken.length === 1 ? new Promise((resolve) => (ready = resolve)) : undefined;
  });
  for (let i = 0; i < 1025; i++) {
    stream.push(token('x'));
    stream.flush();
  }
  assert.equal([taken, log], [[1], ['paused']]);
  ready();
  await Promise.resolve();
  assert.equal(
    [taken, log],
    [
      [1, 1024],
      ['paused', 'resumed'],
    ],
  );
  stream.push(last(''));
  stream.flush();
  await whole;
});

for (const [how, taking] of [
  ['throws', () => assert.unreachable('enough')],
  ['rejects', () => Promise.reject(new Error('enough'))],
] as const) {
  test(`a reader that ${how} frees the job and is told why`, async () => {
    const { stream, log } = streamAndLog();
    const whole = stream.forEachBatch(taking);
    stream.push(token('a'));
    stream.flush();
    await whole.then(
      () => assert.unreachable(),
      (error) => assert.is(error.message, 'enough'),
    );
    assert.equal(log, ['left']);
  });
}

test('batches end with a failure, after what was there', async () => {
  const { stream } = streamAndLog();
  const taken: string[] = [];
  const whole = stream.forEachBatch((tokens) => void taken.push(...tokens.map(({ text }) => text)));
  stream.push(token('a'));
  stream.fail(new Error('broken'));
  await whole.then(
    () => assert.unreachable(),
    (error) => assert.is(error.message, 'broken'),
  );
  assert.equal(taken, ['a']);
});

test('a failure comes after what was there, an abort instead of it', async () => {
  const failing = streamAndLog();
  failing.stream.push(token('a'));
  failing.stream.fail(new Error('broken'));
  assert.is((await failing.stream.next()).value?.text, 'a');
  await failing.stream.next().then(
    () => assert.unreachable(),
    (error) => assert.is(error.message, 'broken'),
  );
  assert.ok((await failing.stream.next()).done);
  assert.equal(failing.log, ['ended']);

  const aborted = streamAndLog();
  aborted.stream.push(token('a'));
  aborted.stream.abort(new Error('enough'));
  await aborted.stream.next().then(
    () => assert.unreachable(),
    (error) => assert.is(error.message, 'enough'),
  );
  assert.equal(aborted.log, ['left']);
});

test('leaving ends it once, and what is pushed afterwards is dropped', async () => {
  const { stream, log } = streamAndLog();
  stream.push(token('a'));
  await stream.return();
  await stream.return();
  stream.push(token('b'));
  assert.ok((await stream.next()).done);
  assert.equal(log, ['left']);
});

test('a reader that falls behind pauses its job, and resumes it when it has caught up', async () => {
  const { stream, log } = streamAndLog();
  for (let i = 0; i < 1023; i++) stream.push(token('x'));
  assert.equal(log, []);
  stream.push(token('x'));
  assert.equal(log, ['paused']);
  for (let i = 0; i < 1024 - 257; i++) await stream.next();
  assert.equal(log, ['paused']);
  await stream.next();
  assert.equal(log, ['paused', 'resumed']);
});

test('a stream has one reader at a time', async () => {
  const { stream } = streamAndLog();
  const first = stream.next();
  await stream.next().then(
    () => assert.unreachable(),
    (error) => assert.equal([error.code, /one reader/.test(error.message)], ['stream_consumed', true]),
  );
  stream.push(last('a'));
  stream.flush();
  assert.is((await first).value?.text, 'a');
});

test.run();
