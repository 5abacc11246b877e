import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { buildApp } from '../../ts/api/app.js';
import type { AppOptions } from '../../ts/api/context.js';
import type { AbortOptions, Engine } from '../../ts/engine/engine.js';
import { ChasquiError } from '../../ts/errors.js';
import { ManagedPool } from '../../ts/models/managed-pool.js';
import type { AcquireOptions, Lease, ModelPool } from '../../ts/models/pool.js';
import { runtime } from '../../ts/profiles/runtime.js';
import { serverless } from '../../ts/profiles/serverless.js';
import { CHAT_PATH, chatBody } from '../support/build-app.js';
import { expectError } from '../support/expect-error.js';
import { FakeEngine } from '../support/fake-engine.js';
import { sourceOf } from '../support/fake-source.js';
import { DEPLOYMENT } from '../support/modes.js';
import { until } from '../support/until.js';

const test = suite('http: while the model is loaded');

/** An app with a model that is 40 % loaded. */
function loadingApp(profile = runtime, options: AppOptions = {}) {
  let loaded: (engine: Engine) => void = () => undefined;
  let failed: (error: Error) => void = () => undefined;
  const pool = new ManagedPool([
    {
      ...sourceOf(new FakeEngine()),
      sizeBytes: 1234,
      open: async ({ onProgress }) => {
        onProgress?.(0.4);
        const engine = await new Promise<Engine>((resolve, reject) => {
          [loaded, failed] = [resolve, reject];
        });
        return { engine, measure: () => null };
      },
    },
  ]);
  const loading = pool.start(['fake']).catch(() => undefined);
  const hosting: AppOptions = profile === serverless ? { deployment: DEPLOYMENT, access: 'public' } : {};
  const app = buildApp(pool, profile, { ...options, ...hosting });
  const end = async (outcome: Engine | Error) => {
    if (outcome instanceof Error) failed(outcome);
    else loaded(outcome);
    await loading;
  };
  return { app, end };
}

const MESSAGES = { messages: [{ role: 'user', content: 'Hi' }] };
const REQUESTS: [url: string, body: object][] = [
  [CHAT_PATH, { model: 'fake', ...MESSAGES }],
  [CHAT_PATH, { model: 'fake', stream: true, ...MESSAGES }],
  ['/v1/completions', { model: 'fake', prompt: 'Hi' }],
  ['/v1/responses', { model: 'fake', input: 'Hi' }],
  ['/v1/responses/input_tokens', { model: 'fake', input: 'Hi' }],
  ['/v1/embeddings', { model: 'fake', input: 'Hi' }],
  ['/v1/rerank', { model: 'fake', query: 'Hi', documents: ['a'] }],
  ['/tokenize', { content: 'Hi' }],
  ['/detokenize', { tokens: [1] }],
  ['/apply-template', MESSAGES],
];

test('requests for a loading model get a 503 with the progress', async () => {
  const { app } = loadingApp();
  const loading = { status: 503, type: 'server_error', code: 'model_loading', says: /`fake` is being loaded, 40 %/ };
  for (const [url, payload] of REQUESTS) {
    const reply = await app.inject({ method: 'POST', url, payload });
    expectError(reply, loading);
    assert.is(reply.headers['retry-after'], '5', url);
  }
  for (const url of ['/health', '/ready']) {
    const reply = await app.inject(url);
    expectError(reply, loading);
    assert.is(reply.headers['retry-after'], '5', url);
  }
});

test('probes while it is loaded are logged at the level debug, requests as warnings', async () => {
  for (const profile of [runtime, serverless]) {
    const lines: { level: string; path: string }[] = [];
    const { app } = loadingApp(profile, { log: { level: 'debug', write: (line) => lines.push(JSON.parse(line)) } });
    for (const url of ['/health', '/ready']) assert.is((await app.inject(url)).statusCode, 503, url);
    assert.equal(
      lines.map(({ level, path }) => [level, path]),
      [
        ['debug', '/health'],
        ['debug', '/ready'],
      ],
    );
    if (profile === serverless) continue;
    await app.inject({ method: 'POST', url: CHAT_PATH, payload: chatBody() });
    assert.is(lines[2]?.level, 'warn');
  }
});

test('messages are told so in their own words', async () => {
  const { app } = loadingApp();
  for (const url of ['/v1/messages', '/v1/messages/count_tokens']) {
    const reply = await app.inject({ method: 'POST', url, payload: { model: 'fake', max_tokens: 5, ...MESSAGES } });
    assert.is(reply.statusCode, 503, url);
    assert.is(reply.json().type, 'error');
    assert.match(reply.json().error.message, '40 %');
  }
});

test('another model is still not found, and what is wrong with a body is still said', async () => {
  const { app } = loadingApp();
  const post = (payload: object) => app.inject({ method: 'POST', url: CHAT_PATH, payload });
  expectError(await post({ model: 'other', ...MESSAGES }), {
    status: 404,
    type: 'not_found_error',
    code: 'model_not_found',
    param: 'model',
  });
  expectError(await post({ model: 'fake' }), { status: 400, code: 'missing_required_parameter', param: 'messages' });
});

test('it is live, can be scraped, is documented, and lists the model', async () => {
  const { app, end } = loadingApp();
  for (const url of ['/live', '/metrics', '/docs', '/openapi.json', '/']) {
    assert.is((await app.inject(url)).statusCode, 200, url);
  }
  const { created, ...listed } = (await app.inject('/v1/models')).json().data[0];
  const status = { value: 'loading', progress: 0.4 };
  assert.equal(listed, { id: 'fake', object: 'model', owned_by: 'chasqui', status, size: 1234 });
  assert.type(created, 'number');
  assert.equal((await app.inject('/v1/models/fake')).json(), { created, ...listed });
  expectError(await app.inject('/v1/models/other'), { status: 404, type: 'not_found_error', code: 'model_not_found' });
  await end(new FakeEngine());
  const loaded = (await app.inject('/v1/models')).json().data[0];
  assert.equal(loaded.status, { value: 'loaded' });
  assert.is(loaded.context_length, 4096);
});

test('when it is loaded everything is answered', async () => {
  const { app, end } = loadingApp();
  await end(new FakeEngine({ model: { pooling: 'rank' } }));
  for (const [url, payload] of REQUESTS) {
    const reply = await app.inject({ method: 'POST', url, payload });
    assert.is(reply.statusCode, 200, `${url}: ${reply.body}`);
  }
  assert.is((await app.inject('/ready')).statusCode, 200);
  assert.match((await app.inject('/metrics')).body, /chasqui_engine_up\{model_name="fake"\} 1/);
});

test('when it cannot be loaded that is said, without what only the log may say', async () => {
  const { app, end } = loadingApp();
  await end(new ChasquiError('model_file_invalid', '/home/me/secret.gguf is no model.'));
  for (const url of ['/health', '/ready', '/v1/models']) assert.not.match((await app.inject(url)).body, /secret/);
  const failed = { status: 503, type: 'server_error', code: 'engine_failed', says: /not a complete GGUF model/ };
  expectError(await app.inject('/ready'), failed);
  expectError(await app.inject({ method: 'POST', url: CHAT_PATH, payload: chatBody() }), failed);
  assert.is((await app.inject('/v1/models')).json().data[0].status.value, 'failed');
});

test('load balancers outside the path of a deployment are told too', async () => {
  const { app, end } = loadingApp(serverless);
  for (const url of ['/health', '/ready'])
    expectError(await app.inject(url), { status: 503, type: 'server_error', code: 'model_loading' });
  await end(new FakeEngine());
  for (const url of ['/health', '/ready']) assert.is((await app.inject(url)).statusCode, 200);
});

/** A pool that provides its model when the test says so. */
function slowPool(engine: Engine, progress = 0) {
  const single = ManagedPool.of(engine);
  const slow = {
    admit: (): void => undefined,
    refuse: (_error: Error): void => undefined,
    asked: false,
    pool: {
      isReady: true,
      list: () => single.list(),
      acquire,
      load: () => {},
      unload: () => {},
      onEvent: () => () => {},
    } satisfies ModelPool,
  };
  function acquire(name: string | undefined, on: AcquireOptions): Promise<Lease> {
    return new Promise((resolve, reject) => {
      slow.asked = true;
      // At once: the first comment may be sent before the test continues.
      on.onProgress?.(progress);
      slow.admit = () => resolve(single.acquire(name, on));
      slow.refuse = reject;
    });
  }
  return slow;
}

const STREAMS: [url: string, body: object][] = [
  [CHAT_PATH, { model: 'fake', stream: true, ...MESSAGES }],
  ['/v1/completions', { model: 'fake', stream: true, prompt: 'Hi' }],
  ['/completion', { stream: true, prompt: 'Hi' }],
  ['/v1/responses', { model: 'fake', stream: true, input: 'Hi' }],
  ['/v1/messages', { model: 'fake', stream: true, max_tokens: 5, ...MESSAGES }],
];

for (const [url, payload] of STREAMS) {
  test(`${url} streams how far the load is, and then the completion`, async () => {
    const slow = slowPool(new FakeEngine(), 0.4);
    const app = buildApp(slow.pool, runtime, { keepAliveMs: 10 });
    const streamed = app.inject({ method: 'POST', url, payload });
    await until(() => slow.asked, 'the model is asked for');
    await new Promise((resolve) => setTimeout(resolve, 50));
    slow.admit();
    const { statusCode, headers, body } = await streamed;
    assert.is(statusCode, 200);
    assert.match(String(headers['content-type']), 'text/event-stream');
    assert.match(body, /^: loading 40 %\n\n/);
    assert.match(body, /Hel/);
    assert.not.match(body, /event: error|"error":\{/);
  });

  test(`${url} streams an error when the load fails after that`, async () => {
    const slow = slowPool(new FakeEngine());
    const app = buildApp(slow.pool, runtime, { keepAliveMs: 10 });
    const streamed = app.inject({ method: 'POST', url, payload });
    await until(() => slow.asked, 'the model is asked for');
    await new Promise((resolve) => setTimeout(resolve, 50));
    slow.refuse(new ChasquiError('engine_failed', 'The model `fake` could not be loaded.'));
    const { statusCode, body } = await streamed;
    assert.is(statusCode, 200);
    const [frame] = body.split('\n\n').filter((each) => each !== '' && !each.startsWith(':'));
    assert.match(String(frame), /could not be loaded/);
    assert.is(/^event: error$/m.test(String(frame)), url === '/v1/responses' || url === '/v1/messages');
    assert.match(body, /"code":"engine_failed"/);
  });
}

test('streams of lines, which have no comments, are kept alive by spaces meanwhile', async () => {
  const bodies = [{ model: 'fake', ...MESSAGES }, { model: 'fake' }];
  for (const payload of bodies) {
    for (const fails of [false, true]) {
      const slow = slowPool(new FakeEngine());
      const app = buildApp(slow.pool, runtime, { keepAliveMs: 10 });
      const streamed = app.inject({ method: 'POST', url: '/api/chat', payload });
      await until(() => slow.asked, 'the model is asked for');
      await new Promise((resolve) => setTimeout(resolve, 50));
      if (fails) slow.refuse(new ChasquiError('engine_failed', 'The model `fake` could not be loaded.'));
      else slow.admit();
      const { statusCode, headers, body } = await streamed;
      assert.equal([statusCode, headers['content-type']], [200, 'application/x-ndjson']);
      assert.match(body, /^ +\{/);
      const lines = body.trimEnd().split('\n');
      const last = JSON.parse(lines.at(-1) ?? '');
      if (fails) assert.equal([last, lines.length], [{ error: 'The model `fake` could not be loaded.' }, 1]);
      else assert.is(last.done, true);
    }
  }
});

test('failures after the comments are events; whole replies have no comments', async () => {
  const engine = new FakeEngine({ failAt: 0, failWith: new ChasquiError('queue_full', 'Too many wait.') });
  const slow = slowPool(engine);
  const app = buildApp(slow.pool, runtime, { keepAliveMs: 10 });
  for (const stream of [true, false]) {
    slow.asked = false;
    const asked = app.inject({ method: 'POST', url: CHAT_PATH, payload: { ...chatBody(), stream } });
    await until(() => slow.asked, 'the model is asked for');
    await new Promise((resolve) => setTimeout(resolve, 50));
    slow.admit();
    const { statusCode, body } = await asked;
    assert.is(statusCode, stream ? 200 : 429);
    assert.match(
      body,
      stream ? /^: loading 0 %\n\n[\s\S]*data: \{"error":.*"queue_full"/ : /^\{"error":.*"queue_full"/,
    );
  }
});

/** A pool that counts its leases. */
function countedPool(engine: Engine) {
  const single = ManagedPool.of(engine);
  const counted = {
    held: 0,
    taken: 0,
    pool: {
      isReady: true,
      list: () => single.list(),
      acquire,
      load: () => {},
      unload: () => {},
      onEvent: () => () => {},
    } satisfies ModelPool,
  };
  async function acquire(name: string | undefined, on: AbortOptions): Promise<Lease> {
    const lease = await single.acquire(name, on);
    let released = false;
    counted.held += 1;
    counted.taken += 1;
    const release = () => {
      if (!released) counted.held -= 1;
      released = true;
    };
    return { ...lease, release };
  }
  return counted;
}

test('each request gives its lease back when its reply is over, however that ends', async () => {
  const counted = countedPool(new FakeEngine({ model: { pooling: 'rank' } }));
  const app = buildApp(counted.pool, runtime);
  for (const [url, payload] of REQUESTS) {
    await app.inject({ method: 'POST', url, payload });
    assert.is(counted.held, 0, url);
  }
  assert.is(counted.taken, REQUESTS.length);
});

test('one whose client leaves gives it back too', async () => {
  const engine = new FakeEngine({ manual: true });
  const counted = countedPool(engine);
  const app = buildApp(counted.pool, runtime);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  try {
    const left = new AbortController();
    const body = JSON.stringify(chatBody({ stream: true }));
    const headers = { 'content-type': 'application/json' };
    const reply = fetch(url + CHAT_PATH, { method: 'POST', headers, body, signal: left.signal });
    reply.catch(() => undefined);
    await until(() => engine.running.size === 1, 'the job is submitted');
    assert.is(counted.held, 1);
    left.abort();
    await until(() => counted.held === 0, 'the lease is given back');
  } finally {
    await app.close();
  }
});

test.run();
