import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { hashOf } from '../../../../ts/cloud/accounts/secret.js';
import { Sessions } from '../../../../ts/cloud/accounts/sessions.js';
import { type TestAccounts, testAccounts } from '../../../support/cloud-accounts.js';

const test = suite<TestAccounts>('unit: people and their sessions');

test.before.each((context) => {
  Object.assign(context, testAccounts());
});

test.after.each((context) => context.remove());

const PASSWORD = 'a relay of runners';
const FROM = { address: '127.0.0.1', browser: 'test' };

function linkOf({ accounts }: TestAccounts): string {
  return accounts.setupPath().split('/').at(-1) as string;
}

test('a link sets a password once, and ends the links before it', async (context) => {
  const { accounts } = context;
  assert.is(accounts.needsSetup(), true);
  const [older, link] = [linkOf(context), linkOf(context)];
  assert.match(link, /^[\w-]{43}$/);
  assert.is(accounts.users.ofLink(older), null);
  assert.is(accounts.users.ofLink(link)?.name, 'owner');
  assert.is((await accounts.users.setPasswordByLink(link, PASSWORD))?.name, 'owner');
  assert.is(accounts.needsSetup(), false);
  assert.is(accounts.users.ofLink(link), null);
  assert.is(await accounts.users.setPasswordByLink(link, 'another password'), null);
  assert.is((await accounts.users.withPassword('OWNER', PASSWORD))?.name, 'owner');
  assert.is(await accounts.users.withPassword('owner', 'another password'), null);
  assert.is(await accounts.users.withPassword('nobody', PASSWORD), null);
});

test('a link used twice at the same time sets one password', async (context) => {
  const link = linkOf(context);
  const { users } = context.accounts;
  const done = await Promise.all([
    users.setPasswordByLink(link, 'the first password'),
    users.setPasswordByLink(link, 'the second password'),
  ]);
  assert.is(done.filter((user) => user !== null).length, 1);
});

test('a link ends after half an hour', (context) => {
  const { users } = context.accounts;
  const link = linkOf(context);
  const now = Date.now() / 1000;
  assert.ok(users.ofLink(link, now + 1790));
  assert.is(users.ofLink(link, now + 1800), null);
});

test('neither links nor sessions nor passwords can be read from the database', async (context) => {
  const { accounts, database } = context;
  const link = linkOf(context);
  await accounts.users.setPasswordByLink(linkOf(context), PASSWORD);
  const cookie = accounts.sessions.begin(accounts.users.named('owner')?.id as string, FROM);
  const text = JSON.stringify(
    ['users', 'sessions', 'setup_links'].map((table) => database.all(`SELECT * FROM ${table}`)),
    (_name, value) => (value instanceof ArrayBuffer ? Buffer.from(value).toString('base64url') : value),
  );
  assert.match(text, hashOf(cookie).toString('base64url'));
  for (const secret of [link, cookie, PASSWORD]) assert.not.match(text, secret);
});

test('a session ends after 12 idle hours, after 7 days, and when it is ended', ({ accounts, database }) => {
  let now = 1_000_000;
  const sessions = new Sessions(database, () => now);
  const user = accounts.users.add('owner');
  const cookie = sessions.begin(user.id, FROM);
  assert.is.not(sessions.begin(user.id, FROM), cookie);
  assert.is(sessions.find(cookie)?.userName, 'owner');
  assert.is(sessions.find('x'.repeat(43)), null);
  for (let hours = 0; hours < 24 * 7 - 1; hours += 11) {
    assert.ok(sessions.find(cookie), `after ${hours} hours`);
    now += 11 * 3600;
  }
  now = 1_000_000 + 24 * 7 * 3600;
  assert.is(sessions.find(cookie), null);

  const idle = sessions.begin(user.id, FROM);
  now += 12 * 3600;
  assert.is(sessions.find(idle), null);

  const [one, other] = [sessions.begin(user.id, FROM), sessions.begin(user.id, FROM)];
  assert.is(sessions.list(user.id).length, 2);
  const id = sessions.find(one)?.id as string;
  assert.is(sessions.end(accounts.users.add('someone else').id, id), false);
  assert.is(sessions.end(user.id, id), true);
  assert.equal([sessions.find(one), sessions.open(id)], [null, null]);
  assert.ok(sessions.find(other));
  sessions.endAll(user.id);
  assert.is(sessions.find(other), null);
});

test('a person has a limited number of sessions; those used last stay', ({ accounts, database }) => {
  let now = 1_000_000;
  const sessions = new Sessions(database, () => now);
  const user = accounts.users.add('owner');
  const cookies = Array.from({ length: 60 }, () => {
    now++;
    return sessions.begin(user.id, FROM);
  });
  assert.is(sessions.list(user.id).length, 50);
  assert.equal([sessions.find(cookies[9] as string), sessions.find(cookies[10] as string) !== null], [null, true]);
});

test('a password counts as just typed for ten minutes', ({ accounts, database }) => {
  let now = 1_000_000;
  const sessions = new Sessions(database, () => now);
  const cookie = sessions.begin(accounts.users.add('owner').id, FROM);
  const isConfirmed = () => sessions.isConfirmed(sessions.find(cookie) as never);
  now += 599;
  assert.is(isConfirmed(), true);
  now += 1;
  assert.is(isConfirmed(), false);
  sessions.confirm(sessions.find(cookie)?.id as string);
  assert.is(isConfirmed(), true);
  // The clock was set back, so the age is unknown.
  now -= 3600;
  assert.is(isConfirmed(), false);
});

test('another password ends all sessions, and removing a person does', async ({ accounts }) => {
  const { users, sessions } = accounts;
  const user = users.add('owner');
  const first = sessions.begin(user.id, FROM);
  await users.setPassword(user.id, PASSWORD);
  assert.is(sessions.find(first), null);
  const second = sessions.begin(user.id, FROM);
  assert.is(users.remove(user.id), true);
  assert.is(sessions.find(second), null);
});

test('one organisation cannot use up the users of all', ({ accounts }) => {
  for (let i = 0; i < 100; i++) accounts.users.add(`user ${i}`, { org: 'acme', role: 'viewer' });
  assert.throws(() => accounts.users.add('one more', { org: 'acme', role: 'viewer' }), /100 users of acme/);
  accounts.users.add('user 0', { org: 'acme', role: 'viewer' });
  accounts.users.add('one more', { org: 'globex', role: 'viewer' });
});

test('names of people', ({ accounts }) => {
  for (const wrong of ['', ' a', '<script>', 'a\nb', 'x'.repeat(65)]) {
    assert.throws(() => accounts.users.add(wrong), /`name`/);
  }
  const { id } = accounts.users.add('María José');
  assert.is(accounts.users.add('María José').id, id);
});

test.run();
