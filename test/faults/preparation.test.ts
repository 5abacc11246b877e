// The preparation process is killed repeatedly in every way while sixteen clients stream. No stream is affected, and
// requests in preparation are retried, except the one that caused the end. CHASQUI_FAULT_KILLS: number of kills (5).
import { readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  enginesOf,
  Holdings,
  isAlive,
  openDescriptors,
  preparationsOf,
  untilPreparationOf,
} from '../support/engine-process.js';
import { until } from '../support/until.js';
import { ask, type Context, type Outcome, pidOf, serve } from './ask-server.js';

const KILLS = Number(process.env.CHASQUI_FAULT_KILLS ?? 5);
const STREAMS = 16;
const MORE_SLOTS = ['--parallel', '24'];
const ANSWERED = { status: 200, code: null };

/** A template with an endless loop, or with endless output. */
const TEMPLATE =
  "{% if messages[0].content.startswith('slow') %}" +
  '{% for a in range(100000) %}{% for b in range(100000) %}{% set c = a %}{% endfor %}{% endfor %}{% endif %}' +
  "{% if messages[0].content == 'large' %}{% set text = namespace(all='0123456789abcdef') %}" +
  '{% for each in range(16) %}{% set text.all = text.all + text.all %}{% endfor %}' +
  '{% for each in range(100000) %}{{ text.all }}{% endfor %}{% endif %}' +
  '{{ messages[0].content }}';

const SLOW = ['--chat-template', TEMPLATE, '--prepare-timeout', '100'];

/** Clients that stream one text after another until they are told to stop, all well. */
class Streams {
  readonly #outcomes: Outcome[] = [];
  readonly #clients: Promise<void>[];
  /** The last request of each client; resolves when it has been prepared, or failed. */
  readonly #preparing = new Map<number, Promise<unknown>>();
  #stopped = false;

  constructor(url: string) {
    this.#clients = Array.from({ length: STREAMS }, (_, at) => this.#stream(url, at));
    // If a test fails, its server stops and these requests fail too. Only the first failure is reported.
    for (const client of this.#clients) client.catch(() => {});
  }

  async #stream(url: string, at: number): Promise<void> {
    while (!this.#stopped) {
      const messages = [{ role: 'user', content: `Count from ${at} to ${at + 40}.` }];
      let onBegun = () => {};
      const begun = new Promise<void>((resolve) => {
        onBegun = resolve;
      });
      const outcome = ask(url, { messages, max_tokens: 80, ignore_eos: true, stream: true }, onBegun);
      this.#preparing.set(at, Promise.race([begun, outcome.catch(() => {})]));
      this.#outcomes.push(await outcome);
    }
  }

  /** Resolves when all requests that are in preparation now have left it. */
  async prepared(): Promise<void> {
    await Promise.all(this.#preparing.values());
  }

  get count(): number {
    return this.#outcomes.length;
  }

  async end(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#clients);
    for (const { status, code } of this.#outcomes) assert.equal({ status, code }, ANSWERED);
  }
}

let asked = 0;

/** A question that was never asked before, for what is asked again and again becomes suspect. */
async function askNew(url: string, body: object = {}): Promise<Pick<Outcome, 'status' | 'code'>> {
  asked += 1;
  const messages = [{ role: 'user', content: `Is ${asked} even?` }];
  const { status, code } = await ask(url, { messages, max_tokens: 2, ...body });
  return { status, code };
}

const test = suite<Context>('faults: the process that prepares requests');

test.before(async (context) => {
  Object.assign(context, await serve([...MORE_SLOTS, ...SLOW, '--step-timeout', '3']));
});
test.after(async ({ server }) => {
  server.process.kill('SIGKILL');
  await server.exited;
});

test('it has a vocabulary and no weights', async (context) => {
  const preparation = await untilPreparationOf(pidOf(context));
  const maps = readFileSync(`/proc/${preparation}/maps`, 'utf8');
  assert.match(maps, /chasqui\.node/);
  assert.not.match(maps, /\.gguf/);
});

for (const signal of ['SIGKILL', 'SIGSEGV'] as const) {
  test(`${KILLS} times ${signal} under ${STREAMS} streams`, async (context) => {
    const { url } = context;
    const streams = new Streams(url);
    const outcomes: Promise<Pick<Outcome, 'status' | 'code'>>[] = [];
    let asking = true;
    const clients = Array.from({ length: 4 }, async (_, at) => {
      while (asking) {
        const outcome = askNew(url, at % 2 === 0 ? { grammar: `root ::= "yes" | "no ${asked}"` } : {});
        outcomes.push(outcome);
        await outcome;
      }
    });
    await until(() => streams.count >= STREAMS, 'the first streams', 60_000);
    const engines = enginesOf(pidOf(context));
    const held = [new Holdings(pidOf(context)), new Holdings(engines[0] as number)] as const;
    const ofPreparations: number[] = [];
    let last: number | undefined;
    for (let kill = 0; kill < KILLS; kill += 1) {
      last = await untilPreparationOf(pidOf(context), last);
      const before = outcomes.length;
      ofPreparations.push(openDescriptors(last));
      process.kill(last, signal);
      await until(() => !isAlive(last as number), 'its end');
      assert.equal(await askNew(url), ANSWERED, 'ready again');
      // A request that is in preparation at two ends in a row is refused, so all must settle before the next kill.
      await Promise.all([...outcomes.slice(0, before), streams.prepared()]);
    }
    asking = false;
    await Promise.all(clients);
    await streams.end();
    for (const outcome of await Promise.all(outcomes)) assert.equal(outcome, ANSWERED);
    assert.equal(enginesOf(pidOf(context)), engines, 'the engine goes on');
    assert.is(preparationsOf(pidOf(context)).length, 1);
    await held[0].expectFlat('the server');
    await held[1].expectFlat('the engine');
    const [first = 0] = ofPreparations;
    assert.ok(Math.max(...ofPreparations) <= first + 4, `descriptors of what prepares: ${ofPreparations}`);
    const metrics = await (await fetch(`${url}/metrics`)).text();
    const [, restarts = ''] = /^chasqui_preparation_restarts_total\S* (\d+)$/m.exec(metrics) ?? [];
    assert.ok(Number(restarts) >= KILLS, restarts);
    assert.match(metrics, /^chasqui_engine_restarts_total\S* 0$/m);
  });
}

test('one that is stopped is ended, and what it had is prepared by the next', async (context) => {
  const { url, server } = context;
  const streams = new Streams(url);
  const preparation = await untilPreparationOf(pidOf(context));
  await until(() => streams.count >= 1, 'the first stream', 60_000);
  process.kill(preparation, 'SIGSTOP');
  const waiting = Array.from({ length: 4 }, () => askNew(url));
  for (const outcome of await Promise.all(waiting)) assert.equal(outcome, ANSWERED);
  assert.not(isAlive(preparation));
  assert.match(server.output.stderr, /what prepares requests ended: it gave no sign of life for \d+ s/);
  await streams.end();
});

for (const [signal, why] of [
  ['SIGSTOP', 'it gave no sign of life'],
  ['SIGSEGV', 'it was ended by SIGSEGV'],
] as const) {
  test(`what two processes met ${signal} with is refused, and others are answered meanwhile`, async (context) => {
    const { url } = context;
    const streams = new Streams(url);
    await until(() => streams.count >= 1, 'the first stream', 60_000);
    const slow = fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'chasqui-demo', messages: [{ role: 'user', content: `slow ${signal}` }] }),
    });
    let last: number | undefined;
    for (let end = 0; end < 2; end += 1) {
      last = await untilPreparationOf(pidOf(context), last);
      // It is being rendered by now, and those that met the last end with it have been prepared.
      assert.equal(await askNew(url), ANSWERED);
      await streams.prepared();
      process.kill(last, signal);
      const during = askNew(url);
      await until(() => !isAlive(last as number), 'its end', 60_000);
      assert.equal(await during, ANSWERED);
    }
    const reply = await slow;
    const { error } = (await reply.json()) as { error: { code: string; message: string } };
    assert.equal([reply.status, error.code], [400, 'prompt_refused']);
    assert.match(error.message, new RegExp(why));
    await streams.end();
  });
}

test('requests that take too much memory are refused, and others complete', async () => {
  const context = await serve([...MORE_SLOTS, ...SLOW, '--prepare-memory', '256']);
  try {
    const { url, server } = context;
    const streams = new Streams(url);
    await until(() => streams.count >= 1, 'the first stream', 60_000);
    const large = ask(url, { messages: [{ role: 'user', content: 'large' }] });
    const others = Array.from({ length: 8 }, () => askNew(url));
    const { status, code } = await large;
    assert.equal({ status, code }, { status: 400, code: 'prompt_refused' });
    for (const outcome of await Promise.all(others)) assert.equal(outcome, ANSWERED);
    assert.match(server.output.stderr, /what prepares requests ended: memory ran out/);
    await streams.end();
  } finally {
    context.server.process.kill('SIGKILL');
    await context.server.exited;
  }
});

/** The rest of the text is moved for each of a million replacements, in one call, which does not ask whether to go on. */
const ENDLESS =
  "{% set text = messages[0].content %}{{ (text ~ text ~ text ~ text ~ text ~ text ~ text ~ text).replace('@', '') }}";
const MANY = '@+'.repeat(200_000);

test('a loop that no check can end is ended with its process, and only its request is refused', async () => {
  const context = await serve([...MORE_SLOTS, '--chat-template', ENDLESS, '--prepare-timeout', '3']);
  try {
    const { url, server } = context;
    const streams = new Streams(url);
    await until(() => streams.count >= 1, 'the first stream', 60_000);
    const engines = enginesOf(pidOf(context));
    for (let end = 1; end <= 2; end += 1) {
      const preparation = await untilPreparationOf(pidOf(context));
      const endless = ask(url, { messages: [{ role: 'user', content: `${end} ${MANY}` }] });
      const others = Array.from({ length: 8 }, () => askNew(url));
      const [{ status, code }, ...outcomes] = await Promise.all([endless, ...others]);
      assert.equal({ status, code }, { status: 400, code: 'prepare_timeout' });
      for (const outcome of outcomes) assert.equal(outcome, ANSWERED);
      await until(() => !isAlive(preparation), 'the end of the process', 60_000);
      assert.equal(await askNew(url), ANSWERED);
      assert.is(server.output.stderr.split('a preparation did not end').length - 1, end);
    }
    await streams.end();
    assert.equal(enginesOf(pidOf(context)), engines, 'the engine goes on');
  } finally {
    context.server.process.kill('SIGKILL');
    await context.server.exited;
  }
});

test('a server that is stopped while it is stopped, or started again, ends well, and leaves no process', async () => {
  for (const signal of ['SIGSTOP', 'SIGKILL'] as const) {
    const context = await serve(['--shutdown-timeout', '2']);
    const { server } = context;
    const preparation = await untilPreparationOf(pidOf(context));
    process.kill(preparation, signal);
    await new Promise((resolve) => setTimeout(resolve, 200));
    const children = [...enginesOf(pidOf(context)), ...preparationsOf(pidOf(context))];
    server.process.kill('SIGTERM');
    assert.equal(await server.exited, { code: 0, signal: null }, server.output.stderr);
    for (const each of children) assert.not(isAlive(each));
  }
});

test.run();
