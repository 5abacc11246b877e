// The process of an engine is ended in every way, again and again, while sixteen clients stream: the server lives, each
// request ends in an answer or an error that says what to do, and soon the next one is answered.
// CHASQUI_FAULT_KILLS: number of kills (5).
import { readFileSync } from 'node:fs';
import OpenAI from 'openai';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { startCliInShell, untilWritten } from '../support/child.js';
import {
  enginesOf,
  Holdings,
  isAlive,
  openDescriptors,
  preparationsOf,
  untilEngineOf,
  untilPreparationOf,
} from '../support/engine-process.js';
import { until } from '../support/until.js';
import { ask, type Context, type Outcome, pidOf, question, serve } from './ask-server.js';

const KILLS = Number(process.env.CHASQUI_FAULT_KILLS ?? 5);
const CLIENTS = 16;

/** Ask one question after another until they are told to leave. */
class Clients {
  readonly outcomes: Outcome[] = [];
  readonly #clients: Promise<void>[];
  #asked = 0;
  #isLeaving = false;

  constructor(url: string) {
    this.#clients = Array.from({ length: CLIENTS }, async () => {
      while (!this.#isLeaving) this.outcomes.push(await ask(url, question(this.#asked++)));
    });
    // If a test fails, its server stops and these requests fail too. Only the first failure is reported.
    for (const client of this.#clients) client.catch(() => {});
  }

  async leave(): Promise<void> {
    this.#isLeaving = true;
    await Promise.all(this.#clients);
  }

  /** How often each code came; `null`: answered in full. */
  codes(): Map<string | null, number> {
    const codes = new Map<string | null, number>();
    for (const { code } of this.outcomes) codes.set(code, (codes.get(code) ?? 0) + 1);
    return codes;
  }
}

async function untilAnswered(url: string): Promise<void> {
  const hi = { messages: [{ role: 'user', content: 'Hi' }], max_tokens: 1 };
  await until(async () => (await ask(url, hi)).code === null, 'an answer', 60_000);
}

async function untilRunning(url: string): Promise<void> {
  const running = async () =>
    /^chasqui_num_requests_running\S* ([1-9])/m.test(await (await fetch(`${url}/metrics`)).text());
  await until(running, 'a request is being computed', 60_000);
}

const test = suite<Context>('faults: the process of an engine');

test.before(async (context) => {
  Object.assign(context, await serve());
});
test.after(async ({ server }) => {
  server.process.kill('SIGKILL');
  await server.exited;
});

test('the server loads no llama.cpp, and has a process for its engine and one for preparing', (context) => {
  const maps = readFileSync(`/proc/${pidOf(context)}/maps`, 'utf8');
  assert.not.match(maps, /chasqui\.node|libggml/);
  assert.is(enginesOf(pidOf(context)).length, 1);
  assert.is(preparationsOf(pidOf(context)).length, 1);
});

test('a request without a byte sent is asked once more, and answered', async (context) => {
  const engine = await untilEngineOf(pidOf(context));
  process.kill(engine, 'SIGSTOP');
  const asked = ask(context.url, { messages: [{ role: 'user', content: 'Hi' }], max_tokens: 5 });
  await new Promise((resolve) => setTimeout(resolve, 200));
  process.kill(engine, 'SIGKILL');
  assert.equal(await asked, { status: 200, code: null, retryAfter: null });
});

/** The demo model computes a thousand in 80 ms. */
const LONG_TOKENS = 6000;

test('one whose engine ended twice is told when to come again, which the client of OpenAI does by itself', async () => {
  const context = await serve(['--parallel', '2', '--ctx-size', String(LONG_TOKENS + 1000)]);
  const replies: [status: number, retryAfter: string | null][] = [];
  const client = new OpenAI({
    baseURL: `${context.url}/v1`,
    apiKey: 'none',
    fetch: async (...request) => {
      const reply = await fetch(...request);
      replies.push([reply.status, reply.headers.get('retry-after')]);
      return reply;
    },
  });
  try {
    // It is computed while the engine is killed: nothing of a whole reply is sent before its end.
    const asked = client.chat.completions.create({
      model: 'chasqui-demo',
      messages: [{ role: 'user', content: 'Count to a thousand' }],
      max_tokens: LONG_TOKENS,
      ...{ ignore_eos: true },
    });
    let last: number | undefined;
    for (let end = 0; end < 2; end += 1) {
      last = await untilEngineOf(pidOf(context), last);
      await untilAnswered(context.url);
      await untilRunning(context.url);
      process.kill(last, 'SIGKILL');
    }
    const { usage } = await asked;
    assert.is(usage?.completion_tokens, LONG_TOKENS);
    assert.equal(
      replies.map(([status]) => status),
      [503, 200],
    );
    assert.match(replies[0]?.[1] ?? '', /^[1-9]\d*$/);
  } finally {
    context.server.process.kill('SIGKILL');
    await context.server.exited;
  }
});

/** By what it ends, how often, and the options of the server. A server gives up an engine that fails five times by itself. */
const ENDS: [signal: 'SIGKILL' | 'SIGSEGV' | 'SIGSTOP', times: number, args: readonly string[]][] = [
  ['SIGKILL', KILLS, []],
  ['SIGSEGV', 4, []],
  ['SIGSTOP', 4, ['--step-timeout', '2']],
];

for (const [signal, times, args] of ENDS) {
  test(`${times} ends of the engine by ${signal} under ${CLIENTS} clients`, async () => {
    const context = await serve(args);
    const server = pidOf(context);
    try {
      const clients = new Clients(context.url);
      await until(() => clients.outcomes.length >= CLIENTS, 'the first answers', 60_000);
      const preparation = await untilPreparationOf(server);
      const held = [new Holdings(server), new Holdings(preparation)] as const;
      const ofEngines: number[] = [];
      let last: number | undefined;
      for (let end = 0; end < times; end += 1) {
        last = await untilEngineOf(server, last);
        await untilAnswered(context.url);
        ofEngines.push(openDescriptors(last));
        process.kill(last, signal);
        await until(() => !isAlive(last as number), 'its end', 60_000);
      }
      await untilAnswered(context.url);
      await clients.leave();
      assert.is(context.server.process.exitCode, null);
      const codes = clients.codes();
      console.log(`    ${[...codes].map(([code, count]) => `${count} ${code ?? 'answered'}`).join(', ')}`);
      assert.equal(
        [...codes.keys()].filter((code) => code !== null && code !== 'engine_restarting'),
        [],
      );
      assert.ok((codes.get(null) ?? 0) > 0);
      assert.is(await untilPreparationOf(server), preparation, 'what prepares goes on');
      await held[0].expectFlat('the server');
      await held[1].expectFlat('what prepares');
      // Each engine begins with as much as the first, whatever its server has open by then.
      assert.ok(Math.max(...ofEngines) <= (ofEngines[0] as number) + 4, `descriptors of engines: ${ofEngines}`);
    } finally {
      context.server.process.kill('SIGKILL');
      await context.server.exited;
    }
  });
}

for (const args of [[], ['--core-dumps']]) {
  test(`core files ${args.length === 0 ? 'are not left' : 'may be asked for'}`, async () => {
    const script = 'ulimit -S -c "$(ulimit -H -c)" && exec "$@"';
    const server = startCliInShell(script, ['serve', '--port', '0', ...args]);
    try {
      await untilWritten(server, /^Serving /m);
      const pid = pidOf({ server });
      const allowed = args.length === 0 ? '0' : coreFileSize(pid);
      assert.is(coreFileSize(await untilEngineOf(pid)), allowed);
      assert.is(coreFileSize(await untilPreparationOf(pid)), allowed);
    } finally {
      server.process.kill('SIGKILL');
      await server.exited;
    }
  });
}

/** Core file size limit of the process. */
function coreFileSize(pid: number): string | undefined {
  return /^Max core file size +(\S+)/m.exec(readFileSync(`/proc/${pid}/limits`, 'utf8'))?.[1];
}

for (const signal of ['SIGSEGV', 'SIGABRT', 'SIGTERM', 'SIGINT'] as const) {
  test(`after ${signal} to its engine the server answers`, async (context) => {
    const engine = await untilEngineOf(pidOf(context));
    process.kill(engine, signal);
    // A terminal sends the last two to all of its processes; the server decides what becomes of its engine.
    const survives = signal === 'SIGTERM' || signal === 'SIGINT';
    if (!survives) await untilEngineOf(pidOf(context), engine);
    const { code } = await ask(context.url, { messages: [{ role: 'user', content: signal }], max_tokens: 3 });
    assert.is(code, null);
    assert.is(isAlive(engine), survives);
  });
}

test('an engine that hangs is ended and started again', async () => {
  const context = await serve(['--step-timeout', '2']);
  try {
    const engine = await untilEngineOf(pidOf(context));
    process.kill(engine, 'SIGSTOP');
    const { code } = await ask(context.url, { messages: [{ role: 'user', content: 'Hi' }], max_tokens: 3 });
    assert.is(code, null);
    assert.not(isAlive(engine));
    assert.match(context.server.output.stderr, /the engine ended: it gave no sign of life for \d+ s/);
  } finally {
    context.server.process.kill('SIGKILL');
    await context.server.exited;
  }
});

test('an engine that ends again and again through its own fault is given up, and says why', async () => {
  const context = await serve();
  try {
    let last: number | undefined;
    for (let end = 0; end < 5; end += 1) {
      last = await untilEngineOf(pidOf(context), last);
      process.kill(last, 'SIGSEGV');
      await until(() => !isAlive(last as number), 'its end');
    }
    const { status, code } = await ask(context.url, { messages: [{ role: 'user', content: 'Hi' }], max_tokens: 3 });
    assert.equal({ status, code }, { status: 503, code: 'engine_failed' });
    assert.equal(enginesOf(pidOf(context)), []);
  } finally {
    context.server.process.kill('SIGKILL');
    await context.server.exited;
  }
});

const STOPPED_WHILE: Record<string, (engine: number) => void> = {
  'its engine is stopped': (engine) => process.kill(engine, 'SIGSTOP'),
  'its engine is started again': (engine) => process.kill(engine, 'SIGKILL'),
  'its engine waits for its next start': (engine) => process.kill(engine, 'SIGSEGV'),
};

for (const [when, harm] of Object.entries(STOPPED_WHILE)) {
  test(`a server that is stopped while ${when} ends well, and leaves no process`, async () => {
    const context = await serve(['--shutdown-timeout', '2'], {});
    const { server, url } = context;
    const first = await untilEngineOf(pidOf(context));
    process.kill(first, 'SIGSEGV');
    const engine = await untilEngineOf(pidOf(context), first);
    const asked = ask(url, question(1)).catch(() => null);
    harm(engine);
    await new Promise((resolve) => setTimeout(resolve, 300));
    const children = [...enginesOf(pidOf(context)), ...preparationsOf(pidOf(context))];
    server.process.kill('SIGTERM');
    assert.equal(await server.exited, { code: 0, signal: null }, server.output.stderr);
    await asked;
    for (const each of children) assert.not(isAlive(each));
  });
}

test('an engine that was stopped together with its server, as by Ctrl-Z, goes on where it was', async () => {
  const context = await serve(['--step-timeout', '2']);
  try {
    const engine = await untilEngineOf(pidOf(context));
    const asked = Array.from({ length: 8 }, (_, at) => ask(context.url, question(at)));
    await new Promise((resolve) => setTimeout(resolve, 500));
    for (const pid of [pidOf(context), engine]) process.kill(pid, 'SIGSTOP');
    // Longer than the limit of a step.
    await new Promise((resolve) => setTimeout(resolve, 3000));
    for (const pid of [pidOf(context), engine]) process.kill(pid, 'SIGCONT');
    for (const { code } of await Promise.all(asked)) assert.is(code, null);
    assert.ok(isAlive(engine), context.server.output.stderr);
  } finally {
    context.server.process.kill('SIGKILL');
    await context.server.exited;
  }
});

for (const state of ['running', 'stopped'] as const) {
  test(`the engine and its preparation end with their server, ${state}`, async () => {
    const { server, url } = await serve();
    const children = [await untilEngineOf(pidOf({ server })), await untilPreparationOf(pidOf({ server }))];
    void ask(url, question(1)).catch(() => {});
    if (state === 'stopped') for (const child of children) process.kill(child, 'SIGSTOP');
    server.process.kill('SIGKILL');
    await server.exited;
    await until(() => !children.some(isAlive), 'their end');
  });
}

test.run();
