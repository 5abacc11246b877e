// Submissions to the queue: its limits, and access without a key.
import Fastify from 'fastify';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Queue } from '../../../../ts/cloud/queue/queue.ts';
import type { Load, NewRequest } from '../../../../ts/cloud/queue/queue-store.ts';
import { queueRoutes } from '../../../../ts/cloud/queue/routes.ts';
import { errorHandler } from '../../../../ts/http/error-handler.ts';
import { cloudKey, TestDeployment } from '../../../support/gateway.ts';

const NONE: Load = { count: 0, bytes: 0, countOfKey: 0 };
const PATH = '/queue/acme/open/v1/chat/completions';
const failing = new TestDeployment('acme', 'failing');
failing.failure = { code: 'app_failed', message: 'It crashed.' };
const apps = [new TestDeployment('acme', 'open', 'public'), failing];
const keys = new Map([
  ['k', cloudKey()],
  ['small', cloudKey({ limits: { bodyBytes: 10 } })],
  ['reader', cloudKey({ scopes: ['read'] })],
]);

async function send(path: string, { key = 'k', body = '{}', load = NONE } = {}) {
  const added: NewRequest[] = [];
  const store = {
    load: () => load,
    add: (request: NewRequest) => added.push(request),
    find: () => ({ id: 'x', org: 'acme', app: 'open', state: 'queued', webhook: null }),
    position: () => 0,
  };
  const app = Fastify();
  app.setErrorHandler(errorHandler({ onServerError: (error) => assert.unreachable(String(error)), optionNames: {} }));
  queueRoutes(app, {
    queue: { store, dispatcher: { dispatch: () => undefined } } as unknown as Queue,
    directory: { find: (_org, name) => apps.find((each) => each.name === name) ?? null },
    keys: { check: (text) => keys.get(text) ?? null },
    publicUrl: () => 'http://cloud',
  });
  const reply = await app.inject({
    method: 'POST',
    url: path,
    payload: body,
    headers: { authorization: `Key ${key}` },
  });
  await app.close();
  return { status: reply.statusCode, json: reply.json(), headers: reply.headers, added };
}

test('a full queue refuses, with the time of a retry', async () => {
  for (const [load, named] of [
    [{ ...NONE, countOfKey: 1000 }, 'per key'],
    [{ ...NONE, count: 5000 }, 'per organisation'],
    [{ ...NONE, bytes: 256 * 2 ** 20 }, 'bytes per organisation'],
  ] as const) {
    const { status, json, headers, added } = await send(PATH, { load });
    assert.equal([status, json.error.code, headers['retry-after'], added.length], [429, 'queue_full', '30', 0]);
    assert.match(json.error.message, named);
  }
  assert.is((await send(PATH, { load: { count: 4999, bytes: 1, countOfKey: 999 } })).status, 200);
});

test('the priority is the lowest where the endpoint has one, and the query reaches the app', async () => {
  const [chat] = (await send(`${PATH}?a=b`, { body: '{"priority": 5}' })).added;
  assert.is(chat?.path, '/v1/chat/completions?a=b');
  assert.ok(JSON.parse(String(chat?.body)).priority < -1);
  const [other] = (await send('/queue/acme/open/v1/embeddings', { body: '{"input": "a"}' })).added;
  assert.is(String(other?.body), '{"input": "a"}');
});

test('public apps need a key, too; its limit of bytes and its scopes count', async () => {
  assert.is((await send(PATH, { key: 'none' })).status, 401);
  assert.is((await send(PATH, { key: 'reader' })).status, 401);
  assert.is((await send(PATH, { key: 'small', body: '{"a": "bcdefgh"}' })).status, 413);
  assert.is((await send(PATH, { body: `{"a": "${'x'.repeat(8 * 2 ** 20)}"}` })).json.error.code, 'request_too_large');
  assert.is((await send('/queue/acme/failing/v1/chat/completions')).json.error.code, 'app_failed');
});

test.run();
