// Sign-in to the dashboard with an OpenID Connect provider, which may be hostile, wrong or down.
import { chromium } from 'playwright-core';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { startChild, untilWritten } from '../support/child.js';
import { openPage } from '../support/chromium.js';
import { TestCloud } from '../support/cloud.js';
import { addOwner, startDashboard, type TestDashboard } from '../support/dashboard.js';
import { chromiumPath } from '../support/find-chromium.mjs';
import { CLIENT, TestProvider } from '../support/test-provider.js';
import { type Reply, tokenIn, Visitor } from '../support/visitor.js';

const EMAIL = 'ana@acme.example';
const START = '/dashboard/sign-in/oidc';

interface Context {
  provider: TestProvider;
  dashboard: TestDashboard;
}

const test = suite<Context>('cloud: sign-in with OpenID Connect');

test.before.each(async (context) => {
  context.provider = await TestProvider.start();
  const { issuer } = context.provider;
  context.dashboard = await startDashboard({ oidc: { issuer, ...CLIENT, domains: ['acme.example'] } });
  context.dashboard.accounts.users.add(EMAIL, { org: 'acme', role: 'viewer' });
});

test.after.each(async ({ provider, dashboard }) => {
  await dashboard.close();
  await provider.close();
});

async function signIn({ provider }: Context, visitor: Visitor, next = '/dashboard/keys'): Promise<Reply> {
  const { location } = await visitor.get(`${START}?next=${encodeURIComponent(next)}`);
  return visitor.get(provider.consent(location));
}

async function isSignedIn(visitor: Visitor): Promise<boolean> {
  return (await visitor.get('/dashboard/account')).status === 200;
}

function audit({ dashboard }: Context): [action: string, subject: string][] {
  return dashboard.accounts.audit.list().map(({ action, subject }) => [action, subject]);
}

test('an invited user signs in with the verified address, with its role', async (context) => {
  const { provider, dashboard } = context;
  const visitor = new Visitor(dashboard);
  assert.match((await visitor.get('/dashboard/sign-in')).text, `${START}?next=`);
  provider.claims = { email: 'Ana@Acme.example' };
  const reply = await signIn(context, visitor);
  assert.equal([reply.status, reply.headers.get('refresh')], [200, '0;url=/dashboard/keys']);
  assert.is((await visitor.get('/dashboard/keys')).status, 200);
  assert.is((await visitor.get('/dashboard/users')).status, 403);
  assert.match((await visitor.get('/dashboard/account')).text, 'You have no password.');
  assert.equal(audit(context)[0], ['sign_in', EMAIL]);
  assert.equal(dashboard.serverErrors, []);
});

test('the request has PKCE, state and nonce, and the callback is that of the public address', async (context) => {
  const { location } = await new Visitor(context.dashboard).get(START);
  const asked = new URL(location ?? '');
  assert.is(asked.origin + asked.pathname, `${context.provider.issuer}/authorize`);
  const { redirect_uri: uri, code_challenge_method: method, scope, ...rest } = Object.fromEntries(asked.searchParams);
  assert.equal([uri, method, scope], [`${context.dashboard.url}${START}/callback`, 'S256', 'openid email']);
  assert.ok(['state', 'nonce', 'code_challenge'].every((name) => (rest[name]?.length ?? 0) >= 43));
});

test('an address that only the user info has is accepted with its verification', async (context) => {
  const { provider, dashboard } = context;
  provider.claims = { email: undefined, email_verified: undefined };
  provider.userinfo = { email: EMAIL, email_verified: false };
  const visitor = new Visitor(dashboard);
  assert.is((await signIn(context, visitor)).status, 403);
  provider.userinfo = { email: EMAIL, email_verified: true };
  assert.is((await signIn(context, visitor)).status, 200);
  provider.userinfo = { email: EMAIL, email_verified: true, sub: 'eve' };
  assert.is((await signIn(context, new Visitor(dashboard))).status, 403);
});

const OTHER_ACCOUNT = /Another account has signed in as ana@acme\.example before\. Ask an owner/;

test('a recycled address does not inherit the account until an owner resets the sign-in', async (context) => {
  const { provider, dashboard } = context;
  const { users } = dashboard.accounts;
  addOwner(dashboard);
  const [ana, eve, owner] = [new Visitor(dashboard), new Visitor(dashboard), new Visitor(dashboard)];
  await signIn(context, ana);
  provider.claims = { sub: 'eve' };
  const refused = await signIn(context, eve);
  assert.equal([refused.status, await isSignedIn(eve)], [403, false]);
  assert.match(refused.text, OTHER_ACCOUNT);
  assert.is(audit(context)[0]?.[0], 'sign_in.failed');
  await owner.signIn();
  const id = users.named(EMAIL)?.id as string;
  assert.match((await owner.get('/dashboard/users')).text, `Signs in with ${new URL(provider.issuer).host}`);
  assert.is((await owner.send(`/dashboard/users/${id}/reset-sign-in`, {}, '/dashboard/users')).status, 303);
  assert.equal(audit(context)[0], ['user.reset_sign_in', EMAIL]);
  assert.is(await isSignedIn(ana), false);
  assert.is((await signIn(context, eve)).status, 200);
  provider.claims = {};
  assert.match((await signIn(context, ana)).text, OTHER_ACCOUNT);
  assert.is(await isSignedIn(ana), false);
});

test('an account keeps its user when its address changes, and takes over no invitation', async (context) => {
  const { provider, dashboard } = context;
  dashboard.accounts.users.add('ana.new@acme.example', { org: 'globex', role: 'owner' });
  await signIn(context, new Visitor(dashboard));
  provider.claims = { email: 'ana.new@acme.example' };
  const visitor = new Visitor(dashboard);
  assert.is((await signIn(context, visitor)).status, 200);
  assert.match((await visitor.get('/dashboard/account')).text, EMAIL);
  provider.claims = { email: 'ana.new@acme.example', email_verified: false };
  assert.is((await signIn(context, new Visitor(dashboard))).status, 403);
});

test('two accounts that sign in with one address at the same time do not both get the user', async (context) => {
  const { provider, dashboard } = context;
  const visitors = await Promise.all(
    ['ana', 'eve'].map(async (sub) => {
      const visitor = new Visitor(dashboard);
      const { location } = await visitor.get(START);
      return { visitor, callback: provider.consent(location, { sub }) };
    }),
  );
  const replies = await Promise.all(visitors.map(({ visitor, callback }) => visitor.get(callback)));
  assert.equal(replies.map(({ status }) => status).sort(), [200, 403]);
});

const now = () => Math.floor(Date.now() / 1000);
const FALSE_CLAIMS: [why: string, claims: () => Record<string, unknown>, says: RegExp][] = [
  ['another issuer', () => ({ iss: 'https://evil.example' }), /OAUTH_JWT_CLAIM_COMPARISON_FAILED/],
  ['another audience', () => ({ aud: 'another-client' }), /OAUTH_JWT_CLAIM_COMPARISON_FAILED/],
  ['several audiences without azp', () => ({ aud: ['chasqui', 'another'] }), /is invalid/],
  ['the nonce of another sign-in', () => ({ nonce: 'x'.repeat(43) }), /OAUTH_JWT_CLAIM_COMPARISON_FAILED/],
  ['no nonce', () => ({ nonce: undefined }), /is invalid/],
  ['an expired token', () => ({ iat: now() - 400, exp: now() - 40 }), /OAUTH_JWT_TIMESTAMP_CHECK_FAILED/],
  ['a token of the future', () => ({ nbf: now() + 60 }), /OAUTH_JWT_TIMESTAMP_CHECK_FAILED/],
  ['no expiry', () => ({ exp: undefined }), /is invalid/],
  ['an unverified address', () => ({ email_verified: false }), /has not verified the e-mail address ana@acme.example/],
  ['no verification', () => ({ email_verified: undefined }), /has not verified/],
  ['a verification that is a text', () => ({ email_verified: 'yes' }), /has not verified/],
  ['no subject', () => ({ sub: undefined }), /is invalid/],
  ['an endless subject', () => ({ sub: 'x'.repeat(256) }), /subject .* is too long/],
  ['no invitation', () => ({ email: 'eve@acme.example' }), /eve@acme.example is not invited/],
  ['a foreign domain', () => ({ email: 'ana@evil.example' }), /addresses of evil.example may not sign in/],
  ['a domain in the local part', () => ({ email: 'ana@acme.example@evil.example' }), /valid e-mail/],
  ['the name of the owner', () => ({ email: 'owner' }), /valid e-mail/],
  ['an address that is no text', () => ({ email: [EMAIL] }), /valid e-mail/],
  ['markup', () => ({ email: '<b>@evil.example' }), /valid e-mail|&#60;b&#62;|evil.example may not/],
];

test('false and foreign claims are refused with the reason, and audited', async (context) => {
  const { provider, dashboard } = context;
  addOwner(dashboard);
  for (const [why, claims, says] of FALSE_CLAIMS) {
    provider.claims = claims();
    const visitor = new Visitor(dashboard);
    const reply = await signIn(context, visitor);
    assert.is(reply.status, 403, why);
    assert.match(reply.text, says, why);
    assert.not.match(reply.text, '<b>', why);
    assert.is(await isSignedIn(visitor), false, why);
    assert.is(audit(context)[0]?.[0], 'sign_in.failed', why);
  }
  // Clocks may differ by 30 seconds.
  provider.claims = { iat: now() - 310, exp: now() - 10 };
  assert.is((await signIn(context, new Visitor(dashboard))).status, 200);
  provider.claims = {};
  provider.hasForeignKey = true;
  assert.is((await signIn(context, new Visitor(dashboard))).status, 403);
  assert.equal(dashboard.serverErrors, []);
});

test('a state is valid once, and only in the browser that started the sign-in', async (context) => {
  const { provider, dashboard } = context;
  const [victim, attacker] = [new Visitor(dashboard), new Visitor(dashboard)];
  const { location } = await attacker.get(START);
  const callback = provider.consent(location);
  assert.is((await victim.get(callback)).status, 403);
  await victim.get(START);
  assert.is((await victim.get(callback)).status, 403);
  assert.is(await isSignedIn(victim), false);
  const cookie = attacker.cookies.get('chasqui-oidc') as string;
  assert.is((await attacker.get(callback)).status, 200);
  for (const again of [callback, provider.consent(location)]) {
    const thief = new Visitor(dashboard);
    thief.cookies.set('chasqui-oidc', cookie);
    const reply = await thief.get(again);
    assert.equal([reply.status, await isSignedIn(thief)], [403, false], again);
  }
});

test('a changed state, another issuer in the callback and an error of the provider are refused', async (context) => {
  const { provider, dashboard } = context;
  const altered: [(url: URLSearchParams) => void, RegExp][] = [
    [(sent) => sent.set('state', `1.${sent.get('state')?.split('.').slice(1).join('.')}`), /has expired/],
    [(sent) => sent.set('state', 'x'), /has expired/],
    [(sent) => sent.append('state', 'x'), /has expired/],
    [(sent) => sent.set('iss', 'https://evil.example'), /is invalid/],
    [(sent) => sent.delete('iss'), /is invalid/],
    [(sent) => sent.delete('code'), /is invalid/],
    [(sent) => sent.set('code', 'made-up'), /refused the sign-in \(invalid_grant\)/],
    [(sent) => sent.set('error', 'access_denied'), /refused the sign-in \(access_denied\)/],
    [(sent) => sent.set('error', '<script>'), /unknown error/],
  ];
  for (const [alter, says] of altered) {
    const visitor = new Visitor(dashboard);
    const { location } = await visitor.get(START);
    const [path, query] = provider.consent(location).split('?');
    const sent = new URLSearchParams(query);
    alter(sent);
    const reply = await visitor.get(`${path}?${sent}`);
    assert.equal([reply.status, says.test(reply.text)], [403, true], reply.text);
    assert.not.match(reply.text, '<script>');
    assert.is(await isSignedIn(visitor), false);
  }
});

test('the sign-in leads to pages of the dashboard only', async (context) => {
  for (const next of [
    'https://evil.example/',
    '//evil.example',
    '/dashboard//evil.example',
    '/\\evil.example',
    'x;url=y',
  ]) {
    const reply = await signIn(context, new Visitor(context.dashboard), next);
    assert.equal([reply.status, reply.headers.get('refresh')], [200, '0;url=/dashboard/apps'], next);
    assert.not.match(reply.text, 'evil');
  }
});

test('a provider that is down is reported, and passwords still work', async (context) => {
  const { provider, dashboard } = context;
  addOwner(dashboard);
  provider.isSilent = true;
  const visitor = new Visitor(dashboard);
  const reply = await visitor.get(START);
  assert.is(reply.status, 503);
  assert.match(reply.text, /Could not reach 127\.0\.0\.1:\d+\. Try again later, or sign in with a password\./);
  for (let i = 0; i < 5; i++) assert.is((await visitor.get(START)).status, 503);
  assert.is(provider.requests.length, 1);
  assert.match(String(dashboard.serverErrors[0]), /discovery at http:.* failed/);
  assert.is((await visitor.signIn()).status, 303);
  assert.is(await isSignedIn(visitor), true);
});

test('a user without a password signs in again to create a key', async (context) => {
  const { dashboard } = context;
  dashboard.accounts.users.change(dashboard.accounts.users.named(EMAIL)?.id as string, { org: 'acme', role: 'owner' });
  const visitor = new Visitor(dashboard);
  await signIn(context, visitor);
  dashboard.database.run('UPDATE sessions SET confirmed_at = confirmed_at - 600');
  const form = await visitor.get('/dashboard/keys/new');
  const [, again = ''] = /href="[^"]*(\/dashboard\/sign-in\/oidc\?again[^"]*)"/.exec(form.text) ?? [];
  const fields = { name: 'ci', scopes: 'call', expires: '30', form_token: tokenIn(form.text) };
  assert.is((await visitor.post('/dashboard/keys', fields)).status, 403);
  const { location } = await visitor.get(again.replaceAll('&#38;', '&'));
  assert.is(new URL(location ?? '').searchParams.get('prompt'), 'login');
  await visitor.get(context.provider.consent(location));
  assert.is((await visitor.send('/dashboard/keys', fields, '/dashboard/keys/new')).status, 403, 'the old form');
  const { form_token: _old, ...fresh } = fields;
  assert.is((await visitor.send('/dashboard/keys', fresh, '/dashboard/keys/new')).status, 303);
});

test('many attempts from one network are refused', async ({ dashboard }) => {
  const visitor = new Visitor(dashboard);
  const replies = await Promise.all(Array.from({ length: 80 }, () => visitor.get(START)));
  const late = replies.filter(({ status }) => status === 429);
  assert.ok(late.length >= 10 && Number(late[0]?.headers.get('retry-after')) > 0, String(late.length));
});

test('Chromium signs in at a real provider of another site, and the cloud knows the session', async () => {
  const provider = startChild('test/support/real-provider.ts', []);
  const [, issuer = ''] = await untilWritten(provider, /^The provider is at (http:\S+)$/m);
  const variables = { CHASQUI_OIDC_SECRET: 'secret-of-the-client' };
  const bound = new RegExp(`^${EMAIL.replaceAll('.', '\\.')} +me +developer +${new URL(issuer).host}$`, 'm');
  const cloud = await TestCloud.start(['--oidc-issuer', issuer, '--oidc-client-id', 'chasqui'], variables);
  const browser = await chromium.launch({ executablePath: chromiumPath() as string, args: ['--no-sandbox'] });
  try {
    assert.is((await cloud.cli('users', 'invite', EMAIL, '--role', 'developer')).code, 0);
    for (const [name, lands] of [
      [EMAIL, 'Account'],
      [`recycled:${EMAIL}`, 'Another account has signed in as'],
      ['unverified@acme.example', 'has not verified'],
      ['eve@acme.example', 'is not invited'],
    ] as const) {
      const { page } = await openPage(browser, { width: 390 });
      await page.goto(`${cloud.url}/dashboard/account`);
      await page.getByRole('link', { name: /^Sign in with localhost:/ }).click();
      await page.locator('input[name=login]').fill(name);
      await page.locator('input[name=password]').fill('any');
      await page.locator('button[type=submit]').click();
      await page.locator('button[type=submit]', { hasText: 'Continue' }).click();
      await page.getByText(lands).first().waitFor();
      assert.is(new URL(page.url()).origin, cloud.url);
      await page.context().close();
    }
    assert.match((await cloud.cli('users', 'list')).stdout, bound);
    assert.is((await cloud.cli('users', 'reset-sign-in', EMAIL)).code, 0);
    assert.not.match((await cloud.cli('users', 'list')).stdout, bound);
    assert.is((await cloud.cli('users', 'reset-sign-in', 'eve')).code, 5);
  } finally {
    await browser.close();
    provider.process.kill();
    await cloud.stop();
  }
});

test.run();
