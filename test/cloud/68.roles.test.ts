// Roles of the dashboard: their pages and actions, and the isolation of organisations.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ROLE_NAMES, ROLES, type Role, type Scope } from '../../ts/keys/key-settings.js';
import { addUser, startDashboard, type TestDashboard } from '../support/dashboard.js';
import { until } from '../support/until.js';
import { tokenIn, Visitor } from '../support/visitor.js';

const test = suite<{ dashboard: TestDashboard }>('cloud: roles of the dashboard');

test.before.each(async (context) => {
  context.dashboard = await startDashboard();
  for (const org of ['acme', 'globex']) context.dashboard.apps.set(org, 'chat');
});

test.after.each(async ({ dashboard }) => {
  assert.equal(dashboard.serverErrors, []);
  await dashboard.close();
});

async function member(dashboard: TestDashboard, role: Role, org: string | null = 'acme'): Promise<Visitor> {
  const name = `${role} of ${org ?? 'all'}`;
  addUser(dashboard, name, { org, role });
  const visitor = new Visitor(dashboard);
  assert.is((await visitor.signIn(undefined, name)).status, 303);
  return visitor;
}

const PAGES: [page: string, scope: Scope][] = [
  ['apps', 'read'],
  ['apps/acme/chat', 'read'],
  ['apps/acme/chat/logs', 'read'],
  ['keys', 'read'],
  ['keys/new', 'admin'],
  ['usage', 'read'],
  ['usage.csv', 'read'],
  ['users', 'admin'],
  ['audit', 'admin'],
  ['account', 'read'],
];

const FORMS: [form: string, scope: Scope, fields: Record<string, string>][] = [
  ['apps/acme/chat/restart', 'deploy', {}],
  ['apps/acme/chat/scale', 'deploy', { min: '0', max: '1' }],
  ['apps/acme/chat/roll-back', 'deploy', { revision: '1' }],
  ['keys', 'admin', { name: 'own', scopes: 'call', expires: 'never' }],
  ['keys/0123456789abcdef/revoke', 'admin', {}],
  ['users', 'admin', { name: 'ana', role: 'viewer' }],
  ['users/none/remove', 'admin', {}],
];

test('each role opens the pages and sends the forms of its scopes', async ({ dashboard }) => {
  for (const role of ROLE_NAMES) {
    const visitor = await member(dashboard, role);
    const has = (scope: Scope) => (ROLES[role] as readonly Scope[]).includes(scope);
    const token = tokenIn((await visitor.get('/dashboard/account')).text);
    for (const [page, scope] of PAGES) {
      assert.is((await visitor.get(`/dashboard/${page}`)).status, has(scope) ? 200 : 403, `${role}: ${page}`);
    }
    for (const [form, scope, fields] of FORMS) {
      const { changes } = dashboard.apps;
      const before = [changes.length, dashboard.accounts.audit.list().length];
      const { status } = await visitor.post(`/dashboard/${form}`, { ...fields, form_token: token });
      if (has(scope)) assert.ok([200, 303, 404, 400].includes(status), `${role}: ${form}: ${status}`);
      else {
        assert.is(status, 403, `${role}: ${form}`);
        assert.equal([changes.length, dashboard.accounts.audit.list().length], before, form);
      }
    }
  }
});

test('pages show no action that the role does not allow', async ({ dashboard }) => {
  const actions = async (visitor: Visitor) => {
    const texts = await Promise.all(
      ['apps/acme/chat', 'keys', 'account'].map(async (page) => (await visitor.get(`/dashboard/${page}`)).text),
    );
    return [
      'Restart runners',
      '/scale"',
      'Roll back',
      'Create key',
      'Revoke key',
      '/dashboard/users"',
      '/dashboard/audit"',
    ].filter((action) => texts.some((text) => text.includes(action)));
  };
  dashboard.accounts.keys.create({ org: 'acme' });
  assert.equal(await actions(await member(dashboard, 'viewer')), []);
  assert.equal(await actions(await member(dashboard, 'developer')), ['Restart runners', '/scale"', 'Roll back']);
  assert.is((await actions(await member(dashboard, 'owner'))).length, 7);
});

test('an organisation sees and changes nothing of another', async ({ dashboard }) => {
  const { accounts, apps } = dashboard;
  const at = Date.now();
  const made = ['acme', 'globex', null].map((org) => accounts.keys.create({ org, name: `key-${org}` }));
  const usage = { promptTokens: 7, completionTokens: 1, cachedTokens: 0, status: 200, ms: 1, at };
  for (const org of ['acme', 'globex']) accounts.usage.add({ keyId: null, org, app: `app-of-${org}`, ...usage });
  accounts.usage.flush();
  const other = await member(dashboard, 'owner', 'globex');
  await other.send('/dashboard/users', { name: 'member-of-globex', role: 'viewer' }, '/dashboard/users');
  const owner = await member(dashboard, 'owner');
  for (const page of ['apps', 'keys', 'usage', 'usage?by=key', 'usage.csv', 'users', 'audit']) {
    const { text } = await owner.get(`/dashboard/${page}`);
    assert.not.match(text, 'globex', page);
    assert.not.match(text, 'key-null', page);
  }
  assert.match((await other.get('/dashboard/usage')).text, 'app-of-globex');
  for (const page of ['', '/logs']) assert.is((await owner.get(`/dashboard/apps/globex/chat${page}`)).status, 404);
  assert.is((await owner.get('/dashboard/live/logs/globex/chat')).status, 404);
  const token = tokenIn((await owner.get('/dashboard/account')).text);
  const post = async (form: string, fields: Record<string, string> = {}) =>
    (await owner.post(`/dashboard/${form}`, { ...fields, form_token: token })).status;
  for (const [form, , fields] of FORMS.slice(0, 3)) {
    assert.is(await post(form.replace('acme', 'globex'), fields), 404, form);
  }
  assert.equal(apps.changes, []);
  for (const { id, key } of made.slice(1)) {
    assert.is(await post(`keys/${id}/revoke`), 404);
    assert.ok(accounts.ring.check(key));
  }
  const key = { name: 'x', scopes: 'call', expires: 'never' };
  assert.is(await post('keys', { ...key, org: 'globex' }), 403);
  assert.is(await post('keys', key), 303);
  assert.is(accounts.keys.list().find(({ name }) => name === key.name)?.org, 'acme');
  const [, globex] = accounts.users.list().filter(({ org }) => org === 'globex');
  assert.is(await post(`users/${globex?.id}/remove`), 404);
  for (const name of ['member-of-globex', 'owner of globex', 'owner']) {
    assert.is(await post('users', { name, role: 'owner' }), 400, name);
  }
  assert.is(await post('users', { name: 'ana', role: 'owner', org: 'globex' }), 403);
});

test('an invitation sets a password and a role, and a changed role is that of open sessions', async ({ dashboard }) => {
  const owner = await member(dashboard, 'owner');
  const reply = await owner.send('/dashboard/users', { name: 'ana', role: 'developer' }, '/dashboard/users');
  const [link = ''] = /\/dashboard\/setup\/[\w-]{43}/.exec(reply.text) ?? [];
  const ana = new Visitor(dashboard);
  await ana.send(link, { password: 'a relay of runners', again: 'a relay of runners' }, link);
  const restart = () => ana.send('/dashboard/apps/acme/chat/restart', {}, '/dashboard/account');
  assert.is((await restart()).status, 303);
  await owner.send('/dashboard/users', { name: 'ana', role: 'viewer' }, '/dashboard/users');
  assert.is((await restart()).status, 403);
  const { id = '' } = dashboard.accounts.users.named('ana') ?? {};
  await owner.send(`/dashboard/users/${id}/remove`, {}, '/dashboard/users');
  assert.is((await ana.get('/dashboard/apps')).status, 303);
  const own = dashboard.accounts.users.named('owner of acme')?.id;
  assert.is((await owner.send(`/dashboard/users/${own}/remove`, {}, '/dashboard/users')).status, 403);
});

test('an empty organisation means all for a known user too, and the own one for a restricted owner', async ({
  dashboard,
}) => {
  const { users } = dashboard.accounts;
  users.add('ana', { org: 'acme', role: 'developer' });
  const invite = (visitor: Visitor) =>
    visitor.send('/dashboard/users', { name: 'ana', org: '', role: 'developer' }, '/dashboard/users');
  assert.is((await invite(await member(dashboard, 'owner'))).status, 200);
  assert.is(users.named('ana')?.org, 'acme');
  const operator = await member(dashboard, 'owner', null);
  assert.match((await invite(operator)).text, 'developer of all organisations');
  assert.is(users.named('ana')?.org, null);
});

test('a stream of logs ends when its user is moved to another organisation', async ({ dashboard }) => {
  const { accounts, apps } = dashboard;
  const visitor = await member(dashboard, 'viewer');
  const stream = visitor.get('/dashboard/live/logs/acme/chat');
  await until(() => apps.followers === 1, 'the stream is open');
  const { id = '' } = accounts.users.named('viewer of acme') ?? {};
  accounts.users.change(id, { org: 'globex', role: 'viewer' });
  await until(() => apps.followers === 0, 'the stream has ended');
  await stream;
  assert.is((await visitor.get('/dashboard/live/logs/acme/chat')).status, 404);
});

test('a key of a session ends with it, and with the role that may call', async ({ dashboard }) => {
  const { accounts } = dashboard;
  const bound = () => {
    const { id, key } = accounts.keys.create({ org: 'acme', app: 'chat' });
    const [session] = accounts.sessions.list(accounts.users.named('developer of acme')?.id as string);
    accounts.sessionKeys.add(id, session?.id as string);
    assert.ok(accounts.ring.check(key) && accounts.ring.checkId(id));
    return { id, key };
  };
  const visitor = await member(dashboard, 'developer');
  const first = bound();
  await visitor.send('/dashboard/sign-out', {}, '/dashboard/account');
  assert.equal([accounts.ring.check(first.key), accounts.ring.checkId(first.id)], [null, null]);
  accounts.sessionKeys.flush();
  assert.ok(accounts.keys.find(first.id)?.revokedAt);
  await visitor.signIn(undefined, 'developer of acme');
  const second = bound();
  const { id = '' } = accounts.users.named('developer of acme') ?? {};
  for (const membership of [
    { org: 'acme', role: 'viewer' },
    { org: 'globex', role: 'owner' },
  ] as const) {
    accounts.users.change(id, membership);
    assert.is(accounts.ring.check(second.key), null);
    accounts.users.change(id, { org: 'acme', role: 'developer' });
    assert.ok(accounts.ring.check(second.key));
  }
  accounts.users.remove(id);
  assert.is(accounts.ring.check(second.key), null);
});

test.run();
