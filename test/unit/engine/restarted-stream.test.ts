// Streams that are retried before their first token, with readers that leave at any time.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Token, TokenStream } from '../../../ts/engine/engine.js';
import { JobStream } from '../../../ts/engine/token-stream.js';
import { finishOf } from '../../support/fake-engine.js';

const test = suite('unit: a stream that is restarted');

const token = (text: string): Token => ({ id: 1, text });
const last = (text: string): Token => ({ id: 1, text, finish: finishOf(1, 1) });
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
const ended = new Error('the engine ended');

/** The engine's end of a stream. */
type Source = Pick<JobStream, 'push' | 'flush' | 'fail' | 'promptTokens' | 'progress'>;

/** Starts wait for `open`, and are tried twice. */
function relayed(whole = false) {
  const log: string[] = [];
  const opens: (() => void)[] = [];
  const start = async (failure?: unknown): Promise<void> => {
    if (failure !== undefined && (failure !== ended || opens.length === 2)) return stream.end(failure);
    log.push('start');
    await new Promise<void>((resolve) => opens.push(resolve));
    if (stream.ended) return;
    stream.attach({
      onEnd: (left) => log.push(left ? 'source left' : 'source ended'),
      onBacklog: () => {},
    });
  };
  const stream = new JobStream({
    whole,
    onBegin: () => log.push('begin'),
    onEnd: (complete) => log.push(complete ? 'well' : 'not well'),
    restart: start,
  });
  void start();
  const open = async (): Promise<Source> => {
    opens.at(-1)?.();
    await turn();
    return stream;
  };
  return { stream, log, open };
}

function give(source: Source, ...tokens: readonly Token[]): void {
  for (const each of tokens) source.push(each);
  source.flush();
}

function ends(log: readonly string[]): string[] {
  return log.filter((entry) => entry.endsWith('well'));
}

async function outcome(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => 'resolved',
    (error) => error,
  );
}

async function textsOf(stream: TokenStream): Promise<string> {
  let text = '';
  await stream.forEachBatch((tokens) => {
    for (const each of tokens) text += each.text;
  });
  return text;
}

test('tokens come through, token by token and by batches', async () => {
  for (const read of [textsOf, iterated]) {
    const { stream, log, open } = relayed();
    const text = read(stream);
    give(await open(), token('a'), token('b'));
    await turn();
    assert.ok(log.includes('begin'));
    assert.equal(ends(log), []);
    give(await open(), last('c'));
    assert.is(await text, 'abc');
    assert.equal(ends(log), ['well']);
  }
});

async function iterated(stream: TokenStream): Promise<string> {
  let text = '';
  for await (const each of stream) text += each.text;
  return text;
}

test('a job that fails before its first token is retried once', async () => {
  const { stream, log, open } = relayed();
  const read = textsOf(stream);
  (await open()).fail(ended);
  await turn();
  assert.is(log.filter((entry) => entry === 'start').length, 2);
  (await open()).fail(ended);
  assert.is(await outcome(read), ended);
  assert.equal(ends(log), ['not well']);
});

test('a job that fails after its first token is not retried', async () => {
  const { stream, log, open } = relayed();
  const read = textsOf(stream);
  const source = await open();
  give(source, token('a'));
  await turn();
  source.fail(ended);
  assert.is(await outcome(read), ended);
  assert.equal(log, ['start', 'begin', 'source ended', 'not well']);
});

test('a whole is started once more as long as nobody has seen any of it, and comes in one batch', async () => {
  const { stream, log, open } = relayed(true);
  const batches: string[] = [];
  const read = stream.forEachBatch((tokens) => void batches.push(tokens.map(({ text }) => text).join('')));
  const first = await open();
  give(first, token('x'));
  await turn();
  first.fail(ended);
  await turn();
  const second = await open();
  give(second, token('a'));
  await turn();
  give(second, last('b'));
  await read;
  assert.equal(batches, ['ab']);
  assert.equal(ends(log), ['well']);
});

test('an error of the reader ends the stream and is not retried', async () => {
  for (const whole of [false, true]) {
    const { stream, log, open } = relayed(whole);
    const read = stream.forEachBatch(() => {
      throw ended;
    });
    give(await open(), last('a'));
    assert.is(await outcome(read), ended);
    assert.is(log.filter((entry) => entry === 'start').length, 1);
    assert.equal(ends(log), ['well'], 'the engine was done');
  }
});

const MOMENTS: Record<string, (relay: ReturnType<typeof relayed>) => Promise<unknown>> = {
  'before there is an engine': async () => {},
  'while it waits for an engine and somebody reads': async ({ stream }) => {
    return { reading: stream.next() };
  },
  'before the first token': async ({ stream, open }) => {
    const reading = stream.next();
    await open();
    return { reading };
  },
  'between tokens': async ({ stream, open }) => {
    give(await open(), token('a'));
    await stream.next();
  },
  'in the middle of a batch': async ({ stream, open }) => {
    give(await open(), token('a'), token('b'));
    await stream.next();
  },
  'while it is started once more': async ({ stream, open }) => {
    const reading = stream.next();
    (await open()).fail(ended);
    await turn();
    return { reading };
  },
};

for (const [when, prepare] of Object.entries(MOMENTS)) {
  test(`a reader that leaves ${when} leaves nothing behind, and its request has not ended well`, async () => {
    const relay = relayed();
    const preparing = prepare(relay);
    await turn();
    await turn();
    await relay.stream.return();
    assert.equal(ends(relay.log), ['not well'], 'at once, whether or not there will be an engine');
    await relay.open();
    await turn();
    const { reading } = ((await preparing) ?? {}) as { reading?: Promise<IteratorResult<Token>> };
    if (reading) assert.is((await reading).done, true);
    assert.ok(relay.log.filter((entry) => entry === 'source left').length <= 1);
    assert.not(relay.log.includes('begin') && !relay.log.includes('source left'));
    assert.is((await relay.stream.next()).done, true);
    assert.equal(ends(relay.log), ['not well'], 'once');
  });
}

test('a reader of a whole that leaves is given nothing more', async () => {
  const { stream, log, open } = relayed(true);
  const batches: Token[][] = [];
  const read = stream.forEachBatch((tokens) => void batches.push(tokens));
  give(await open(), token('a'));
  await turn();
  await stream.return();
  await read;
  assert.equal(batches, []);
  assert.equal(ends(log), ['not well']);
});

test('a start that fails rejects whoever reads, and nobody else', async () => {
  const log: boolean[] = [];
  const failing = () => {
    const stream = new JobStream({ onEnd: (complete) => log.push(complete) });
    stream.end(ended);
    return stream;
  };
  const unread = failing();
  await unread.return();
  assert.equal(log, [false]);
  assert.is(await outcome(failing().next()), ended);
  assert.is(await outcome(failing().forEachBatch(() => {})), ended);
  assert.equal(log, [false, false, false]);
});

test('tells how far the prompt is where it was started last', async () => {
  const { stream, open } = relayed();
  const reading = stream.next();
  assert.is(stream.prefill, null);
  const first = await open();
  first.promptTokens = 10;
  first.progress(4);
  assert.equal(stream.prefill, { computed: 4, total: 10, cached: 4 });
  first.fail(ended);
  await turn();
  const second = await open();
  second.promptTokens = 10;
  assert.equal(stream.prefill, { computed: 0, total: 10 });
  give(second, last('a'));
  await reading;
});

test.run();
