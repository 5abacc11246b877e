// The queue: requests that survive the process, and webhooks.
import { createHmac, timingSafeEqual } from 'node:crypto';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { DetailedJson, QueuedJson } from '../../ts/cloud/queue/management-routes.js';
import { TestCloud } from '../support/cloud.js';
import { until } from '../support/until.js';

interface Status {
  status: string;
  request_id: string;
  response_url: string;
  status_url: string;
  cancel_url: string;
  queue_position?: number;
  error_type?: string;
  webhook?: { state: string; attempts: number; error: string | null };
}

const test = suite('cloud: queue');
const APP = { slots: 1, context: 8192, auth: 'private', scale: { keepAlive: '1h' } };
const ARGS = ['--allow-loopback-webhooks'];
const PATH = '/queue/me/chat/v1/chat/completions';
const WEBHOOK_KEY = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
/** Takes many seconds. */
const LONG = { max_tokens: 7500, ignore_eos: true, temperature: 9 };
let cloud: TestCloud;
let foreignKey: string;
let siblingKey: string;

test.before(async () => {
  cloud = await TestCloud.start(ARGS);
  const keyOf = async (org: string) => (await cloud.client.post<{ key: string }>('/keys', { org })).key;
  foreignKey = await keyOf('acme');
  siblingKey = await keyOf('me');
  await cloud.deployed('chat', APP);
});
test.after(async () => assert.equal(await cloud.stop(), { code: 0, signal: null }));

const withKey = (key: string) => ({ authorization: `Key ${key}`, 'content-type': 'application/json' });

function send(target: string, body: string | undefined, { key = cloud.key, method = 'POST' } = {}): Promise<Response> {
  return fetch(`${cloud.url}${target}`, { method, headers: withKey(key), ...(body !== undefined && { body }) });
}

async function submit(more: object, query = ''): Promise<Status> {
  const body = { model: 'chasqui-demo', messages: [{ role: 'user', content: 'Hello!' }], max_tokens: 2, ...more };
  const reply = await send(PATH + query, JSON.stringify(body));
  const text = await reply.text();
  assert.is(reply.status, 200, text);
  return JSON.parse(text);
}

/** The path stays valid when a restart changes the port. */
const at = (url: string) => new URL(url).pathname;
const statusOf = async (of: Status) => (await send(at(of.status_url), undefined, { method: 'GET' })).json();
const resultOf = (of: Status) => send(at(of.response_url), undefined, { method: 'GET' });
const cancel = async (of: Status) => {
  const reply = await send(at(of.cancel_url), undefined, { method: 'PUT' });
  return [reply.status, ((await reply.json()) as Status).status];
};
const untilStatus = (of: Status, status: string) =>
  until(async () => ((await statusOf(of)) as Status).status === status, `${status} of ${of.request_id}`, 300_000);

test('a request is stored, runs, and its result is kept', async () => {
  const submitted = await submit({});
  assert.match(submitted.status, /^IN_(QUEUE|PROGRESS)$/);
  const url = `${cloud.url}/queue/me/chat/requests/${submitted.request_id}`;
  const { response_url, status_url, cancel_url } = submitted;
  assert.equal([response_url, status_url, cancel_url], [url, `${url}/status`, `${url}/cancel`]);
  await untilStatus(submitted, 'COMPLETED');
  for (let times = 0; times < 2; times++) {
    const result = await resultOf(submitted);
    assert.is(result.status, 200);
    assert.is(((await result.json()) as { usage: { completion_tokens: number } }).usage.completion_tokens, 2);
  }
  assert.equal(await cancel(submitted), [400, 'ALREADY_COMPLETED']);
  const refused = await submit({ temperature: 'hot' });
  await untilStatus(refused, 'COMPLETED');
  assert.is(((await statusOf(refused)) as Status).error_type, 'invalid_type');
  assert.is((await resultOf(refused)).status, 400);
});

test('only the key that has submitted a request sees and cancels it', async () => {
  const submitted = await submit({});
  for (const [key, status] of [
    [foreignKey, 401],
    [siblingKey, 404],
    ['nonsense', 401],
  ] as const) {
    for (const [url, method] of [
      [submitted.status_url, 'GET'],
      [submitted.response_url, 'GET'],
      [submitted.cancel_url, 'PUT'],
    ] as const) {
      assert.is((await send(at(url), undefined, { key, method })).status, status, `${method} ${url} with ${key}`);
    }
  }
  await untilStatus(submitted, 'COMPLETED');
  assert.is((await resultOf(submitted)).status, 200);
});

test('invalid bodies, paths and addresses of webhooks are refused at once', async () => {
  const webhook = (url: string) => `${PATH}?fal_webhook=${encodeURIComponent(url)}`;
  for (const [target, body, status, code] of [
    [PATH, '', 400, 'invalid_json'],
    [PATH, '{', 400, 'invalid_json'],
    [PATH, '[]', 400, 'invalid_type'],
    [PATH, '{"__proto__": {}}', 400, 'invalid_json'],
    [PATH, '{"stream": true}', 400, 'invalid_value'],
    ['/queue/me/chat/health', '{}', 404, 'unknown_url'],
    ['/queue/me/chat/v1/..%2fhealth', '{}', 400, 'bad_request'],
    ['/queue/me/none/v1/chat/completions', '{}', 404, 'unknown_url'],
    ['/queue/acme/chat/v1/chat/completions', '{}', 401, 'invalid_api_key'],
    [webhook('https://example.com/x'), '{}', 400, 'script_invalid'],
    [webhook('https://10.0.0.1/x'), '{}', 400, 'invalid_value'],
    [webhook('http://example.com/x'), '{}', 400, 'invalid_value'],
  ] as const) {
    const reply = await send(target, body);
    assert.is(reply.status, status, `${target} ${body.slice(0, 40)}`);
    assert.is(((await reply.json()) as { error: { code: string } }).error.code, code);
  }
  assert.is((await fetch(`${cloud.url}${PATH}`, { method: 'POST', body: '{}' })).status, 401);
});

test('a webhook is signed, and called again after a failure', async () => {
  const calls: { headers: http.IncomingHttpHeaders; body: string }[] = [];
  const server = http.createServer(async (request, response) => {
    let body = '';
    for await (const part of request) body += part;
    calls.push({ headers: request.headers, body });
    response.writeHead(calls.length === 1 ? 500 : 200).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    await cloud.client.put('/secrets/me/WEBHOOK_KEY', { value: WEBHOOK_KEY });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
    const submitted = await submit({}, `?fal_webhook=${encodeURIComponent(url)}`);
    await until(async () => ((await statusOf(submitted)) as Status).webhook?.state === 'delivered', 'the delivery');
    assert.equal(((await statusOf(submitted)) as Status).webhook, { state: 'delivered', attempts: 2, error: null });
    assert.is(calls.length, 2);
    for (const { headers, body } of calls) {
      const key = Buffer.from(WEBHOOK_KEY.slice('whsec_'.length), 'base64');
      const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
      const expected = Buffer.from(`v1,${createHmac('sha256', key).update(signed).digest('base64')}`);
      assert.ok(timingSafeEqual(expected, Buffer.from(String(headers['webhook-signature']))));
      assert.is(headers['webhook-id'], submitted.request_id);
      const { request_id, status, payload } = JSON.parse(body);
      assert.equal([request_id, status, payload.object], [submitted.request_id, 'OK', 'chat.completion']);
    }
  } finally {
    server.closeAllConnections();
    server.close();
  }
});

test('waiting and running requests can be cancelled, and clients do not wait for them', async () => {
  const running = await submit(LONG);
  await untilStatus(running, 'IN_PROGRESS');
  const waiting = await submit(LONG);
  const last = await submit({});
  const { status, queue_position } = (await statusOf(last)) as Status;
  assert.equal([status, queue_position], ['IN_QUEUE', 1]);
  const early = await resultOf(waiting);
  assert.equal([early.status, ((await early.json()) as Status).status], [400, 'IN_QUEUE']);
  const read = (await cloud.client.post<{ key: string }>('/keys', { scopes: ['read'] })).key;
  const metrics = await (await send('/metrics', undefined, { key: read, method: 'GET' })).text();
  assert.match(metrics, 'chasqui_app_queue_length{org="me",app="chat"} 2\n');
  const direct = await cloud.post('chat', { max_tokens: 1 }, withKey(cloud.key));
  assert.is(direct.status, 200);
  assert.is(((await statusOf(running)) as Status).status, 'IN_PROGRESS');
  for (const each of [waiting, running]) {
    assert.equal(await cancel(each), [202, 'CANCELLATION_REQUESTED']);
    const { status: after, error_type } = (await statusOf(each)) as Status;
    assert.equal([after, error_type], ['COMPLETED', 'request_cancelled']);
    assert.is((await resultOf(each)).status, 400);
  }
  await untilStatus(last, 'COMPLETED');
  assert.is((await resultOf(last)).status, 200);
});

test('`chasqui queue` lists, shows and cancels requests of an app', async () => {
  // Eight choices, so it outlasts the commands.
  const running = await submit({ ...LONG, n: 8 });
  await untilStatus(running, 'IN_PROGRESS');
  const waiting = await submit(LONG);
  const queue = async (code: number, ...args: string[]) => {
    const { code: ended, stdout, stderr } = await cloud.cli('queue', ...args);
    assert.is(ended, code, `${args}: ${stderr}`);
    return stdout;
  };
  const rows: QueuedJson[] = JSON.parse(await queue(0, 'list', 'chat', '--json'));
  assert.equal(
    rows.slice(0, 2).map(({ id, state, attempts, webhook }) => [id, state, attempts, webhook]),
    [
      [running.request_id, 'running', 1, null],
      [waiting.request_id, 'queued', 0, null],
    ],
  );
  assert.ok(rows.some(({ webhook }) => webhook?.state === 'delivered' && webhook.attempts === 2));
  assert.match(await queue(0, 'ls', 'chat'), new RegExp(`${running.request_id}  running  .*  1 `));
  assert.match(await queue(0, 'show', 'chat', waiting.request_id), /state +queued, 0 before it/);
  for (const { request_id: id } of [waiting, running]) {
    await queue(0, 'cancel', 'chat', id);
    const { state, status, error_type }: DetailedJson = JSON.parse(await queue(0, 'show', 'chat', id, '--json'));
    assert.equal([state, status, error_type], ['completed', 400, 'request_cancelled']);
  }
  await queue(1, 'cancel', 'chat', running.request_id);
  await queue(5, 'cancel', 'chat', 'none');
  await queue(5, 'list', 'none');
  await queue(5, 'list', 'chat', '--org', 'acme');
  const { audit } = await cloud.client.get<{ audit: { action: string; detail: object }[] }>('/audit');
  const cancelled = audit.filter(({ action }) => action === 'queue.cancel').map(({ detail }) => detail);
  const key = cloud.key.split(':', 1)[0];
  assert.equal(cancelled, [
    { request: running.request_id, key },
    { request: waiting.request_id, key },
  ]);
});

test('the queue of an app is managed by keys of its organisation only', async () => {
  const submitted = await submit({});
  const id = submitted.request_id;
  const keyOf = async (settings: object) => (await cloud.client.post<{ key: string }>('/keys', settings)).key;
  const acme = await keyOf({ org: 'acme', scopes: ['read', 'deploy', 'admin'] });
  const reader = await keyOf({ org: 'me', scopes: ['read'] });
  const other = await keyOf({ org: 'me', app: 'other', scopes: ['read', 'deploy'] });
  const QUEUE = '/api/cloud/v1/apps/me/chat/queue';
  for (const [key, method, target, status] of [
    [acme, 'GET', QUEUE, 403],
    [acme, 'GET', `${QUEUE}/${id}`, 403],
    [acme, 'DELETE', `${QUEUE}/${id}`, 403],
    [acme, 'GET', `/api/cloud/v1/apps/acme/chat/queue/${id}`, 404],
    [acme, 'DELETE', `/api/cloud/v1/apps/acme/chat/queue/${id}`, 404],
    [other, 'GET', QUEUE, 403],
    [other, 'DELETE', `/api/cloud/v1/apps/me/other/queue/${id}`, 404],
    [cloud.key, 'GET', QUEUE, 403],
    [reader, 'DELETE', `${QUEUE}/${id}`, 403],
    ['nonsense', 'GET', QUEUE, 401],
    [reader, 'GET', QUEUE, 200],
    [reader, 'GET', `${QUEUE}/${id}`, 200],
    [reader, 'GET', `${QUEUE}/%1b%5b2J`, 404],
    [reader, 'GET', `${QUEUE}/${'0'.repeat(2000)}`, 400],
    [reader, 'GET', `${QUEUE}?limit=-1`, 400],
    [reader, 'GET', `${QUEUE}?limit=1001`, 400],
    [reader, 'GET', `${QUEUE}?limit=1&limit=2`, 400],
  ] as const) {
    const reply = await fetch(cloud.url + target, { method, headers: { authorization: `Key ${key}` } });
    const text = await reply.text();
    assert.is(reply.status, status, `${method} ${target.slice(0, 100)} with ${key}: ${text}`);
    if (status >= 400) assert.type(JSON.parse(text).error.code, 'string');
    assert.not.match(text, 'Hello!');
  }
  await untilStatus(submitted, 'COMPLETED');
  assert.is((await resultOf(submitted)).status, 200);
});

test('after kill -9, requests that waited or ran complete', async () => {
  const running = await submit(LONG);
  await untilStatus(running, 'IN_PROGRESS');
  const waiting = await submit({});
  assert.is(((await statusOf(waiting)) as Status).status, 'IN_QUEUE');
  await cloud.kill();
  await cloud.begin(ARGS);
  for (const each of [running, waiting]) {
    await untilStatus(each, 'COMPLETED');
    const result = await resultOf(each);
    assert.is(result.status, 200, await result.text());
  }
});

test.run();
