// An engine that ends again and again, with processes that are played: what becomes of requests, of readers that leave, and
// of the engine that is closed at any moment.
import { mock } from 'node:test';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { SupervisedEngine } from '../../../ts/engine/child/supervised-engine.js';
import { completeJob } from '../../../ts/engine/job.js';
import { ChasquiError } from '../../../ts/errors.js';
import { CRASH, FakePreparation, KILL, opened, turn } from '../../support/played-processes.js';

const test = suite('unit: an engine that is started again');

/** Starts wait for seconds. */
test.before(() => mock.timers.enable({ apis: ['setTimeout'] }));
test.after(() => mock.timers.reset());

async function pass(ms: number): Promise<void> {
  mock.timers.tick(ms);
  await turn();
}

async function codeOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => 'resolved',
    (error) => (error instanceof ChasquiError ? error.code : error.message),
  );
}

const ask = (prompt: string) => completeJob({ prompt });

test('jobs without a token are retried on the next engine; others fail', async () => {
  const { engine, children, last, restart } = await opened();
  const [begun, waiting] = [engine.submit(ask('begun')), engine.submit(ask('waiting'))];
  const first = begun.next();
  const second = waiting.next();
  await turn();
  await last().give(last().submitted[0]);
  assert.is((await first).value?.text, 'x');
  const rest = codeOf(begun.next());
  await restart();
  assert.is(await rest, 'engine_restarting');
  assert.is(children.length, 2);
  assert.is(last().submitted.length, 1);
  await last().give(last().submitted[0], true);
  assert.is((await second).value?.text, 'x');
  await engine.close();
});

test('a request that was running at two kills from outside is computed when it is sent again', async () => {
  const { engine, last, restart } = await opened();
  const first = codeOf(engine.submit(ask('a')).next());
  await turn();
  for (let end = 0; end < 2; end += 1) await restart(KILL);
  assert.is(await first, 'engine_restarting');
  const again = codeOf(engine.submit(ask('a')).next());
  await turn();
  await last().give(last().submitted.at(-1), true);
  assert.is(await again, 'resolved');
  await engine.close();
});

test('the adapters in use are those of the next engine as well', async () => {
  const { engine, last, restart } = await opened();
  engine.useAdapters([{ adapter: 1, scale: 0.5 }]);
  await restart();
  assert.equal(engine.model.adaptersInUse, [{ adapter: 1, scale: 0.5 }]);
  const running = [engine.submit(ask('a')), engine.submit({ ...ask('b'), adapters: [] })];
  const first = running.map((stream) => codeOf(stream.next()));
  await turn();
  assert.equal(
    last().submitted.map(({ adapters, adapterScales }) => [[...adapters], [...adapterScales]]),
    [
      [[1], [0.5]],
      [[], []],
    ],
  );
  await engine.close();
  await Promise.all(first);
});

test('errors for clients contain no paths; the log has the last words of the process', async () => {
  const { engine, events, last, restart } = await opened();
  const running = engine.submit(ask('a'));
  const first = running.next();
  await turn();
  await last().give(last().submitted[0]);
  await first;
  const rest = running.next().catch((error) => error);
  await restart(CRASH);
  assert.not.match((await rest).message, /somebody/);
  assert.match(events[0]?.end.said ?? '', /somebody/);
  await engine.close();
});

test('those tried once more wait for one another; the one that ends the engine again takes none of them with it', async () => {
  const { engine, last } = await opened();
  const bad = engine.submit(ask('bad'));
  const good = ['1', '2', '3'].map((prompt) => engine.submit(ask(prompt)));
  const badEnd = codeOf(bad.next());
  const answers = good.map((stream) => stream.next());
  await turn();
  assert.is(last().submitted.length, 4);
  await last().die(CRASH);
  last().ready();
  await turn();
  assert.equal(
    last().submitted.map(({ prompt }) => prompt[0]),
    ['bad'.length],
    'one alone',
  );
  await last().die(CRASH);
  assert.is(await badEnd, 'engine_restarting');
  // The next start waits a second.
  await pass(1200);
  last().ready();
  for (const answer of answers) {
    await turn();
    assert.is(last().submitted.length, 1);
    await last().give(last().submitted.pop(), true);
    assert.is((await answer).value?.text, 'x');
  }
  assert.is(await codeOf(engine.submit(ask('bad')).next()), 'prompt_refused');
  const again = engine.submit(ask('1')).next();
  await turn();
  await last().give(last().submitted.pop(), true);
  assert.is((await again).value?.text, 'x');
  await engine.close();
});

test('a reader that leaves while the engine is started, or while it waits for its trial, leaves nothing running', async () => {
  const { engine, last } = await opened();
  const streams = ['a', 'b', 'c'].map((prompt) => engine.submit(ask(prompt)));
  const [first, ...others] = streams.map((stream) => stream.next());
  await turn();
  await last().die(KILL);
  const [a, b, c] = streams;
  await b?.return();
  last().ready();
  await turn();
  await c?.return();
  await last().give(last().submitted[0], true);
  assert.is((await first)?.value?.text, 'x');
  for (const other of others) assert.is((await other).done, true);
  await turn();
  assert.is(last().submitted.length, 1);
  await a?.return();
  // The next retry runs immediately.
  const next = engine.submit(ask('d')).next();
  await turn();
  await last().die(KILL);
  last().ready();
  await turn();
  await last().give(last().submitted[0], true);
  assert.is((await next).value?.text, 'x');
  await engine.close();
});

test('a request whose signal is aborted rejects at once, and was not there at the next end, though nobody reads it', async () => {
  const { engine, last, restart } = await opened();
  for (let end = 0; end < 3; end += 1) {
    const stop = new AbortController();
    const unread = engine.submit(ask('a'), { signal: stop.signal });
    await turn();
    stop.abort(new Error('gone'));
    assert.is(await codeOf(unread.next()), 'gone');
    const stopped = new AbortController();
    engine.submit(ask('b'), { signal: stopped.signal });
    await turn();
    stopped.abort(new Error('gone'));
    await last().die(KILL);
    assert.is(await codeOf(engine.tokenize('late', { signal: AbortSignal.abort(new Error('gone')) })), 'gone');
    last().ready();
    await turn();
  }
  await restart(CRASH);
  await restart({ ...CRASH, cause: 'killed' });
  for (const prompt of ['a', 'b']) {
    const answer = engine.submit(ask(prompt)).next();
    await turn();
    await last().give(last().submitted.at(-1), true);
    assert.is((await answer).value?.text, 'x');
  }
  await engine.close();
});

test('calls without parts are asked once more, and not twice', async () => {
  const { engine, restart } = await opened();
  const call = codeOf(engine.embed([[1]]));
  await turn();
  await restart();
  await restart();
  assert.is(await call, 'engine_restarting');
  await engine.close();
});

test('close() rejects all running jobs', async () => {
  const { engine } = await opened();
  const call = codeOf(engine.embed([[1]]));
  const stream = codeOf(engine.submit(ask('a')).next());
  await turn();
  await engine.close();
  assert.is(await call, 'engine_closed');
  assert.is(await stream, 'engine_closed');
});

test('requests reject with the reason of close(), before and after', async () => {
  const { engine } = await opened();
  const asked = [engine.embed([[1]]), engine.submit(ask('a')).next()].map(codeOf);
  await turn();
  await engine.close(new ChasquiError('request_cancelled', 'It was unloaded.'));
  const later = [engine.embed([[1]]), engine.tokenize('a'), engine.submit(ask('a')).next(), engine.stats()].map(codeOf);
  const codes = await Promise.all([...asked, ...later]);
  assert.equal(codes, Array(6).fill('request_cancelled'));
});

const MOMENTS: Record<string, (context: Awaited<ReturnType<typeof opened>>) => Promise<void>> = {
  'as it runs': async () => {},
  'while it loads again': async ({ last }) => last().die(KILL),
  'as it has just been loaded again': async ({ last }) => {
    await last().die(KILL);
    last().ready();
  },
  'while it waits for its next start': async ({ last, restart }) => {
    await restart(CRASH);
    await last().die(CRASH);
  },
};

for (const [when, prepare] of Object.entries(MOMENTS)) {
  test(`it is closed ${when}, twice, and nothing is started after it`, async () => {
    const context = await opened();
    const { engine, children } = context;
    await prepare(context);
    const waiting = codeOf(engine.submit(ask('a')).next());
    const before = children.length;
    await Promise.all([engine.close(), engine.close()]);
    await turn();
    assert.is(engine.state, 'closed');
    assert.is(await waiting, 'engine_closed');
    assert.is(children.length, before);
    assert.ok(children.every(({ closed }) => closed <= 1));
    assert.is(await codeOf(engine.stats()), 'engine_closed');
    assert.is(await codeOf(engine.tokenize('a')), 'engine_closed');
  });
}

test('a start that fails is told, and the last one gives the engine up, without a word of paths to clients', async () => {
  const { engine, events, last } = await opened();
  const waiting = engine.embed([[1]]).catch((error) => error);
  await turn();
  await last().die(CRASH);
  const failure = new ChasquiError('model_file_missing', 'There is no file /home/somebody/m.gguf.');
  for (let fails = 1; fails <= 4; fails += 1) {
    const { length } = events;
    last().failToLoad(failure);
    await turn();
    assert.is(events.length, length + 1, `start ${fails}`);
    assert.match(events.at(-1)?.end.said ?? '', /somebody/);
    const afterMs = events.at(-1)?.afterMs ?? 0;
    await pass(afterMs);
  }
  assert.is(events.at(-1)?.afterMs, null);
  assert.is(engine.state, 'failed');
  const error = await waiting;
  assert.is(error.code, 'engine_failed');
  assert.not.match(error.message, /somebody/);
  assert.is(engine.processes.engine, null);
  assert.is(await codeOf(engine.submit(ask('a')).next()), 'engine_failed');
  await engine.close();
});

test('where a GPU was used the CPU is tried before the engine is given up, which is told as another start', async () => {
  const { engine, events, children, last } = await opened(
    {},
    { placement: { devices: ['GPU'], gpuLayers: 2, layers: 2 } },
  );
  for (let end = 0; end < 5; end += 1) {
    await last().die(CRASH);
    await pass(events.at(-1)?.afterMs ?? 0);
    last().ready();
    await turn();
  }
  assert.is(events.at(-1)?.afterMs, 0);
  assert.is(children.at(-1)?.options.backend, 'cpu');
  assert.is(engine.state, 'ready');
  await engine.close();
});

test('the preparation process survives restarts of the engine, and is closed with it', async () => {
  const { engine, events, preparations, restart } = await opened();
  await restart(CRASH);
  await restart();
  assert.is(preparations.length, 1);
  assert.equal(await engine.tokenize('abc'), Int32Array.of(3));
  preparations[0]?.die(KILL);
  await turn();
  assert.equal(
    events.map(({ process }) => process),
    ['engine', 'engine', 'preparation'],
  );
  assert.is(preparations.length, 2);
  assert.is(engine.state, 'ready');
  assert.is(engine.processes.preparation, 2);
  await engine.close();
  assert.equal(
    preparations.map(({ closed }) => closed),
    [0, 1],
  );
});

test('where the model cannot be loaded, what was to prepare its requests is closed', async () => {
  const preparation = new FakePreparation();
  const failure = new ChasquiError('model_file_missing', 'There is no file.');
  const opening = SupervisedEngine.open(
    'm.gguf',
    {},
    {},
    {
      engine: () => Promise.reject(failure),
      preparation: async () => preparation.started(),
    },
  );
  assert.is(await codeOf(opening), 'model_file_missing');
  await turn();
  assert.is(preparation.closed, 1);
});

test('restarts leave nothing at the signal that ends them', async () => {
  const warnings: string[] = [];
  const onWarning = ({ name }: Error) => void warnings.push(name);
  process.on('warning', onWarning);
  const { engine, restart } = await opened();
  for (let end = 0; end < 30; end += 1) await restart();
  await engine.close();
  await turn();
  process.off('warning', onWarning);
  assert.not(warnings.includes('MaxListenersExceededWarning'));
});

test.run();
