// A key's life, by the command line, with a runner that computes.
import fs from 'node:fs';
import path from 'node:path';
import type { ChatCompletion } from 'openai/resources';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { PERMISSIONS } from '../../ts/cloud/accounts/permissions.js';
import type { ChasquiError } from '../../ts/errors.js';
import { ROLES } from '../../ts/keys/key-settings.js';
import { openSqlite } from '../../ts/sqlite.js';
import { TestCloud } from '../support/cloud.js';
import { ENDLESS, ENDLESS_CONTEXT } from '../support/long-answer.js';
import { parseReply, sendBytes } from '../support/raw-client.js';
import { until } from '../support/until.js';

const test = suite('cloud: keys');
let cloud: TestCloud;

test.before(async () => {
  cloud = await TestCloud.start();
  await cloud.deployed('chat', { auth: 'private', scale: { min: 1 } });
});
test.after(async () => {
  assert.equal(await cloud.stop(), { code: 0, signal: null });
});

interface Made {
  id: string;
  key: string;
}

interface Usage {
  key_id: string;
  prompt_tokens: number;
  completion_tokens: number;
}

async function create(...limits: string[]): Promise<Made> {
  const { code, stdout, stderr } = await cloud.cli('keys', 'create', '--json', '--org', 'me', ...limits);
  assert.is(code, 0, stderr);
  return JSON.parse(stdout);
}

function ask({ key }: Made): Promise<Response> {
  return cloud.post('chat', { max_tokens: 3, ignore_eos: true }, { authorization: `Key ${key}` });
}

test('usage is reported per key, in the tokens reported to its clients', async () => {
  const [one, other] = [await create(), await create()];
  const told = { prompt: 0, completion: 0 };
  for (const made of [one, other, one]) {
    const { usage } = (await (await ask(made)).json()) as { usage: Usage };
    if (made !== one) continue;
    told.prompt += usage.prompt_tokens;
    told.completion += usage.completion_tokens;
  }
  let used: Usage[] = [];
  await until(async () => {
    used = (await cloud.client.get<{ usage: Usage[] }>('/usage?by=day')).usage;
    const tokens = used.filter(({ key_id }) => key_id === one.id || key_id === other.id);
    return tokens.reduce((sum, each) => sum + each.completion_tokens, 0) === 9;
  }, 'three requests are counted');
  const usedBy = used.filter(({ key_id }) => key_id === one.id);
  const sum = (field: 'prompt_tokens' | 'completion_tokens') => usedBy.reduce((all, each) => all + each[field], 0);
  assert.equal({ prompt: sum('prompt_tokens'), completion: sum('completion_tokens') }, told);
});

test('a key keeps to its limits, and another one does not have them', async () => {
  const [limited, free] = [await create('--requests-per-minute', '2'), await create()];
  const statuses: number[] = [];
  for (let request = 0; request < 3; request++) statuses.push((await ask(limited)).status);
  assert.equal(statuses, [200, 200, 429]);
  assert.is((await ask(free)).status, 200);
});

test('a key is listed, opens until it is revoked, and not after', async () => {
  const made = await create();
  assert.is((await ask(made)).status, 200);
  const list = JSON.parse((await cloud.cli('keys', 'list', '--json')).stdout) as { id: string }[];
  assert.ok(list.some(({ id }) => id === made.id));
  assert.is((await cloud.cli('keys', 'revoke', made.id)).code, 0);
  assert.is((await ask(made)).status, 401);
});

test('the management API refuses a request without a key before its body', async () => {
  const head = ['POST /api/cloud/v1/apps/me/chat/revisions HTTP/1.1', 'host: x', 'content-length: 1000', '', ''];
  const { statusCode, body } = parseReply(await sendBytes(cloud.url, head.join('\r\n')));
  assert.equal([statusCode, JSON.parse(body).error.code], [401, 'invalid_api_key']);
});

test('simultaneous requests do not exceed the tokens of a key', async () => {
  const limited = await create('--tokens-per-minute', '5');
  const replies = await Promise.all(Array.from({ length: 6 }, () => ask(limited)));
  const statuses = replies.map(({ status }) => status).sort();
  assert.equal(statuses, [200, 429, 429, 429, 429, 429]);
});

/** Tokens of a key in the database. */
async function usedBy({ id }: Made): Promise<{ requests: number; prompt: number; completion: number }> {
  const { usage } = await cloud.client.get<{ usage: (Usage & { requests: number })[] }>('/usage?by=day');
  const own = usage.find(({ key_id }) => key_id === id);
  return { requests: own?.requests ?? 0, prompt: own?.prompt_tokens ?? 0, completion: own?.completion_tokens ?? 0 };
}

test('an aborted reply that is not streamed counts', async () => {
  const made = await create();
  const leaving = new AbortController();
  const body = { model: 'chasqui-demo', messages: [{ role: 'user', content: 'Hello!' }] };
  await cloud.deployed('endless', { auth: 'private', context: ENDLESS_CONTEXT });
  const reply = fetch(`${cloud.url}/me/endless/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Key ${made.key}` },
    body: JSON.stringify({ ...body, ...ENDLESS }),
    signal: leaving.signal,
  }).catch(() => null);
  await cloud.untilApp('endless', ({ demand }) => demand.running === 1);
  leaving.abort();
  await reply;
  await until(async () => (await usedBy(made)).prompt > 0, 'it is counted');
  assert.is((await usedBy(made)).requests, 1);
});

test('a key is revoked although the disk is full, and that is stored later', async () => {
  const made = await create();
  assert.is((await ask(made)).status, 200);
  const full = "BEGIN SELECT RAISE(ABORT, 'no space is left'); END";
  const databases = [
    openSqlite(path.join(cloud.home, 'chasqui.db')),
    openSqlite(path.join(cloud.home, 'cloud/cloud.db')),
  ];
  databases[0]?.exec(`CREATE TRIGGER full BEFORE UPDATE ON api_keys ${full}`);
  databases[1]?.exec(`CREATE TRIGGER full BEFORE INSERT ON audit ${full}`);
  const revoked = await cloud.cli('keys', 'revoke', made.id);
  assert.is(revoked.code, 0, revoked.stderr);
  assert.is((await ask(made)).status, 401);
  for (const database of databases) database.exec('DROP TRIGGER full');
  const stored = () => databases[0]?.prepare('SELECT revoked_at FROM api_keys WHERE id = ?').get(made.id);
  await until(() => (stored() as { revoked_at: number | null }).revoked_at !== null, 'it is stored');
  for (const database of databases) database.close();
  await until(async () => {
    const { audit } = await cloud.client.get<{ audit: { action: string; subject: string }[] }>('/audit?limit=20');
    return audit.some(({ action, subject }) => action === 'key.revoke' && subject === made.id);
  }, 'it is in the audit log');
});

test('each role may call its management routes only, of its organisation', async () => {
  const SAMPLES = { ':org': 'me', ':app': 'none', ':id': 'none', ':name': 'NAME', ':sha256': '0'.repeat(64) };
  const call = async (route: string, key: string) => {
    const [method = '', url = ''] = route.split(' ');
    const target = url.replace(/:\w+/g, (name) => SAMPLES[name as keyof typeof SAMPLES]);
    const headers = { authorization: `Key ${key}` };
    const reply = await fetch(cloud.url + target, { method, headers });
    const text = await reply.text();
    return { status: reply.status, code: text.startsWith('{') ? JSON.parse(text).error?.code : undefined };
  };
  for (const [role, scopes] of Object.entries(ROLES)) {
    const { key, ...made } = await cloud.client.post<{ key: string; role: string; scopes: string[] }>('/keys', {
      role,
    });
    assert.equal([made.role, made.scopes], [role, scopes]);
    for (const [route, scope] of Object.entries(PERMISSIONS)) {
      const { status, code } = await call(route, key);
      const isAllowed = (scopes as readonly string[]).includes(scope);
      assert.is(code === 'permission_denied', !isAllowed, `${role} ${route}: ${status} ${code}`);
      assert.ok(status < 500, `${role} ${route}: ${status}`);
    }
  }
  const { key } = await cloud.client.post<{ key: string }>('/keys', { role: 'owner', org: 'acme' });
  for (const route of Object.keys(PERMISSIONS)) {
    if (route.includes(':org')) assert.is((await call(route, key)).code, 'permission_denied', route);
    assert.is((await call(route, 'nonsense')).status, 401, route);
  }
  assert.is((await cloud.cli('keys', 'create', '--role', 'king')).code, 2);
  assert.is((await cloud.cli('keys', 'create', '--role', 'viewer', '--scopes', 'read')).code, 2);
  const viewer = JSON.parse((await cloud.cli('keys', 'create', '--role', 'viewer', '--org', 'me', '--json')).stdout);
  const { keys } = await cloud.client.get<{ keys: { id: string; role: string }[] }>('/keys');
  assert.is(keys.find(({ id }) => id === viewer.id)?.role, 'viewer');
  for (const body of [{ role: 'king' }, { role: 'owner', scopes: ['read'] }, { role: '\u001b[2J' }]) {
    const failure = await cloud.client.post('/keys', body).catch((error: unknown) => error);
    assert.is((failure as ChasquiError).code, 'invalid_value');
  }
});

test('the reply to a new key waits until the key is on the disk', async () => {
  const log = path.join(cloud.home, 'chasqui.db-wal');
  fs.renameSync(log, `${log}.moved`);
  const failure = await cloud.client.post('/keys', { org: 'me' }).catch((error: unknown) => error);
  fs.renameSync(`${log}.moved`, log);
  assert.is((failure as ChasquiError).code, 'key_store_failed');
  await create();
});

test('a key does not learn from cached tokens what another one has sent', async () => {
  const [one, two] = [await create(), await create()];
  const messages = [{ role: 'user', content: 'The secret is in the seventh drawer. '.repeat(8) }];
  const cachedFor = async ({ key }: Made) => {
    const reply = await cloud.post('chat', { messages, max_tokens: 1 }, { authorization: `Key ${key}` });
    return ((await reply.json()) as ChatCompletion).usage?.prompt_tokens_details?.cached_tokens;
  };
  assert.is(await cachedFor(one), 0);
  assert.ok(Number(await cachedFor(one)) > 30);
  assert.is(await cachedFor(two), 0);
});

test('a request counts although the cloud was killed before its end', async () => {
  const made = await create();
  const options = { max_tokens: 7000, ignore_eos: true, temperature: 9, stream: true };
  await cloud.deployed('long', { auth: 'private', context: 8192 });
  const reply = await cloud.post('long', options, { authorization: `Key ${made.key}` });
  await until(async () => (await usedBy(made)).completion > 0, 'a part of it is stored');
  await cloud.kill();
  await reply.text().catch(() => '');
  await cloud.begin();
  const { requests, prompt, completion } = await usedBy(made);
  assert.is(requests, 1);
  assert.ok(prompt > 0 && completion > 0);
});

test.run();
