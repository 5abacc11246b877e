import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Token } from '../../../ts/engine/engine.js';
import { JobStream } from '../../../ts/engine/token-stream.js';
import { finishOf } from '../../support/fake-engine.js';

const test = suite('unit: token stream');

function streamAndLog(): { stream: JobStream; log: string[] } {
  const log: string[] = [];
  const stream = new JobStream({
    onEnd: (left) => log.push(left ? 'left' : 'ended'),
    onFinish: ({ reason }) => log.push(reason),
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

test('batches come as they were flushed', async () => {
  const { stream } = streamAndLog();
  const batches = stream.batches();
  const first = batches.next();
  stream.push(token('a'));
  stream.push(token('b'));
  stream.flush();
  assert.is((await first).value.length, 2);
  stream.push(last('c'));
  assert.is((await batches.next()).value.length, 1);
  assert.ok((await batches.next()).done);
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
    (error) => assert.match(error.message, 'one reader'),
  );
  stream.push(last('a'));
  stream.flush();
  assert.is((await first).value?.text, 'a');
});

test.run();
