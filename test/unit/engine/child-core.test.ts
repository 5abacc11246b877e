// The server's end of the pipe to an engine: calls settle for any end of the child, and pending calls keep the server
// alive.
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { deserialize } from 'node:v8';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ChildCore } from '../../../ts/engine/child/child-core.js';
import { encodeEvents, encodeFrame, FRAME, FrameReader } from '../../../ts/engine/child/frames.js';
import { toWire } from '../../../ts/engine/child/wire-error.js';
import type { CoreJob } from '../../../ts/engine/core.js';
import { JobStream } from '../../../ts/engine/token-stream.js';
import { ChasquiError } from '../../../ts/errors.js';
import { RECORD_FLAGS } from '../../../ts/native/addon.js';

const test = suite("unit: the server's end of the pipe to an engine");

type Call = [id: number, method: string, args: unknown[], owner?: number];

/** A pipe to the test. */
class FakePipe extends Duplex {
  readonly calls: Call[] = [];
  readonly #reader = new FrameReader((_kind, payload) => this.calls.push(deserialize(payload) as Call));

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.#reader.push(chunk);
    done();
  }

  unref(): void {}

  async answer(frame: Buffer): Promise<void> {
    this.push(frame);
    await turn();
  }
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

const opened: ChildCore[] = [];

/** Returns what `make` returns, and the interval that it sets. */
function withInterval<T>(make: () => T): [result: T, interval: NodeJS.Timeout] {
  const { setInterval: original } = globalThis;
  const intervals: NodeJS.Timeout[] = [];
  globalThis.setInterval = ((...args: Parameters<typeof original>) => {
    const interval = original(...args);
    intervals.push(interval);
    return interval;
  }) as typeof original;
  try {
    return [make(), intervals[0] as NodeJS.Timeout];
  } finally {
    globalThis.setInterval = original;
  }
}

function connected() {
  const pipe = new FakePipe();
  const log: string[] = [];
  const streams = new Map<number, JobStream>();
  const [core, keepAlive] = withInterval(
    () =>
      new ChildCore(pipe as unknown as Socket, streams, {
        close: async () => void log.push('close'),
        onGarbled: (what) => log.push(`garbled: ${what}`),
      }),
  );
  opened.push(core);
  /** Whether the core keeps this process alive. */
  const waits = () => keepAlive.hasRef() && Reflect.get(keepAlive, '_destroyed') !== true;
  /** As a model does: the stream of a job is known until it ends. */
  const submit = (id: number): JobStream => {
    const stream = new JobStream();
    streams.set(id, stream);
    stream.attach({
      onEnd: (left) => {
        streams.delete(id);
        if (left) core.cancel(id);
      },
      onBacklog: () => {},
    });
    core.submit(job(id), null);
    return stream;
  };
  return { pipe, core, log, submit, waits };
}

test.after(() => {
  for (const core of opened) core.end(new ChasquiError('engine_closed', 'The test is over.'));
});

async function outcome(promise: Promise<unknown>): Promise<unknown> {
  return promise.catch((error) => error);
}

const job = (id: number): CoreJob => ({ id, media: null }) as CoreJob;
const ended = new ChasquiError('engine_restarting', 'gone');

test('calls are answered by their numbers, in any order, with values and with errors', async () => {
  const { pipe, core, waits } = connected();
  assert.not(waits());
  const [first, second, third] = [
    core.run('stats', [], 1),
    core.run('tokenize', ['a', true, false], 1),
    outcome(core.run('render', ['{}'], 2)),
  ];
  assert.ok(waits());
  assert.equal(
    pipe.calls.map(([, ...call]) => call),
    [
      ['stats', [], 1],
      ['tokenize', ['a', true, false], 1],
      ['render', ['{}'], 2],
    ],
  );
  const [one, two, three] = pipe.calls.map(([id]) => id);
  const failure = toWire(new ChasquiError('template_failed', 'no', 'messages'));
  await pipe.answer(encodeFrame(FRAME.error, [three, failure]));
  await pipe.answer(encodeFrame(FRAME.result, [two, Int32Array.of(4)]));
  assert.ok(waits());
  await pipe.answer(encodeFrame(FRAME.result, [one, { active: 0 }]));
  assert.not(waits());
  assert.equal(await first, { active: 0 });
  assert.equal(await second, Int32Array.of(4));
  const error = (await third) as ChasquiError;
  assert.equal([error.code, error.message, error.param], ['template_failed', 'no', 'messages']);
});

test('when the process is gone all calls reject, those that come later too, and nothing is waited for', async () => {
  const { pipe, core, waits } = connected();
  core.submit(job(1), null);
  const tokens = core.run('tokenize', ['a', true, false], 1);
  const vectors = core.run('embed', [new Int32Array(1), new Int32Array(1)], 1);
  pipe.destroy();
  const late = core.run('render', ['{}'], 1);
  core.pause(1, true);
  core.cancel(1);
  core.end(ended);
  for (const call of [tokens, vectors, late, core.run('stats', [], 1)]) assert.is(await outcome(call), ended);
  assert.throws(
    () => core.submit(job(2), null),
    (error: unknown) => error === ended,
  );
  const before = pipe.calls.length;
  core.cancelOwner(1);
  assert.is(pipe.calls.length, before);
  assert.not(waits());
});

test('a pipe that breaks rejects nothing by itself, and ends nobody', async () => {
  const { pipe, core } = connected();
  const call = core.run('stats', [], 1);
  pipe.destroy(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }));
  await turn();
  core.submit(job(1), null);
  const late = core.run('stats', [], 1);
  await turn();
  core.end(ended);
  assert.is(await outcome(call), ended);
  assert.is(await outcome(late), ended);
});

test('the server waits for jobs until they end, fail or are cancelled', async () => {
  for (const over of [RECORD_FLAGS.finish, RECORD_FLAGS.failure, null]) {
    const { pipe, submit, waits } = connected();
    const stream = submit(7);
    await pipe.answer(encodeEvents(Int32Array.of(7, 1, 1, 0), 1, 'a', []));
    assert.ok(waits());
    assert.is((await stream.next()).value?.text, 'a');
    if (over === null) await stream.return();
    else await pipe.answer(encodeEvents(Int32Array.of(7, 1, 0, over), 1, '', [{}]));
    assert.ok(stream.ended);
    assert.not(waits());
  }
});

test('a call that is aborted rejects at once, and the server waits until the process has cancelled it', async () => {
  const { pipe, core, waits } = connected();
  const stop = new AbortController();
  const call = outcome(core.call('embed', [new Int32Array(1), new Int32Array(1)], { signal: stop.signal }));
  const [[id, , , owner]] = pipe.calls as [Call];
  stop.abort(ended);
  assert.is(await call, ended);
  assert.equal(pipe.calls.at(-1), [0, 'cancelOwner', [owner]]);
  assert.ok(waits());
  await pipe.answer(encodeFrame(FRAME.error, [id, toWire(new Error('cancelled'))]));
  assert.not(waits());
});

test('calls that cannot be serialised reject and are not pending', async () => {
  const { core, waits } = connected();
  const notData = (() => {}) as never;
  assert.instance(await outcome(core.run('render', notData, 1)), Error);
  assert.throws(() => core.submit({ ...job(1), stop: notData }, null));
  assert.not(waits());
});

test('an invalid frame ends the child process, not the server', async () => {
  for (const garbage of [
    Buffer.from([0, 0, 0, 0, 0]),
    Buffer.from([255, 255, 255, 255, 2]),
    Buffer.from([3, 0, 0, 0, FRAME.result, 1, 2]),
    Buffer.from([3, 0, 0, 0, FRAME.events, 1, 2]),
  ]) {
    const { pipe, core, log } = connected();
    const call = core.run('stats', [], 1);
    await pipe.answer(garbage);
    assert.is(log.length, 1);
    assert.match(log[0] ?? '', /^garbled: ./);
    assert.ok(pipe.destroyed);
    core.end(ended);
    assert.is(await outcome(call), ended);
  }
});

test('images and grammars stay there: they go back by their numbers', async () => {
  const { pipe, core } = connected();
  const asked = core.run('tokenizePrompt', ['a', []], 1);
  await pipe.answer(encodeFrame(FRAME.result, [1, { tokens: Int32Array.of(1), media: 42 }]));
  const compiled = core.run('compileGrammar', [{} as never, 2], 1);
  await pipe.answer(encodeFrame(FRAME.result, [2, [7, 8]]));
  const [, second] = await compiled;
  core.submit({ ...job(3), media: (await asked).media }, second ?? null);
  assert.equal(pipe.calls.at(-1), [0, 'submit', [{ id: 3, media: 42 }, 8]]);
});

test.run();
