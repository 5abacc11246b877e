// The supervised preparation with fake processes: pending calls when a process ends for any reason, and failures to
// start the next one.
import { mock } from 'node:test';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { untilAborted } from '../../../ts/engine/calls.js';
import type { RestartEvent } from '../../../ts/engine/child/restart-event.js';
import type { EngineEnd, StartedPreparation, StartPreparation } from '../../../ts/engine/child/start-child.js';
import { openPreparation } from '../../../ts/engine/child/supervised-preparation.js';
import type { AbortOptions, EngineState } from '../../../ts/engine/engine.js';
import { ChasquiError } from '../../../ts/errors.js';

const test = suite('unit: what prepares requests, in a process that is replaced');

/** Starts wait for seconds, and hangs are noticed after some. */
test.before.each(() => mock.timers.enable({ apis: ['setTimeout', 'setInterval'] }));
test.after.each(() => mock.timers.reset());

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

const CRASH: EngineEnd = {
  cause: 'crashed',
  message: 'it was ended by SIGSEGV',
  said: '',
  signal: 'SIGSEGV',
  exitCode: null,
};
const MEMORY: EngineEnd = { ...CRASH, cause: 'out_of_memory', message: 'memory ran out', signal: null, exitCode: 71 };
const KILL: EngineEnd = { ...CRASH, cause: 'killed', message: 'it was ended by SIGKILL', signal: 'SIGKILL' };
const STUCK: EngineEnd = { ...CRASH, cause: 'stuck', message: 'something did not end', signal: null, exitCode: 70 };
const CLOSED: EngineEnd = { ...KILL, cause: 'closed', message: 'closed' };

interface Waiting {
  text: string;
  resolve(tokens: Int32Array): void;
  reject(reason: unknown): void;
}

/** A process: it answers when the test says so. */
class FakeProcess {
  readonly asked: Waiting[] = [];
  readonly cancelled: string[] = [];
  readonly aborts: string[] = [];
  readonly beat = { stats: null, at: 0 };
  readonly ended: Promise<EngineEnd>;
  readonly #die: (end: EngineEnd) => void;

  constructor() {
    let die: (end: EngineEnd) => void = () => {};
    this.ended = new Promise((resolve) => {
      die = resolve;
    });
    this.#die = die;
  }

  async die(end: EngineEnd): Promise<void> {
    this.#die(end);
    await turn();
  }

  get texts(): string[] {
    return this.asked.map(({ text }) => text);
  }

  async answerAll(): Promise<void> {
    for (const { text, resolve } of this.asked.splice(0)) resolve(Int32Array.of(text.length));
    await turn();
  }

  started(pid: number): StartedPreparation {
    const { asked, beat, ended } = this;
    const core = {
      get waits() {
        return asked.length > 0;
      },
      call: (_method: string, [text = '']: string[], { signal }: AbortOptions = {}) => {
        const answer = new Promise<Int32Array>((resolve, reject) => void asked.push({ text, resolve, reject }));
        return untilAborted(answer, signal, () => void this.cancelled.push(text));
      },
      end: (reason: unknown) => {
        for (const { reject } of asked.splice(0)) reject(reason);
      },
      close: () => this.die(CLOSED),
    } as unknown as StartedPreparation['core'];
    return { pid, core, ended, beat, abort: (why) => void this.aborts.push(why) };
  }
}

async function opened(stepTimeoutMs?: number) {
  const processes: FakeProcess[] = [];
  const events: RestartEvent[] = [];
  const states: EngineState[] = [];
  const failures: Error[] = [];
  const start: StartPreparation = async (_path, _options, { signal }) => {
    signal?.throwIfAborted();
    const failure = failures.shift();
    if (failure) throw failure;
    processes.push(new FakeProcess());
    return (processes.at(-1) as FakeProcess).started(processes.length);
  };
  const hooks = {
    stepTimeoutMs,
    onRestart: (event: RestartEvent) => void events.push(event),
    onState: () => void states.push(preparation.state),
  };
  const preparation = await openPreparation('m.gguf', {}, hooks, start);
  const last = () => processes.at(-1) as FakeProcess;
  const tokenize = (text: string, signal?: AbortSignal) =>
    preparation.run([text], ({ core }) => core.call('tokenize', [text, false, false], { signal }), signal);
  /** The running one ends, and the next is there. */
  const replace = async (end: EngineEnd): Promise<void> => {
    await last().die(end);
    await turn();
  };
  return { preparation, processes, events, states, failures, last, tokenize, replace };
}

async function codeOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => 'resolved',
    (error) => (error instanceof ChasquiError ? error.code : error.message),
  );
}

for (const [why, end] of Object.entries({ 'somebody from outside': KILL, 'what never ends': STUCK })) {
  test(`what was asked of a process that was ended by ${why} is asked of the next, all at a time`, async () => {
    const { preparation, last, tokenize, replace, events, states } = await opened();
    const answers = ['a', 'bb', 'ccc'].map((text) => tokenize(text));
    await turn();
    await replace(end);
    assert.equal(last().texts, ['a', 'bb', 'ccc']);
    await last().answerAll();
    assert.equal((await Promise.all(answers)).map(Number), [1, 2, 3]);
    assert.equal([events.length, events[0]?.process, events[0]?.afterMs], [1, 'preparation', 0]);
    assert.equal(states, [], 'nobody notices');
    await preparation.close();
  });
}

test('kills from outside suspect no request', async () => {
  const { preparation, last, tokenize, replace } = await opened();
  for (let end = 0; end < 6; end += 1) {
    const answer = tokenize('a');
    await turn();
    await replace(end % 2 === 0 ? KILL : STUCK);
    await last().answerAll();
    assert.is(await codeOf(answer), 'resolved');
  }
  await preparation.close();
});

test('a request running at two crashes gets a retryable error', async () => {
  const { preparation, tokenize, replace } = await opened();
  const answer = codeOf(tokenize('a'));
  await turn();
  await replace(KILL);
  await replace(KILL);
  assert.is(await answer, 'engine_restarting');
  await preparation.close();
});

for (const [how, end] of Object.entries({ crashes: CRASH, 'takes too much memory': MEMORY })) {
  test(`after a process that ${how} all are tried one by one, and the one that is the reason is refused`, async () => {
    const { preparation, last, tokenize, replace } = await opened();
    const bad = tokenize('bad').catch((error) => error);
    const good = ['1', '22', '333'].map((text) => tokenize(text));
    await turn();
    assert.is(last().asked.length, 4);
    await replace(end);
    assert.equal(last().texts, ['bad'], 'one alone');
    const other = tokenize('new');
    await turn();
    assert.equal(last().texts, ['bad', 'new'], 'what comes meanwhile does not wait');
    await replace(end);
    const error = await bad;
    assert.is(error.code, 'prompt_refused');
    assert.match(error.message, new RegExp(`^The preparation process ended 2 times .*: ${end.message}\\.`));
    for (let each = 0; each < 4; each += 1) await last().answerAll();
    assert.equal((await Promise.all([...good, other])).map(Number), [1, 2, 3, 3]);
    assert.is(await codeOf(tokenize('bad')), 'prompt_refused');
    await preparation.close();
  });
}

test('the trial of a long request ends at the second sign of life', async () => {
  const { preparation, last, tokenize, replace } = await opened();
  const answers = ['slow', 'quick'].map((text) => tokenize(text));
  await turn();
  await replace(CRASH);
  assert.equal(last().texts, ['slow']);
  mock.timers.tick(60_000);
  await turn();
  assert.equal(last().texts, ['slow'], 'it gives no sign of life');
  for (let beat = 0; beat < 2; beat += 1) {
    last().beat.at += 1;
    mock.timers.tick(1000);
  }
  await turn();
  assert.equal(last().texts, ['slow', 'quick']);
  await last().answerAll();
  assert.equal((await Promise.all(answers)).map(Number), [4, 5]);
  await preparation.close();
});

for (const [stepTimeoutMs, seconds] of [
  [undefined, '1\\d'],
  [0, '1\\d'],
  [60_000, '1\\d'],
  [3000, '[34]'],
] as const)
  test(`a process without a sign of life is ended while calls are pending, step timeout ${stepTimeoutMs}`, async () => {
    const { preparation, last, tokenize } = await opened(stepTimeoutMs);
    const pass = (seconds: number) => {
      for (let second = 0; second < seconds; second += 1) mock.timers.tick(1000);
    };
    const { now } = performance;
    let clock = now.call(performance);
    performance.now = () => {
      clock += 500;
      return clock;
    };
    try {
      pass(60);
      assert.equal(last().aborts, [], 'nothing was asked');
      const answer = codeOf(tokenize('a'));
      await turn();
      for (let beat = 0; beat < 60; beat += 1) {
        last().beat.at += 1;
        pass(1);
      }
      assert.equal(last().aborts, [], 'it beats');
      pass(60);
      assert.ok(last().aborts.length > 0);
      assert.match(last().aborts[0] ?? '', new RegExp(`^it gave no sign of life for ${seconds} s$`));
      await last().answerAll();
      assert.is(await answer, 'resolved');
    } finally {
      performance.now = now;
    }
    await preparation.close();
  });

test('cancelled requests are neither retried nor suspected', async () => {
  const { preparation, last, tokenize, replace } = await opened();
  for (let end = 0; end < 3; end += 1) {
    const stop = new AbortController();
    const answer = codeOf(tokenize('a', stop.signal));
    await turn();
    stop.abort(new Error('gone'));
    assert.is(await answer, 'gone');
    assert.equal(last().cancelled, ['a']);
    await replace(CRASH);
    assert.equal(last().texts, []);
    // The next process is used, so that the next end is not its own.
    const other = tokenize(`${end}`);
    await turn();
    await last().answerAll();
    await other;
  }
  const again = tokenize('a');
  await turn();
  await last().answerAll();
  assert.is(await codeOf(again), 'resolved');
  await preparation.close();
});

test('while no process can be started all are told to come again, and later there is one', async () => {
  const { preparation, processes, failures, states, events, tokenize, last, replace } = await opened();
  const missing = () => new ChasquiError('model_file_missing', 'There is no file /home/somebody/m.gguf.');
  failures.push(missing(), missing());
  const waiting = tokenize('a').catch((error) => error);
  await turn();
  await replace(KILL);
  const error = await waiting;
  assert.is(error.code, 'engine_restarting');
  assert.not.match(error.message, /somebody/);
  assert.match(events.at(-1)?.end.said ?? '', /somebody/);
  assert.is(preparation.state, 'restarting');
  assert.is(preparation.pid, null);
  assert.is(await codeOf(tokenize('a')), 'engine_restarting');
  mock.timers.tick(1000);
  await turn();
  assert.is(processes.length, 1);
  assert.equal(
    events.map(({ afterMs }) => afterMs),
    [0, 1000, 2000],
  );
  mock.timers.tick(2000);
  await turn();
  assert.is(preparation.state, 'ready');
  assert.equal(states, ['restarting', 'ready']);
  const answer = tokenize('a');
  await turn();
  await last().answerAll();
  assert.is(await codeOf(answer), 'resolved');
  await preparation.close();
});

test('a process that ends before it has done anything is started again after a while', async () => {
  const { preparation, processes, events, last } = await opened();
  await last().die(CRASH);
  assert.equal([events[0]?.afterMs, processes.length], [1000, 1]);
  mock.timers.tick(1000);
  await turn();
  assert.is(processes.length, 2);
  await preparation.close();
});

for (const [when, prepare] of Object.entries<(context: Awaited<ReturnType<typeof opened>>) => Promise<void>>({
  'as it runs': async () => {},
  'as the next process starts': async ({ last }) => last().die(KILL),
  'while it waits for the next start': async ({ last }) => last().die(CRASH),
})) {
  test(`it is closed ${when}, twice, and nothing is started after it`, async () => {
    const context = await opened();
    const { preparation, processes, tokenize } = context;
    await prepare(context);
    await turn();
    const waiting = codeOf(tokenize('a'));
    await turn();
    const before = processes.length;
    await Promise.all([preparation.close(), preparation.close()]);
    mock.timers.tick(60_000);
    await turn();
    assert.ok(['engine_closed', 'engine_restarting'].includes(await waiting));
    assert.is(processes.length, before);
    assert.is(preparation.state, 'closed');
    assert.is(await codeOf(tokenize('a')), 'engine_closed');
  });
}

test.run();
