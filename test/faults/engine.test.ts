// The process of an engine is ended in every way, again and again, while sixteen clients stream: the server lives, each
// request ends in an answer or an error that says what to do, and soon the next one is answered.
// CHASQUI_FAULT_KILLS: how often (20).
import { readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  enginesOf,
  isAlive,
  openDescriptors,
  preparationsOf,
  residentMiB,
  untilEngineOf,
  untilPreparationOf,
} from '../support/engine-process.js';
import { until } from '../support/until.js';
import { ask, type Context, type Outcome, pidOf, question, serve } from './ask-server.js';

const KILLS = Number(process.env.CHASQUI_FAULT_KILLS ?? 20);
const CLIENTS = 16;

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

test(`${KILLS} ends of the engine under ${CLIENTS} clients`, async (context) => {
  const outcomes: Outcome[] = [];
  let asking = true;
  let asked = 0;
  const client = async () => {
    while (asking) outcomes.push(await ask(context.url, question(asked++)));
  };
  const clients = Array.from({ length: CLIENTS }, client);
  const ready = async () =>
    (await ask(context.url, { messages: [{ role: 'user', content: 'Hi' }], max_tokens: 1 })).code;
  await until(() => outcomes.length >= CLIENTS, 'the first answers', 60_000);
  const memory = residentMiB(pidOf(context));
  const descriptors = openDescriptors(pidOf(context));
  let last: number | undefined;
  for (let kill = 0; kill < KILLS; kill += 1) {
    last = await untilEngineOf(pidOf(context), last);
    await until(async () => (await ready()) === null, 'an answer', 60_000);
    process.kill(last, 'SIGKILL');
    await until(() => !isAlive(last as number), 'its end');
  }
  await until(async () => (await ready()) === null, 'an answer after the last end', 60_000);
  asking = false;
  await Promise.all(clients);
  assert.is(context.server.process.exitCode, null);
  const codes = new Map<string | null, number>();
  for (const { code } of outcomes) codes.set(code, (codes.get(code) ?? 0) + 1);
  console.log(`    ${KILLS} ends: ${[...codes].map(([code, count]) => `${count} ${code ?? 'answered'}`).join(', ')}`);
  assert.equal(
    [...codes.keys()].filter((code) => code !== null && code !== 'engine_restarting'),
    [],
  );
  assert.ok((codes.get(null) ?? 0) > 0);
  await until(() => openDescriptors(pidOf(context)) <= descriptors + 8, 'descriptors as before');
  assert.ok(residentMiB(pidOf(context)) < memory + 100, `${residentMiB(pidOf(context))} MiB, ${memory} before`);
});

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
    const context = await serve(['--shutdown-timeout', '2']);
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
    await new Promise((resolve) => setTimeout(resolve, 6000));
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
    await until(() => !children.some(isAlive), 'their end', 1000);
  });
}

test.run();
