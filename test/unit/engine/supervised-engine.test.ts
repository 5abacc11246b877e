// An engine that ends again and again, with processes that are played: what becomes of requests, of readers that leave, and
// of the engine that is closed at any moment.
import { mock } from 'node:test';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { EngineEnd, StartChild, StartedChild } from '../../../ts/engine/child/start-child.js';
import {
  type RestartEvent,
  SupervisedEngine,
  type SupervisorHooks,
} from '../../../ts/engine/child/supervised-engine.js';
import type { CoreJob } from '../../../ts/engine/core.js';
import { completeJob } from '../../../ts/engine/job.js';
import type { LoadOptions } from '../../../ts/engine/load-options.js';
import { untilAborted } from '../../../ts/engine/until-aborted.js';
import { ChasquiError } from '../../../ts/errors.js';
import { FIELDS_PER_RECORD, RECORD_FLAGS } from '../../../ts/native/addon.js';
import { FakeEngine, finishOf } from '../../support/fake-engine.js';

const test = suite('unit: an engine that is started again');

/** Starts wait for seconds. */
test.before(() => mock.timers.enable({ apis: ['setTimeout'] }));
test.after(() => mock.timers.reset());

async function pass(ms: number): Promise<void> {
  mock.timers.tick(ms);
  await turn();
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
const { model: info } = new FakeEngine();

const CRASH: EngineEnd = {
  cause: 'crashed',
  message: 'it was ended by SIGSEGV',
  said: '/home/somebody/llama.cpp:12: GGML_ASSERT(false) failed',
  signal: 'SIGSEGV',
  exitCode: null,
};
const KILL: EngineEnd = { ...CRASH, cause: 'killed', said: '', signal: 'SIGKILL' };
const CLOSED: EngineEnd = { ...CRASH, cause: 'closed', said: '', signal: null, exitCode: 0 };

/** A process: it computes what the test says. */
class FakeChild {
  readonly submitted: CoreJob[] = [];
  readonly cancelled: number[] = [];
  closed = 0;
  ready: () => void = () => {};
  failToLoad: (error: Error) => void = () => {};
  readonly loaded: Promise<void>;
  readonly ended: Promise<EngineEnd>;
  readonly options: LoadOptions;
  #end: (end: EngineEnd) => void = () => {};
  #waiting: ((error: unknown) => void)[] = [];
  #tell: Parameters<StartChild>[2]['onEvents'];

  constructor(options: LoadOptions, hooks: Parameters<StartChild>[2]) {
    this.options = options;
    this.#tell = hooks.onEvents;
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
    this.loaded = new Promise((resolve, reject) => {
      this.ready = resolve;
      this.failToLoad = reject;
    });
    this.loaded.catch(() => {});
  }

  async die(end: EngineEnd): Promise<void> {
    this.#end(end);
    await turn();
  }

  async give(job: CoreJob | undefined, isLast = false): Promise<void> {
    const flags = isLast ? RECORD_FLAGS.finish : 0;
    this.#tell(Int32Array.of(job?.id ?? -1, 1, 1, flags), FIELDS_PER_RECORD / 4, 'x', isLast ? [finishOf(1, 1)] : []);
    await turn();
  }

  started(placement: Partial<typeof info>): StartedChild {
    const asked = () => new Promise<never>((_resolve, reject) => void this.#waiting.push(reject));
    const core = {
      submit: (job: CoreJob) => void this.submitted.push(job),
      cancel: (id: number) => void this.cancelled.push(id),
      pause: () => {},
      cancelPreparation: () => {},
      cancelEmbed: () => {},
      tokenizePrompt: async (prompt: string) => ({ tokens: Int32Array.of(prompt.length), media: null }),
      tokenize: asked,
      embed: asked,
      stats: async () => ({ active: this.submitted.length }),
      end: (reason: unknown) => {
        for (const reject of this.#waiting.splice(0)) reject(reason);
      },
      close: async () => {
        this.closed += 1;
        await this.die(CLOSED);
      },
    } as unknown as StartedChild['core'];
    return {
      pid: 1,
      core,
      info: { ...info, ...placement },
      ended: this.ended,
      beat: { stats: null, at: 0 },
      abort: () => {},
    };
  }
}

async function opened(hooks: SupervisorHooks = {}, placement: Partial<typeof info> = {}) {
  const children: FakeChild[] = [];
  const events: RestartEvent[] = [];
  const start: StartChild = async (_path, options, childHooks) => {
    const { signal } = childHooks;
    signal?.throwIfAborted();
    const child = new FakeChild(options, childHooks);
    children.push(child);
    // The first is there at once.
    if (children.length === 1) child.ready();
    await untilAborted(child.loaded, signal, () => {});
    return child.started(placement);
  };
  const onRestart = (event: RestartEvent) => void events.push(event);
  const engine = await SupervisedEngine.open('m.gguf', {}, { onRestart, ...hooks }, start);
  const last = () => children.at(-1) as FakeChild;
  /** The running one ends, and the next is ready. */
  const restart = async (end: EngineEnd = KILL): Promise<void> => {
    await last().die(end);
    last().ready();
    await turn();
  };
  return { engine, children, events, last, restart };
}

async function codeOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => 'resolved',
    (error) => (error instanceof ChasquiError ? error.code : error.message),
  );
}

const ask = (prompt: string) => completeJob({ prompt });

test('what has no token yet is asked once more of the next engine, what has fails', async () => {
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

test('what clients are told names no paths; what the process said last is for the log', async () => {
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
  // Nobody stands in the way of the next trial.
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
  const call = codeOf(engine.tokenize('a'));
  await turn();
  await restart();
  await restart();
  assert.is(await call, 'engine_restarting');
  await engine.close();
});

test('what is under way when the engine is closed rejects, answered or not', async () => {
  const { engine } = await opened();
  const call = codeOf(engine.tokenize('a'));
  const stream = codeOf(engine.submit(ask('a')).next());
  await turn();
  await engine.close();
  assert.is(await call, 'engine_closed');
  assert.is(await stream, 'engine_closed');
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
  const waiting = engine.tokenize('a').catch((error) => error);
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
