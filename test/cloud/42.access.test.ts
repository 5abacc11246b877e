// Access to apps: keys, their limits, and keys that are revoked during a stream.
import OpenAI from 'openai';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  closeGateways,
  cloudKey,
  codeOf,
  KEY,
  postChat,
  startGateway,
  startRunner,
  TestDeployment,
  type TestGateway,
  WITH_KEY,
} from '../support/gateway.js';
import { until } from '../support/until.js';

const test = suite('cloud: access to apps');

test.after.each(closeGateways);

const secret = (text: string) => ({ authorization: `Key ${text}` });

async function twoApps(): Promise<TestGateway> {
  const { socketPath } = await startRunner();
  return startGateway([
    new TestDeployment('acme', 'chat').run(socketPath),
    new TestDeployment('acme', 'open', 'public').run(socketPath),
  ]);
}

test('a private app takes exactly `Authorization: Key <key>`', async () => {
  const gateway = await twoApps();
  for (const authorization of [
    undefined,
    '',
    KEY,
    `Bearer ${KEY}`,
    `key ${KEY}`,
    `KEY ${KEY}`,
    `Key  ${KEY}`,
    `Key\t${KEY}`,
    `Key ${KEY} x`,
    'Key ',
    'Key wrong',
    `Key ${KEY}${'x'.repeat(600)}`,
  ]) {
    const reply = await postChat(gateway, {}, { headers: authorization === undefined ? {} : { authorization } });
    assert.is(reply.status, 401, String(authorization));
    assert.is(reply.headers.get('www-authenticate'), 'Key');
    const text = await reply.text();
    assert.is(JSON.parse(text).error.code, 'invalid_api_key');
    assert.ok(!text.includes('secret'), 'the reply repeats a key');
  }
  assert.is((await postChat(gateway)).status, 200);
  assert.is(gateway.usage.length, 1);
});

test('an app with `bearer` also takes its keys from clients that can send nothing else', async () => {
  const { socketPath } = await startRunner();
  const app = new TestDeployment('acme', 'chat').run(socketPath);
  const gateway = await startGateway([app]);
  gateway.keys.set('other', cloudKey({ org: 'globex' }));
  const client = new OpenAI({ apiKey: KEY, baseURL: `${gateway.url}/acme/chat/v1`, maxRetries: 0 });
  const list = () =>
    client.models.list().then(
      ({ data }) => data.length,
      ({ status }) => status,
    );
  assert.is(await list(), 401);
  app.bearer = true;
  assert.is(await list(), 1);
  assert.is((await postChat(gateway)).status, 200);
  for (const authorization of [`bearer ${KEY}`, `Bearer  ${KEY}`, `Bearer ${KEY} x`, 'Bearer wrong', 'Bearer other']) {
    const texts = await Promise.all(
      ['chat', 'absent'].map(async (name) => {
        const path = `/acme/${name}/v1/chat/completions`;
        const reply = await postChat(gateway, {}, { path, headers: { authorization } });
        assert.is(reply.status, 401, authorization);
        return reply.text();
      }),
    );
    assert.is(texts[0], texts[1], 'the reply does not tell whether the app exists');
  }
});

test('existing and unknown apps return the same 401', async () => {
  const gateway = await twoApps();
  gateway.keys.set('other', cloudKey({ org: 'globex' }));
  gateway.keys.set('mail', cloudKey({ app: 'mail' }));
  for (const headers of [{}, secret('wrong'), secret('other'), secret('mail'), { authorization: 'Bearer x' }]) {
    const replies = [];
    for (const path of ['/acme/chat/v1/models', '/acme/absent/v1/models', '/acme/chat/status', '/acme/chat/nothing']) {
      const reply = await fetch(`${gateway.url}${path}`, { headers: headers as Record<string, string> });
      const { date, 'x-request-id': id, ...rest } = Object.fromEntries(reply.headers);
      assert.ok(date && id);
      replies.push({ status: reply.status, rest, text: await reply.text() });
    }
    assert.is(replies[0]?.status, 401);
    for (const reply of replies) assert.equal(reply, replies[0]);
  }
});

test('a key that is not for calls is told so, the same for an app that does not exist', async () => {
  const gateway = await twoApps();
  gateway.keys.set('reader', cloudKey({ id: 'k7', scopes: ['read', 'deploy', 'admin'] }));
  const texts = new Set<string>();
  for (const app of ['chat', 'absent']) {
    const reply = await postChat(gateway, {}, { path: `/acme/${app}/v1/chat/completions`, headers: secret('reader') });
    assert.is(reply.status, 403);
    texts.add(await reply.text());
  }
  assert.is(texts.size, 1);
  assert.match([...texts][0] ?? '', /"permission_denied".*|k7 lacks the scope `call`.*read, deploy, admin/);
  const open = await postChat(gateway, {}, { path: '/acme/open/v1/chat/completions', headers: secret('reader') });
  assert.is(open.status, 200);
  assert.is((await postChat(gateway, {}, { path: '/other/chat/status', headers: secret('reader') })).status, 401);
});

test('the key of an organisation is told that it has no such app', async () => {
  const gateway = await twoApps();
  const reply = await postChat(gateway, {}, { path: '/acme/absent/v1/chat/completions' });
  assert.is(reply.status, 404);
  assert.is(await codeOf(reply), 'unknown_url');
});

test('a key without an organisation opens all, one of an app this app', async () => {
  const gateway = await twoApps();
  gateway.keys.set('all', cloudKey({ org: null }));
  gateway.keys.set('this', cloudKey({ app: 'chat' }));
  for (const text of ['all', 'this']) assert.is((await postChat(gateway, {}, { headers: secret(text) })).status, 200);
});

test('a public app asks for no key, and counts one that opens it', async () => {
  const gateway = await twoApps();
  const path = '/acme/open/v1/chat/completions';
  for (const headers of [{}, { authorization: 'Bearer x' }, secret('wrong'), WITH_KEY]) {
    assert.is((await postChat(gateway, {}, { path, headers })).status, 200);
  }
  assert.equal(
    gateway.usage.map(({ keyId }) => keyId),
    [null, null, null, 'k1'],
  );
});

test('a key that is revoked counts no more at once, and ends what runs', async () => {
  const { socketPath, engine } = await startRunner({ manual: true });
  const app = new TestDeployment('acme', 'chat').run(socketPath);
  const gateway = await startGateway([app]);
  gateway.keys.set('k2', cloudKey({ id: 'k2' }));
  const stream = postChat(gateway, { stream: true });
  const whole = postChat(gateway);
  const bystander = postChat(gateway, { stream: true }, { headers: secret('k2') });
  await until(() => engine.running.size === 3, 'all are with the runner');
  engine.step();
  const reply = await stream;
  gateway.keys.delete(KEY);
  assert.is((await postChat(gateway)).status, 401);
  assert.match(await reply.text(), /data: {"error":{.*"code":"invalid_api_key".*}}\n\n$/);
  assert.is((await whole).status, 401);
  await until(() => engine.cancelled === 2, 'the runner computes them no more');
  while (engine.running.size > 0) {
    engine.step();
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  assert.match(await (await bystander).text(), /\[DONE\]/);
});

test('keys that cannot be looked up for a moment end nothing that runs', async () => {
  const { socketPath, engine } = await startRunner({ manual: true });
  const gateway = await startGateway([new TestDeployment('acme', 'chat').run(socketPath)]);
  const reply = postChat(gateway, { stream: true });
  await until(() => engine.running.size === 1, 'the runner has it');
  const failure = new Error('The database cannot be read.');
  gateway.keys.get = () => {
    throw failure;
  };
  await until(() => gateway.errors.length > 0, 'keys are looked up');
  assert.is(gateway.errors[0], failure);
  await until(() => {
    engine.step();
    return engine.running.size === 0;
  }, 'it is computed');
  assert.match(await (await reply).text(), /\[DONE\]/);
});

test('a key that is revoked while its request waits loses its place', async () => {
  const app = new TestDeployment('acme', 'chat');
  const gateway = await startGateway([app]);
  const replying = postChat(gateway);
  await until(() => app.demand.queued === 1, 'it waits');
  gateway.keys.delete(KEY);
  assert.is((await replying).status, 401);
  assert.equal(app.demand, { running: 0, queued: 0 });
});

async function limited(limits: Parameters<typeof cloudKey>[0], manual = false) {
  const runner = await startRunner({ manual });
  const gateway = await startGateway([new TestDeployment('acme', 'chat').run(runner.socketPath)]);
  gateway.keys.set(KEY, cloudKey(limits));
  return { gateway, engine: runner.engine };
}

async function assertLimited(reply: Response): Promise<void> {
  assert.is(reply.status, 429);
  assert.ok(Number(reply.headers.get('retry-after')) >= 1);
  assert.is(await codeOf(reply), 'rate_limit_exceeded');
}

test('requests a minute: refused beyond, and OpenAI’s headers say what is left', async () => {
  const { gateway } = await limited({ limits: { requestsPerMinute: 2 } });
  const first = await postChat(gateway);
  assert.is(first.headers.get('x-ratelimit-limit-requests'), '2');
  assert.is(first.headers.get('x-ratelimit-remaining-requests'), '1');
  assert.match(first.headers.get('x-ratelimit-reset-requests') ?? '', /^\d+\.\d{3}s$/);
  assert.is(first.headers.get('x-ratelimit-limit-tokens'), null);
  assert.is((await postChat(gateway)).status, 200);
  await assertLimited(await postChat(gateway));
});

test('tokens a minute: counted when a request is over', async () => {
  const { gateway } = await limited({ limits: { tokensPerMinute: 10 } });
  const first = await postChat(gateway, { stream: true });
  assert.is(first.headers.get('x-ratelimit-remaining-tokens'), '10');
  await first.text();
  await until(() => gateway.usage.length === 1, 'it is counted');
  await assertLimited(await postChat(gateway));
});

test('tokens a minute: leaving before the end saves none', async () => {
  const { gateway, engine } = await limited({ limits: { tokensPerMinute: 10 } }, true);
  const leaving = new AbortController();
  const replying = postChat(gateway, { stream: true }, { signal: leaving.signal }).catch(() => null);
  await until(() => engine.running.size === 1, 'the runner has it');
  leaving.abort();
  await replying;
  await until(() => gateway.usage.length === 1, 'it is counted');
  await assertLimited(await postChat(gateway));
});

test('requests at once: the next one may come when one is over', async () => {
  const { gateway, engine } = await limited({ limits: { concurrency: 1 } }, true);
  const first = postChat(gateway);
  await until(() => engine.running.size === 1, 'the runner has it');
  await assertLimited(await postChat(gateway));
  while (engine.running.size > 0) {
    engine.step();
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  assert.is((await first).status, 200);
  const second = postChat(gateway);
  await until(() => engine.running.size === 1, 'the runner has the second');
  engine.step();
  await until(() => {
    engine.step();
    return engine.running.size === 0;
  }, 'it is over');
  assert.is((await second).status, 200);
});

test('a body may be as large as the key allows, whether its length is announced or not', async () => {
  const { gateway } = await limited({ limits: { bodyBytes: 1000 } });
  const large = { messages: [{ role: 'user', content: 'x'.repeat(2000) }] };
  const announced = await postChat(gateway, large);
  assert.is(announced.status, 413);
  assert.is(await codeOf(announced), 'request_too_large');
  const body = new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode(JSON.stringify(large)));
      controller.close();
    },
  });
  const chunked = await fetch(`${gateway.url}/acme/chat/v1/chat/completions`, {
    method: 'POST',
    headers: WITH_KEY,
    body,
    duplex: 'half',
  } as RequestInit);
  assert.is(chunked.status, 413);
  assert.is((await postChat(gateway)).status, 200);
});

test.run();
