// Responses of an app are stored once for all runners, separately for each key, and not without a key.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import OpenAI from 'openai';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { SqliteStore } from '../../ts/api/openai/responses/store/sqlite-store.js';
import { OWNER_HEADER, ownerOfKey } from '../../ts/http/owner-header.js';
import { startChild } from '../support/child.js';
import { ORG, TestCloud } from '../support/cloud.js';

const test = suite('cloud: stored responses');
let cloud: TestCloud;
/** A second key of the same organisation. */
let other: string;
let id = '';

test.before(async () => {
  cloud = await TestCloud.start();
  other = (await cloud.client.post<{ key: string }>('/keys', { org: ORG })).key;
  await cloud.deployed('chat', { auth: 'private', scale: { min: 2, max: 2 } });
  await cloud.untilApp('chat', ({ ready }) => ready === 2);
});
test.after(async () => {
  assert.equal(await cloud.stop(), { code: 0, signal: null });
});

interface Reply {
  runner: string | null;
  status: number;
  body: { id: string; store: boolean; status: string; usage: { input_tokens: number }; error?: { code: string } };
}

async function ask(
  method: string,
  target: string,
  { body, headers = { authorization: `Key ${cloud.key}` }, app = 'chat' }: AskOptions = {},
): Promise<Reply> {
  const response = await fetch(`${cloud.url}/${ORG}/${app}/v1/responses${target}`, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    ...(body && { body: JSON.stringify({ model: 'chasqui-demo', max_output_tokens: 8, ...body }) }),
  });
  const runner = response.headers.get('x-chasqui-runner');
  return { runner, status: response.status, body: (await response.json()) as Reply['body'] };
}

interface AskOptions {
  body?: object;
  headers?: Record<string, string>;
  app?: string;
}

/** Asks until each of the two runners has replied. */
async function askBoth(method: string, target: string, options: AskOptions = {}): Promise<Reply[]> {
  const replies: Reply[] = [];
  while (new Set(replies.map(({ runner }) => runner)).size < 2) {
    assert.ok(replies.length < 50, 'one runner has replied to all requests');
    replies.push(await ask(method, target, options));
  }
  return replies;
}

test('responses stored by one runner are available to both', async () => {
  const made = await ask('POST', '', { body: { input: 'Hello!' } });
  assert.is(made.status, 200);
  assert.is(made.body.store, true);
  id = made.body.id;
  for (const { status, body } of await askBoth('GET', `/${id}`)) {
    assert.is(status, 200);
    assert.is(body.id, id);
  }
  const alone = await ask('POST', '', { body: { input: 'And now?', store: false } });
  // Different prompts make the router alternate between runners.
  let number = 0;
  const runners = new Set<string | null>();
  while (runners.size < 2 && number < 50) {
    const input = `${number++} and now?`.padEnd(600, '.');
    const next = await ask('POST', '', { body: { input, previous_response_id: id } });
    assert.is(next.status, 200, JSON.stringify(next.body));
    assert.ok(next.body.usage.input_tokens > alone.body.usage.input_tokens + 4);
    runners.add(next.runner);
  }
  assert.is(runners.size, 2, 'one runner has replied to all requests');
});

test('the openai client goes on from a response that it had streamed', async () => {
  const client = new OpenAI({
    baseURL: `${cloud.url}/${ORG}/chat/v1`,
    apiKey: 'not-needed',
    defaultHeaders: { Authorization: `Key ${cloud.key}` },
    maxRetries: 0,
  });
  const stream = await client.responses.create({ model: 'chasqui-demo', input: 'Hello!', stream: true });
  let first = '';
  for await (const event of stream) if (event.type === 'response.completed') first = event.response.id;
  const next = await client.responses.create({ model: 'chasqui-demo', input: 'And?', previous_response_id: first });
  assert.is(next.previous_response_id, first);
  const items = await client.responses.inputItems.list(next.id);
  assert.is(items.data.length, 3);
  await client.responses.delete(first);
  await client.responses.retrieve(first).then(
    () => assert.unreachable(),
    (error: { status: number; code: string }) => assert.equal([error.status, error.code], [404, 'response_not_found']),
  );
});

test('another key of the same organisation does not see it, whatever it says of itself', async () => {
  const owner = ownerOfKey(cloud.key.split(':')[0] as string);
  const asOther = { authorization: `Key ${other}`, [OWNER_HEADER]: owner };
  for (const headers of [{ authorization: `Key ${other}` }, asOther]) {
    for (const { status, body } of await askBoth('GET', `/${id}`, { headers })) {
      assert.equal([status, body.error?.code], [404, 'response_not_found']);
    }
    const next = await ask('POST', '', { headers, body: { input: 'And?', previous_response_id: id } });
    assert.equal([next.status, next.body.error?.code], [400, 'previous_response_not_found']);
    assert.is((await ask('DELETE', `/${id}`, { headers })).status, 404);
  }
});

test('a request in the background is refused: nobody would count it', async () => {
  const { status, body } = await ask('POST', '', { body: { input: 'Hello!', background: true } });
  assert.equal([status, body.error?.code], [400, 'unsupported_parameter']);
});

test('new runners find what those before them have stored; a deleted response is gone for all', async () => {
  const before = await cloud.status('chat');
  const restarted = await cloud.cli('apps', 'restart', 'chat', '--json');
  assert.is(restarted.code, 0, restarted.stderr);
  await cloud.untilApp(
    'chat',
    ({ ready, runners }) => ready === 2 && runners.every((each) => !before.runners.some((old) => old.id === each.id)),
  );
  for (const { status } of await askBoth('GET', `/${id}`)) assert.is(status, 200);
  assert.is((await ask('DELETE', `/${id}`)).status, 200);
  for (const { status } of await askBoth('GET', `/${id}`)) assert.is(status, 404);
});

test('nothing is stored for those who call a public app without a key', async () => {
  await cloud.deployed('open', { auth: 'public', scale: { min: 1 } });
  const { body } = await ask('POST', '', { app: 'open', headers: {}, body: { input: 'Hello!' } });
  assert.is(body.store, false);
  const found = await ask('GET', `/${body.id}`, { app: 'open', headers: {} });
  assert.equal([found.status, found.body.error?.code], [400, 'unsupported_parameter']);
  const forged = { [OWNER_HEADER]: 'a'.repeat(64) };
  assert.is((await ask('POST', '', { app: 'open', headers: forged, body: { input: 'Hi' } })).body.store, false);
});

test('with the app, what it has stored is removed', async () => {
  const folder = path.join(cloud.home, 'cloud', 'responses');
  const before = fs.readdirSync(folder).length;
  assert.is((await cloud.cli('apps', 'delete', 'open', '--json')).code, 0);
  const deadline = performance.now() + 60_000;
  while (fs.readdirSync(folder).length === before && performance.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.is(fs.readdirSync(folder).length, before - 1);
});

test('where nothing can be stored, requests are served and say so', async () => {
  await cloud.deployed('bare', { auth: 'private', scale: { min: 0, keepAlive: '100ms' } });
  await cloud.untilApp('bare', ({ state }) => state === 'asleep');
  const folder = path.join(cloud.home, 'cloud', 'responses');
  const moved = fs.mkdtempSync(path.join(cloud.home, 'moved-'));
  fs.renameSync(folder, path.join(moved, 'responses'));
  fs.writeFileSync(folder, '');
  try {
    const { status, body } = await ask('POST', '', { app: 'bare', body: { input: 'Hello!' } });
    assert.equal([status, body.store], [200, false]);
    const logs = await cloud.cli('apps', 'logs', 'bare');
    assert.match(logs.stdout, 'responses are not stored');
  } finally {
    fs.rmSync(folder);
    fs.renameSync(path.join(moved, 'responses'), folder);
  }
});

test('processes that open a new store at the same moment all write to it', async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-responses-'));
  const owners = ['a', 'b', 'c', 'd'];
  const children = owners.map((owner) => startChild('test/support/store-responses.ts', [folder, owner, '25']));
  const exits = await Promise.all(children.map(({ exited }) => exited));
  assert.ok(
    exits.every(({ code }) => code === 0),
    JSON.stringify(exits),
  );
  const store = SqliteStore.open(folder);
  for (const owner of owners) {
    for (let number = 0; number < 25; number++) assert.ok(store.read(owner, `resp_${owner}_${number}`));
  }
  store.close();
  fs.rmSync(folder, { recursive: true });
});

test.run();
