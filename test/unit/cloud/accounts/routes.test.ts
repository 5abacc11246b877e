import type { FastifyInstance } from 'fastify';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { NewKeySettings } from '../../../../ts/keys/key-store.js';
import { KeyStore } from '../../../../ts/keys/key-store.js';
import { accountsApp, LOCAL_TOKEN, type TestAccounts, testAccounts } from '../../../support/cloud-accounts.js';

const test = suite<TestAccounts & { app: FastifyInstance }>('unit: accounts for programs');

test.before.each((context) => {
  Object.assign(context, testAccounts());
  context.app = accountsApp(context.accounts);
});

test.after.each((context) => context.remove());

/** Reply fields that the tests read. */
interface Body {
  id: string;
  key: string;
  name: string;
  org: string;
  app: string;
  scopes: string[];
  created_at: number;
  expires_at: number | null;
  revoked_at: number | null;
  setup_link: string;
  keys: { org: string }[];
  usage: { org: string }[];
  users: { name: string; has_password: boolean }[];
  role: string;
  has_password: boolean;
  error?: { param: string; code: string };
}

type Reply = [status: number, body: Body, code: string | undefined];

async function ask(app: FastifyInstance, key: string | null, call: string, body?: object): Promise<Reply> {
  const [method, path] = call.split(' ') as ['GET', string];
  const reply = await app.inject({
    method,
    url: `/api/cloud/v1${path}`,
    headers: key === null ? {} : { authorization: `Key ${key}` },
    ...(body && { payload: body }),
  });
  const parsed = reply.body.startsWith('{') ? JSON.parse(reply.body) : {};
  return [reply.statusCode, parsed, parsed.error?.code];
}

function keyFor({ accounts }: TestAccounts, settings: NewKeySettings): string {
  return accounts.keys.create(settings).key;
}

test('a key is made, listed, looked at and revoked; its secret is shown once', async (context) => {
  const { app, accounts } = context;
  const admin = keyFor(context, { scopes: ['admin', 'read'] });
  const settings = {
    name: 'laptop',
    org: 'acme',
    app: 'chat',
    scopes: ['call'],
    expires_at: 4_000_000_000,
    limits: { requests_per_minute: 60, tokens_per_minute: 5, concurrency: 2, body_bytes: 4096 },
  };
  const [status, made] = await ask(app, admin, 'POST /keys', settings);
  assert.is(status, 201);
  const { key, id, ...rest } = made;
  assert.equal(rest, { ...settings, role: null, created_at: rest.created_at, revoked_at: null, last_used_at: null });
  assert.is(accounts.ring.check(key)?.limits.bodyBytes, 4096);
  const [, listed] = await ask(app, admin, 'GET /keys');
  assert.not.match(JSON.stringify(listed), key.split(':')[1] as string);
  assert.is((await ask(app, admin, `GET /keys/${id}`))[1].name, 'laptop');
  assert.type((await ask(app, admin, `DELETE /keys/${id}`))[1].revoked_at, 'number');
  assert.is(accounts.ring.check(key), null);
  const adminId = admin.split(':')[0];
  assert.equal(
    accounts.audit.list().map(({ action, subject, actor }) => [action, subject, actor]),
    [
      ['key.revoke', id, `key:${adminId}`],
      ['key.create', id, `key:${adminId}`],
    ],
  );
});

test('unknown, revoked and expired keys, and other forms of the header, are all the same 401', async (context) => {
  const { app, accounts } = context;
  const revoked = accounts.keys.create({ scopes: ['read'] });
  accounts.keys.revoke(revoked.id);
  const expired = accounts.keys.create({ scopes: ['read'], expiresAt: Math.ceil(Date.now() / 1000) + 1 });
  const { Date: realDate } = globalThis;
  const unknown = `0123456789abcdef:${'x'.repeat(43)}`;
  const bodies = new Set<string>();
  for (const key of [null, unknown, revoked.key, '', `${LOCAL_TOKEN}x`, 'x y']) {
    const [status, body, code] = await ask(app, key, 'GET /keys');
    assert.equal([status, code], [401, 'invalid_api_key'], String(key));
    bodies.add(JSON.stringify(body));
  }
  assert.is((await ask(app, expired.key, 'GET /keys'))[0], 200);
  // The clock on the wall decides: it is set two seconds on.
  const offset = realDate.now.bind(realDate);
  realDate.now = () => offset() + 2000;
  try {
    const [status, body] = await ask(app, expired.key, 'GET /keys');
    assert.is(status, 401);
    bodies.add(JSON.stringify(body));
  } finally {
    realDate.now = offset;
  }
  assert.is(bodies.size, 1);
});

test('each call needs its scope', async (context) => {
  const { app } = context;
  const calls: [string, string, object?][] = [
    ['read', 'GET /keys'],
    ['admin', 'POST /keys', {}],
    ['admin', 'DELETE /keys/0123456789abcdef'],
    ['admin', 'GET /users'],
    ['admin', 'POST /users', { name: 'x' }],
    ['admin', 'DELETE /users/x'],
    ['read', 'GET /usage'],
    ['admin', 'GET /audit'],
  ];
  for (const scope of ['call', 'deploy', 'read', 'admin'] as const) {
    const key = keyFor(context, { scopes: [scope] });
    for (const [needed, call, body] of calls) {
      const [status, , code] = await ask(app, key, call, body);
      if (scope === needed) assert.not.ok([401, 403].includes(status), `${call} with ${scope}: ${status}`);
      else assert.equal([status, code], [403, 'permission_denied'], `${call} with ${scope}`);
    }
  }
});

test('a key of one organisation sees and changes nothing of another, and makes none that reaches further', async (context) => {
  const { app, accounts } = context;
  const acme = keyFor(context, { org: 'acme', scopes: ['admin', 'read'] });
  const one = keyFor(context, { org: 'acme', app: 'chat', scopes: ['admin', 'read'] });
  const other = accounts.keys.create({ org: 'other' });
  const everyone = accounts.keys.create();
  const [, listed] = await ask(app, acme, 'GET /keys');
  assert.equal(
    listed.keys.map(({ org }) => org),
    ['acme', 'acme'],
  );
  for (const { id, key } of [other, everyone]) {
    assert.is((await ask(app, acme, `GET /keys/${id}`))[2], 'key_not_found');
    assert.is((await ask(app, acme, `DELETE /keys/${id}`))[2], 'key_not_found');
    assert.ok(accounts.ring.check(key));
  }
  for (const body of [{ org: 'other' }, { org: null }]) {
    assert.is((await ask(app, acme, 'POST /keys', body))[2], 'permission_denied', JSON.stringify(body));
  }
  for (const body of [{ app: 'other' }, { app: null }, { org: 'other', app: 'chat' }]) {
    assert.is((await ask(app, one, 'POST /keys', body))[2], 'permission_denied', JSON.stringify(body));
  }
  const [status, made] = await ask(app, one, 'POST /keys', {});
  assert.equal([status, made.org, made.app, made.scopes], [201, 'acme', 'chat', ['call']]);
  for (const call of ['GET /usage?org=other', 'GET /audit?org=other']) {
    assert.is((await ask(app, acme, call))[2], 'permission_denied', call);
  }
  for (const call of ['GET /users', 'DELETE /users/x', 'POST /users']) {
    assert.is((await ask(app, one, call))[2], 'permission_denied', call);
  }
  assert.is((await ask(app, one, 'GET /audit'))[2], 'permission_denied');
  accounts.audit.add({
    actor: { kind: 'local', name: 'x', org: null, app: null, address: null },
    action: 'app.deploy',
    org: 'other',
    subject: 'other/chat',
  });
  assert.not.match(JSON.stringify((await ask(app, acme, 'GET /audit'))[1]), 'other');
});

test('who may manage an organisation makes any key for it, and no scope of such a key reaches further', async (context) => {
  const { app } = context;
  const brief = keyFor(context, { org: 'acme', scopes: ['admin'], expiresAt: Math.floor(Date.now() / 1000) + 60 });
  const scopes = ['call', 'deploy', 'read', 'admin'];
  const [status, made] = await ask(app, brief, 'POST /keys', { scopes });
  assert.equal([status, made.org, made.expires_at, [...made.scopes].sort()], [201, 'acme', null, [...scopes].sort()]);
  for (const body of [
    { org: null, scopes },
    { org: 'other', scopes: ['call'] },
  ]) {
    for (const key of [brief, made.key]) assert.is((await ask(app, key, 'POST /keys', body))[2], 'permission_denied');
  }
});

test('usage is narrowed to what the key reaches, as JSON and CSV', async (context) => {
  const { app, accounts } = context;
  const at = Date.now();
  for (const org of ['acme', 'other']) {
    accounts.usage.add({ keyId: 'k', org, app: 'chat', at, ...TOKENS });
  }
  accounts.usage.flush();
  const acme = keyFor(context, { org: 'acme', scopes: ['read'] });
  const rows = (await ask(app, acme, 'GET /usage?by=hour'))[1].usage;
  assert.equal(
    rows.map(({ org }) => org),
    ['acme'],
  );
  const all = await ask(app, LOCAL_TOKEN, 'GET /usage');
  assert.is(all[1].usage.length, 2);
  const csv = await app.inject({
    url: '/api/cloud/v1/usage?format=csv',
    headers: { authorization: `Key ${acme}` },
  });
  assert.match(csv.headers['content-type'] as string, 'text/csv');
  assert.is(csv.body.split('\r\n').length, 3);
  for (const query of ['by=week', 'from=x', 'from=5&to=4', 'from=0&to=9999999999', 'org=a&org=b', 'format=xml']) {
    assert.is((await ask(app, acme, `GET /usage?${query}`))[2], 'invalid_value', query);
  }
});

const TOKENS = { promptTokens: 9, completionTokens: 3, cachedTokens: 2, status: 200, ms: 12 };

test('bodies that are wrong are refused with the field’s name', async ({ app }) => {
  const wrong: [object, string | undefined, string][] = [
    [{ nam: 'x' }, 'nam', 'unknown_parameter'],
    [{ name: 5 }, 'name', 'invalid_type'],
    [{ scopes: 'call' }, 'scopes', 'invalid_type'],
    [{ scopes: ['everything'] }, 'scopes', 'invalid_value'],
    [{ limits: [] }, 'limits', 'invalid_type'],
    [{ limits: { rpm: 1 } }, 'limits.rpm', 'unknown_parameter'],
    [{ limits: { concurrency: '1' } }, 'limits.concurrency', 'invalid_type'],
    [{ limits: { concurrency: 0 } }, 'limits.concurrency', 'invalid_value'],
    [{ expires_at: 1 }, 'expires_at', 'invalid_value'],
    [{ org: 'a/b' }, 'org', 'invalid_value'],
    [[], 'body', 'invalid_type'],
  ];
  for (const [body, param, code] of wrong) {
    const [status, reply] = await ask(app, LOCAL_TOKEN, 'POST /keys', body);
    const { error } = reply;
    assert.equal([status, error?.param, error?.code], [400, param, code], JSON.stringify(body));
  }
});

test('people are added by a link, listed and removed', async ({ app, accounts }) => {
  const [status, made] = await ask(app, LOCAL_TOKEN, 'POST /users', { name: 'ana' });
  const link = made.setup_link;
  assert.is(status, 201);
  assert.match(link, /^https:\/\/cloud\.example\/dashboard\/setup\/[\w-]{43}$/);
  assert.is(accounts.users.ofLink(link.split('/').at(-1) as string)?.name, 'ana');
  const [, { users }] = await ask(app, LOCAL_TOKEN, 'GET /users');
  assert.is(users[0]?.has_password, false);
  assert.is((await ask(app, LOCAL_TOKEN, `DELETE /users/${made.id}`))[0], 204);
  assert.is((await ask(app, LOCAL_TOKEN, `DELETE /users/${made.id}`))[2], 'key_not_found');
});

test('users of an organisation are managed by its keys only, and by unrestricted ones', async (context) => {
  const { app, accounts } = context;
  const acme = keyFor(context, { org: 'acme', scopes: ['admin'] });
  const invite = (key: string, body: object) => ask(app, key, 'POST /users', body);
  const [, ana] = await invite(acme, { name: 'ana', role: 'developer' });
  assert.equal([ana.org, ana.role, ana.has_password], ['acme', 'developer', false]);
  const week = 7 * 24 * 3600;
  const secret = String(ana.setup_link).split('/').at(-1) as string;
  assert.equal(
    [week - 10, week].map((after) => accounts.users.ofLink(secret, Date.now() / 1000 + after)?.name),
    ['ana', undefined],
  );
  const [, bob] = await invite(LOCAL_TOKEN, { name: 'bob', org: 'other' });
  assert.equal([bob.org, bob.role], ['other', 'viewer']);
  const [, root] = await invite(LOCAL_TOKEN, { name: 'root' });
  assert.equal([root.org, root.role], [null, 'owner']);
  for (const [key, body, code] of [
    [acme, { name: 'bob' }, 'invalid_value'],
    [acme, { name: 'ROOT' }, 'invalid_value'],
    [acme, { name: 'owner' }, 'invalid_value'],
    [LOCAL_TOKEN, { name: 'Owner', org: 'acme' }, 'invalid_value'],
    [LOCAL_TOKEN, { name: 'owner', role: 'viewer' }, 'invalid_value'],
    [acme, { name: 'cleo', org: 'other' }, 'permission_denied'],
    [acme, { name: 'cleo', org: null }, 'permission_denied'],
    [LOCAL_TOKEN, { name: 'cleo', org: 'a/b' }, 'invalid_value'],
    [LOCAL_TOKEN, { name: 'cleo', role: 'king' }, 'invalid_value'],
    [LOCAL_TOKEN, { name: 'cleo', role: 5 }, 'invalid_type'],
    [LOCAL_TOKEN, { name: 'cleo', scopes: [] }, 'unknown_parameter'],
    [LOCAL_TOKEN, {}, 'missing_required_parameter'],
  ] as const) {
    assert.is((await invite(key, body))[2], code, JSON.stringify(body));
  }
  assert.is(accounts.users.named('cleo'), null);
  const issuer = 'https://accounts.example';
  for (const subject of ['ana', 'bob']) accounts.users.bind(subject, { issuer, subject });
  for (const { id } of [bob, root]) {
    assert.is((await ask(app, acme, `DELETE /users/${id}`))[2], 'key_not_found');
    assert.is((await ask(app, acme, `DELETE /users/${id}/identity`))[2], 'key_not_found');
  }
  assert.is((await ask(app, acme, `DELETE /users/${ana.id}/identity`))[0], 200);
  const bound = ['ana', 'bob'].map((name) => accounts.users.named(name)?.oidcIssuer);
  assert.equal(bound, [null, issuer]);
  const [, { users }] = await ask(app, acme, 'GET /users');
  assert.equal(
    users.map(({ name }: { name: string }) => name),
    ['ana'],
  );
  // A name alone keeps the membership.
  assert.is((await invite(LOCAL_TOKEN, { name: 'ana' }))[1].role, 'developer');
  assert.is((await invite(acme, { name: 'ana', role: 'owner' }))[1].role, 'owner');
  assert.is((await ask(app, acme, `DELETE /users/${ana.id}`))[0], 204);
});

test('when a key was used is written down with the usage', async (context) => {
  const { accounts, folder } = context;
  const { id, key } = accounts.keys.create();
  accounts.ring.check(key);
  accounts.ring.check(`${id}:${'x'.repeat(43)}`);
  assert.is(accounts.keys.find(id)?.lastUsedAt, null);
  accounts.ring.flush();
  const elsewhere = KeyStore.open(folder);
  assert.ok(Math.abs((elsewhere.find(id)?.lastUsedAt ?? 0) - Date.now() / 1000) < 60);
  elsewhere.close();
});

test.run();
