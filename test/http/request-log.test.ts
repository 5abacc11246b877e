import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { buildApp } from '../../ts/api/app.js';
import type { AppOptions } from '../../ts/api/context.js';
import type { LogOptions } from '../../ts/http/log-levels.js';
import { ManagedPool } from '../../ts/models/managed-pool.js';
import { runtime } from '../../ts/profiles/runtime.js';
import { CHAT_PATH, chatBody, closeApps, listeningApp, testApp } from '../support/build-app.js';
import { FakeEngine, type FakeScript, finishOf } from '../support/fake-engine.js';
import { sendChat } from '../support/raw-client.js';
import { until } from '../support/until.js';

const test = suite('http: the log');

test.after.each(closeApps);

const FINISH = finishOf(12, 2, { cachedTokens: 8, timings: { queuedMs: 1.04, promptMs: 2.06, predictedMs: 3 } });
const SCRIPT: FakeScript = { batches: () => [[{ text: 'secret completion' }], [{ text: '!', finish: FINISH }]] };

type Line = Record<string, unknown>;

function logging(log: Partial<LogOptions> = {}) {
  const lines: Line[] = [];
  const write = (line: string): void => {
    assert.match(line, /^\{[^\n]*\}\n$/);
    lines.push(JSON.parse(line));
  };
  const options: AppOptions = { log: { level: 'info', write, ...log } };
  return { lines, options };
}

/** Without what differs from run to run, which must be there. */
function stable(line: Line | undefined): Line {
  const { time, id, duration_ms, first_token_ms, ...rest } = line ?? {};
  assert.match(String(time), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  assert.match(String(id), /^req_[0-9a-f]{32}$/);
  assert.type(duration_ms, 'number');
  return rest;
}

for (const stream of [false, true]) {
  test(`a request is one line, ${stream ? 'streamed' : 'whole'}, without what was said`, async () => {
    const { lines, options } = logging();
    const reply = await testApp(SCRIPT, options).chat({ stream });
    assert.is(lines.length, 1);
    assert.is(lines[0]?.id, reply.headers['x-request-id']);
    assert.type(lines[0]?.first_token_ms, 'number');
    assert.equal(stable(lines[0]), {
      level: 'info',
      method: 'POST',
      path: CHAT_PATH,
      status: 200,
      model: 'fake',
      prompt_tokens: 12,
      cached_tokens: 8,
      completion_tokens: 2,
      finish_reason: 'stop',
      queue_ms: 1,
      prefill_ms: 2.1,
      decode_ms: 3,
      msg: 'request',
    });
  });
}

test('a refused request tells its code', async () => {
  const { lines, options } = logging();
  await testApp({}, options).chat({ temperature: 'a secret' });
  assert.equal(stable(lines[0]), {
    level: 'info',
    method: 'POST',
    path: CHAT_PATH,
    status: 400,
    error: 'invalid_type',
    msg: 'request',
  });
});

test('a stream that fails after it began tells its code too', async () => {
  const { lines, options } = logging();
  const { chat } = testApp({ ...SCRIPT, failAt: 1, failWith: new Error('broken') }, options);
  await chat({ stream: true });
  const request = lines.find(({ msg }) => msg === 'request');
  assert.equal([request?.status, request?.error, request?.completion_tokens], [200, 'internal_error', 1]);
});

for (const level of ['info', 'error'] as const) {
  test(`an error of the server has a line of its own, with its stack (${level})`, async () => {
    const { lines, options } = logging({ level });
    const app = buildApp(
      ManagedPool.of(new FakeEngine({ failAt: 0, failWith: new Error('broken') })),
      runtime,
      options,
    );
    const reply = await app.inject({ method: 'POST', url: CHAT_PATH, payload: chatBody() });
    assert.is(reply.statusCode, 500);
    const [error, request, ...others] = lines;
    assert.equal([error?.level, error?.msg, error?.id], ['error', 'request failed', reply.headers['x-request-id']]);
    const { message, stack } = (error as { err: { message: string; stack: string } }).err;
    assert.is(message, 'broken');
    assert.match(stack, /request-log\.test/);
    assert.equal(others, []);
    if (level === 'error') assert.is(request, undefined);
    else assert.equal([request?.level, request?.status, request?.error], ['warn', 500, 'internal_error']);
  });
}

test('a client that leaves has a line', async () => {
  const { lines, options } = logging();
  const { engine, url } = await listeningApp({ manual: true }, options);
  const socket = sendChat(url, { stream: true });
  await until(() => engine.running.size === 1, 'the job is submitted');
  socket.destroy();
  await until(() => lines.length === 1, 'the line is written');
  const { status, error, model } = lines[0] ?? {};
  assert.equal([status, error, model], [499, 'client_closed_request', 'fake']);
});

test('the trace of a request is told, if it is one', async () => {
  const { lines, options } = logging();
  const { post } = testApp(SCRIPT, options);
  const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
  const headers = { 'content-type': 'application/json' };
  await post(JSON.stringify(chatBody()), { ...headers, traceparent });
  await post(JSON.stringify(chatBody()), { ...headers, traceparent: 'secret' });
  assert.equal(
    lines.map((line) => line.traceparent),
    [traceparent, undefined],
  );
});

test('prompts are told only when they are asked for', async () => {
  const { lines, options } = logging({ prompts: true });
  await testApp(SCRIPT, options).chat();
  assert.is(lines[0]?.prompt, '<user>Hi');
});

test('neither queries nor endless paths get into it', async () => {
  const { lines, options } = logging();
  const { app } = testApp({}, options);
  await app.inject(`/nowhere${'x'.repeat(1000)}?key=secret`);
  await app.inject('/v1/models?key=secret');
  assert.equal(
    lines.map(({ path, status }) => [path, status]),
    [
      [`/nowhere${'x'.repeat(192)}`, 404],
      ['/v1/models', 200],
    ],
  );
});

test('probes and scrapes are logged at the level debug', async () => {
  const urls = ['/live', '/ready', '/health', '/metrics'];
  for (const [level, expected] of [
    ['info', []],
    ['debug', urls],
  ] as const) {
    const { lines, options } = logging({ level });
    const { app } = testApp({}, options);
    for (const url of urls) await app.inject(url);
    assert.equal(
      lines.map(({ path }) => path),
      expected,
    );
  }
});

test('without a log nothing is written, and the server serves', async () => {
  const { lines, options } = logging({ level: 'silent' });
  assert.is((await testApp(SCRIPT, options).chat()).statusCode, 200);
  assert.equal(lines, []);
});

test.run();
