// Access to the dashboard, with requests that browsers would send and others.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { PASSWORD, startDashboard, type TestDashboard } from '../support/dashboard.js';
import { tokenIn, Visitor } from '../support/visitor.js';

const test = suite<{ dashboard: TestDashboard }>('cloud: the dashboard’s doors');

test.before.each(async (context) => {
  context.dashboard = await startDashboard();
});

test.after.each(async ({ dashboard }) => {
  assert.equal(dashboard.serverErrors, []);
  await dashboard.close();
});

const PAGES = [
  'apps',
  'apps/acme/chat',
  'apps/acme/chat/logs',
  'keys',
  'keys/new',
  'usage',
  'usage.csv',
  'audit',
  'account',
];
const STREAMS = ['live/changes', 'live/logs/acme/chat'];

test('pages require a sign-in, which leads back to the page', async ({ dashboard }) => {
  dashboard.apps.set('acme', 'chat');
  const visitor = await Visitor.signedIn(dashboard);
  const stranger = new Visitor(dashboard);
  for (const page of [...PAGES, ...STREAMS]) {
    const reply = await stranger.get(`/dashboard/${page}`);
    assert.is(reply.status, 303, page);
    assert.is(reply.location, `/dashboard/sign-in?next=${encodeURIComponent(`/dashboard/${page}`)}`);
    assert.is(reply.text, '');
  }
  for (const page of PAGES) assert.is((await visitor.get(`/dashboard/${page}`)).status, 200, page);
  const next = '/dashboard/sign-in?next=%2Fdashboard%2Fusage%3Frange%3Dday';
  const form = (await stranger.get(next)).text;
  assert.match(form, 'value="/dashboard/usage?range=day"');
  const fields = { name: 'owner', password: PASSWORD, form_token: tokenIn(form), next: '/dashboard/usage?range=day' };
  assert.is((await stranger.post('/dashboard/sign-in', fields)).location, '/dashboard/usage?range=day');
});

test('signing in leads to no other site', async ({ dashboard }) => {
  const visitor = await Visitor.signedIn(dashboard);
  for (const next of [
    'https://evil.example/',
    '//evil.example',
    '/dashboard//evil.example',
    '/\\evil',
    '/acme/chat',
    'x',
  ]) {
    const reply = await visitor.get(`/dashboard/sign-in?next=${encodeURIComponent(next)}`);
    assert.is(reply.location, '/dashboard/apps', next);
  }
});

test('every page says what a browser may do with it, and is kept by none', async ({ dashboard }) => {
  const visitor = await Visitor.signedIn(dashboard);
  for (const page of ['sign-in', 'keys', 'usage', 'nothing', 'setup/x']) {
    const { headers } = await visitor.get(`/dashboard/${page}`);
    const policy = headers.get('content-security-policy') ?? '';
    for (const part of ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"]) {
      assert.ok(policy.includes(part), `${page}: ${part}`);
    }
    assert.not.match(policy, /unsafe|\*/);
    assert.is(headers.get('x-frame-options'), 'DENY');
    assert.is(headers.get('x-content-type-options'), 'nosniff');
    assert.is(headers.get('cache-control'), 'no-store');
  }
});

test('a cookie without TLS is HttpOnly and strict; with TLS it is of the host alone', async ({ dashboard }) => {
  const path = dashboard.accounts.setupPath();
  const visitor = new Visitor(dashboard);
  const [visit] = (await visitor.get(path)).headers.getSetCookie();
  assert.match(visit ?? '', /^chasqui-visit=[\w-]{43}; Path=\/; Max-Age=3600; HttpOnly; SameSite=Strict$/);
  const [session] = (await visitor.send(path, { password: PASSWORD, again: PASSWORD }, path)).headers.getSetCookie();
  assert.match(session ?? '', /^chasqui-session=[\w-]{43}; Path=\/; Max-Age=604800; HttpOnly; SameSite=Strict$/);

  const behind = await startDashboard({ publicUrl: 'https://cloud.example' });
  const far = new Visitor(behind, 'https://cloud.example');
  far.headers = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'cloud.example' };
  const link = behind.accounts.setupPath();
  const reply = await far.send(link, { password: PASSWORD, again: PASSWORD }, link);
  assert.match(
    reply.headers.getSetCookie()[0] ?? '',
    /^__Host-chasqui-session=[\w-]{43}; Path=\/; Max-Age=604800; HttpOnly; SameSite=Strict; Secure$/,
  );
  assert.is((await far.get('/dashboard/keys')).status, 200);
  await behind.close();
});

test('a setup link works once, and says so afterwards', async ({ dashboard }) => {
  const path = dashboard.accounts.setupPath();
  const first = new Visitor(dashboard);
  for (const wrong of [
    { password: PASSWORD, again: `${PASSWORD}x` },
    { password: 'short', again: 'short' },
  ]) {
    const reply = await first.send(path, wrong, path);
    assert.is(reply.status, 400);
    assert.match(reply.text, 'role="alert"');
  }
  assert.is((await first.send(path, { password: PASSWORD, again: PASSWORD }, path)).location, '/dashboard/keys');
  const second = new Visitor(dashboard);
  const again = await second.get(path);
  assert.is(again.status, 404);
  assert.match(again.text, 'no longer valid');
  // With a token of another form of ours, too.
  const token = tokenIn((await second.get('/dashboard/sign-in')).text);
  const fields = { form_token: token, password: 'another password', again: 'another password' };
  assert.is((await second.post(path, fields)).status, 404);
  assert.is((await second.signIn('another password')).status, 401);
  assert.is((await second.signIn()).status, 303);
});

test('a session that somebody planted is not the one that is signed in', async ({ dashboard }) => {
  const attacker = await Visitor.signedIn(dashboard);
  const planted = attacker.cookies.get('chasqui-session') as string;
  const made = 'A'.repeat(43);
  for (const cookie of [planted, made]) {
    const victim = new Visitor(dashboard);
    await victim.get('/dashboard/sign-in');
    victim.cookies.set('chasqui-session', made);
    const token = tokenIn((await victim.get('/dashboard/sign-in')).text);
    victim.cookies.set('chasqui-session', cookie);
    await victim.post('/dashboard/sign-in', { form_token: token, name: 'owner', password: PASSWORD });
    const own = victim.cookies.get('chasqui-session') as string;
    assert.ok(own !== cookie && own.length === 43);
    // The earlier session is invalid.
    victim.cookies.set('chasqui-session', cookie);
    assert.is((await victim.get('/dashboard/keys')).status, 303);
    victim.cookies.set('chasqui-session', own);
    assert.is((await victim.get('/dashboard/keys')).status, 200);
  }
});

test('two cookies of one name open nothing', async ({ dashboard }) => {
  const visitor = await Visitor.signedIn(dashboard);
  const session = visitor.cookies.get('chasqui-session');
  visitor.cookies.clear();
  visitor.headers = { cookie: `chasqui-session=${session}; chasqui-session=${session}` };
  assert.is((await visitor.get('/dashboard/keys')).status, 303);
});

const FORMS: [path: string, fields: Record<string, string>][] = [
  ['/dashboard/keys', { name: 'planted', scopes: 'call', expires: 'never' }],
  ['/dashboard/keys/0123456789abcdef/revoke', {}],
  ['/dashboard/apps/acme/chat/restart', {}],
  ['/dashboard/apps/acme/chat/roll-back', { revision: '1' }],
  ['/dashboard/apps/acme/chat/scale', { min: '0', max: '0' }],
  ['/dashboard/account/password', { current: PASSWORD, password: 'planted password', again: 'planted password' }],
  ['/dashboard/account/sign-out-everywhere', {}],
  ['/dashboard/account/sessions/0123456789abcdef/end', {}],
  ['/dashboard/sign-out', {}],
];

test('no change is made by a form of another site, nor by one without our token', async ({ dashboard }) => {
  dashboard.apps.set('acme', 'chat');
  const visitor = await Visitor.signedIn(dashboard);
  const other = await Visitor.signedIn(dashboard);
  await visitor.signIn();
  const token = tokenIn((await visitor.get('/dashboard/account')).text);
  const othersToken = tokenIn((await other.get('/dashboard/account')).text);
  const refused: [why: string, token: string, headers: Record<string, string>][] = [
    ['another site', token, { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }],
    ['a page of the same site', token, { 'sec-fetch-site': 'same-site' }],
    ['another origin alone', token, { origin: 'http://127.0.0.1:1', 'sec-fetch-site': '' }],
    ['a name that leads here', token, { origin: 'http://evil.example', 'sec-fetch-site': '', host: 'evil.example' }],
    ['a sandboxed frame', token, { origin: 'null' }],
    ['no headers', token, { origin: '', 'sec-fetch-site': '' }],
    ['no token', '', {}],
    ['a made-up token', 'x'.repeat(43), {}],
    ['another session’s token', othersToken, {}],
  ];
  const before = dashboard.accounts.audit.list().length;
  for (const [path, fields] of FORMS) {
    for (const [why, sent, headers] of refused) {
      const reply = await visitor.post(path, { ...fields, form_token: sent }, headers);
      assert.is(reply.status, 403, `${path}: ${why}`);
    }
  }
  for (const [why, , headers] of refused.slice(0, 6)) {
    const form = tokenIn((await new Visitor(dashboard).get('/dashboard/sign-in')).text);
    const reply = await new Visitor(dashboard).post('/dashboard/sign-in', { form_token: form, name: 'owner' }, headers);
    assert.is(reply.status, 403, `sign-in: ${why}`);
  }
  assert.equal(dashboard.accounts.keys.list(), []);
  assert.equal(dashboard.apps.changes, []);
  assert.is(dashboard.accounts.audit.list().length, before);
  // The same forms, sent as they should be, do their work.
  const made = await visitor.post('/dashboard/keys', { ...FORMS[0]?.[1], form_token: token });
  assert.match(made.location ?? '', /created$/);
  await visitor.post('/dashboard/apps/acme/chat/restart', { form_token: token });
  assert.equal(dashboard.apps.changes, [['acme/chat restart', 'owner']]);
});

test('a request for a page changes nothing, whatever its address', async ({ dashboard }) => {
  const { key, id } = dashboard.accounts.keys.create();
  const visitor = await Visitor.signedIn(dashboard);
  for (const [path] of FORMS) assert.ok([200, 404].includes((await visitor.get(path)).status), path);
  assert.is((await visitor.get(`/dashboard/keys/${id}/revoke`)).status, 404);
  assert.ok(dashboard.accounts.ring.check(key));
});

test('cookies do not open the API, and keys do not open the dashboard', async ({ dashboard }) => {
  const visitor = await Visitor.signedIn(dashboard);
  for (const path of ['keys', 'users', 'usage', 'audit']) {
    assert.is((await visitor.get(`/api/cloud/v1/${path}`)).status, 401, path);
  }
  const { key } = dashboard.accounts.keys.create({ scopes: ['admin', 'read', 'deploy', 'call'] });
  const program = new Visitor(dashboard);
  program.headers = { authorization: `Key ${key}` };
  assert.is((await program.get('/api/cloud/v1/keys')).status, 200);
  program.cookies.set('chasqui-session', key.split(':')[1] as string);
  for (const page of PAGES) assert.is((await program.get(`/dashboard/${page}`)).status, 303, page);
});

test('passwords are tried in vain after a while, from one address or as one person, and it is written down', async ({
  dashboard,
}) => {
  await Visitor.signedIn(dashboard);
  const attacker = new Visitor(dashboard);
  for (let i = 0; i < 10; i++) assert.is((await attacker.signIn(`a wrong password ${i}`)).status, 401);
  // Send all attempts at once, because the limit recovers over time.
  const token = tokenIn((await attacker.get('/dashboard/sign-in')).text);
  const fields = { form_token: token, name: 'owner', password: 'one more wrong password' };
  const replies = await Promise.all(Array.from({ length: 30 }, () => attacker.post('/dashboard/sign-in', fields)));
  const refused = replies.filter(({ status }) => status === 429);
  assert.ok(refused.length >= 15, replies.map(({ status }) => status).join());
  const late = refused.find(({ text }) => text.includes('Too many attempts'));
  assert.ok(Number(late?.headers.get('retry-after')) > 0);
  const failed = dashboard.accounts.audit.list().filter(({ action }) => action === 'sign_in.failed');
  assert.is(failed.length, 10 + replies.length - refused.length);
  // Nothing tells a name that exists from one that does not.
  assert.not.match(late?.text ?? '', /no such|unknown/i);
});

test('signing out, ending a session and signing out everywhere end what they say', async ({ dashboard }) => {
  const [one, other] = [await Visitor.signedIn(dashboard), new Visitor(dashboard)];
  await other.signIn();
  const [, end = ''] =
    /action="(\/dashboard\/account\/sessions\/\w+\/end)"/.exec((await one.get('/dashboard/account')).text) ?? [];
  await one.send(end, {}, '/dashboard/account');
  assert.is((await other.get('/dashboard/keys')).status, 303);
  await other.signIn();
  const cookie = other.cookies.get('chasqui-session') as string;
  await other.send('/dashboard/sign-out', {}, '/dashboard/account');
  other.cookies.set('chasqui-session', cookie);
  assert.is((await other.get('/dashboard/keys')).status, 303);
  await other.signIn();
  await one.send('/dashboard/account/sign-out-everywhere', {}, '/dashboard/account');
  for (const visitor of [one, other]) assert.is((await visitor.get('/dashboard/keys')).status, 303);
});

test('another password needs the old one, and ends the other sessions', async ({ dashboard }) => {
  const [one, other] = [await Visitor.signedIn(dashboard), new Visitor(dashboard)];
  await other.signIn();
  const url = '/dashboard/account/password';
  const fields = { password: 'a longer way to go', again: 'a longer way to go' };
  assert.is((await one.send(url, { ...fields, current: 'not the old one' }, '/dashboard/account')).status, 403);
  assert.is((await one.send(url, { ...fields, again: 'x', current: PASSWORD }, '/dashboard/account')).status, 400);
  assert.is((await one.send(url, { ...fields, current: PASSWORD }, '/dashboard/account')).status, 303);
  assert.is((await one.get('/dashboard/keys')).status, 200);
  assert.is((await other.get('/dashboard/keys')).status, 303);
  assert.is((await other.signIn()).status, 401);
  assert.is((await other.signIn('a longer way to go')).status, 303);
});

test('ten minutes after the password a new key needs it again', async ({ dashboard }) => {
  const visitor = await Visitor.signedIn(dashboard);
  const fields = { name: 'ci', scopes: 'call', expires: '30' };
  assert.not.match((await visitor.get('/dashboard/keys/new')).text, 'type="password"');
  dashboard.database.run('UPDATE sessions SET confirmed_at = confirmed_at - 600');
  assert.match((await visitor.get('/dashboard/keys/new')).text, 'type="password"');
  for (const password of ['', 'a wrong password']) {
    const reply = await visitor.send('/dashboard/keys', { ...fields, password }, '/dashboard/keys/new');
    assert.is(reply.status, 403);
    assert.match(reply.text, 'value="ci"');
  }
  assert.equal(dashboard.accounts.keys.list(), []);
  const made = await visitor.send('/dashboard/keys', { ...fields, password: PASSWORD }, '/dashboard/keys/new');
  assert.is(made.status, 303);
  assert.not.match((await visitor.get('/dashboard/keys/new')).text, 'type="password"');
});

test('a new key is shown once, to the session that made it', async ({ dashboard }) => {
  const [one, other] = [await Visitor.signedIn(dashboard), new Visitor(dashboard)];
  await other.signIn();
  const fields = { name: 'ci', org: 'acme', scopes: 'call', expires: '7', requests_per_minute: '1 000', body_mib: '2' };
  const { location } = await one.send('/dashboard/keys', fields, '/dashboard/keys/new');
  assert.is((await other.get(location as string)).location, '/dashboard/keys');
  const { text } = await one.get(location as string);
  const [key = ''] = /[0-9a-f]{16}:[\w-]{43}/.exec(text) ?? [];
  const checked = dashboard.accounts.ring.check(key);
  assert.equal([checked?.org, checked?.limits.requestsPerMinute, checked?.limits.bodyBytes], ['acme', 1000, 2 ** 21]);
  assert.is((await one.get(location as string)).location, '/dashboard/keys');
  for (const page of PAGES.filter((each) => !each.startsWith('apps/'))) {
    assert.not.match((await one.get(`/dashboard/${page}`)).text, key.split(':')[1] as string);
  }
});

test('invalid fields are named, and keep their value in the form', async ({ dashboard }) => {
  const visitor = await Visitor.signedIn(dashboard);
  const right = { name: 'ci', scopes: 'call', expires: 'never' };
  for (const [wrong, words] of [
    [{ org: 'a b' }, 'The organisation must have'],
    [{ app: 'chat' }, 'The organisation must name'],
    [{ scopes: '' }, 'The permissions must have'],
    [{ expires: 'date', date: '2001-01-01' }, 'The expiry must be a time in the future'],
    [{ expires: 'date', date: '' }, 'The expiry must be'],
    [{ expires: 'soon' }, 'The expiry must be'],
    [{ concurrency: 'two' }, 'Parallel requests must be a whole number'],
    [{ body_mib: '0' }, 'Maximum body size must be a whole number'],
    [{ name: 'x'.repeat(101) }, 'The name must have'],
  ] as [Record<string, string>, string][]) {
    const reply = await visitor.send('/dashboard/keys', { ...right, ...wrong }, '/dashboard/keys/new');
    assert.is(reply.status, 400, words);
    assert.match(reply.text, words);
    const typed = Object.entries(wrong).filter(([field]) => field !== 'expires');
    for (const [, value] of typed) assert.ok(value === '' || reply.text.includes(value), value);
  }
  assert.equal(dashboard.accounts.keys.list(), []);
});

test('names are shown and never run', async ({ dashboard }) => {
  const evil = `"><script>alert(1)</script><img src=x onerror='alert(2)'>`;
  dashboard.apps.set('acme', 'chat', { state: evil, reason: evil, model: evil, events: [], runners: [] });
  dashboard.apps.print(evil);
  const { id } = dashboard.accounts.keys.create({ name: evil, org: 'acme' });
  dashboard.accounts.usage.add({
    keyId: id,
    org: evil,
    app: evil,
    at: Date.now(),
    promptTokens: 1,
    completionTokens: 1,
    cachedTokens: 0,
    status: 200,
    ms: 1,
  });
  dashboard.accounts.usage.flush();
  dashboard.accounts.audit.add({
    actor: { kind: 'user', name: evil, org: null, app: null, address: evil },
    action: evil,
    subject: evil,
    detail: { [evil]: evil },
  });
  const visitor = await Visitor.signedIn(dashboard);
  visitor.headers = { 'user-agent': evil };
  await visitor.signIn();
  for (const page of [...PAGES, 'usage?by=key', 'keys/new']) {
    const { text, headers } = await visitor.get(`/dashboard/${page}`);
    if (!(headers.get('content-type') ?? '').startsWith('text/html')) continue;
    assert.not.match(text, '<script>alert');
    assert.not.match(text, '<img');
  }
  assert.match((await visitor.get('/dashboard/keys')).text, '&#60;script&#62;alert(1)');
  const failed = await visitor.send('/dashboard/sign-in', { name: evil, password: 'x' }, '/dashboard/sign-in');
  assert.not.match(failed.text, '<script>alert');
});

test('bodies that are large, of another type or broken are refused', async ({ dashboard }) => {
  const visitor = await Visitor.signedIn(dashboard);
  const large = await visitor.post('/dashboard/keys', { name: 'x'.repeat(20_000) });
  assert.is(large.status, 413);
  const reply = await fetch(`${dashboard.url}/dashboard/sign-in`, {
    method: 'POST',
    headers: { 'content-type': 'text/xml', origin: dashboard.url },
    body: '<a/>',
  });
  assert.is(reply.status, 415);
});

test('a stream of a page ends with the session, and few are open at once', async ({ dashboard }) => {
  dashboard.apps.set('acme', 'chat');
  const visitor = await Visitor.signedIn(dashboard);
  const cookie = `chasqui-session=${visitor.cookies.get('chasqui-session')}`;
  const open = () => fetch(`${dashboard.url}/dashboard/live/changes`, { headers: { cookie } });
  const streams = [];
  for (let i = 0; i < 14; i++) streams.push(await open());
  assert.is(dashboard.apps.followers, 12);
  await visitor.send('/dashboard/account/sign-out-everywhere', {}, '/dashboard/account');
  const texts = await Promise.all(streams.map((stream) => stream.text()));
  assert.ok(texts.every((text) => text.startsWith('retry:')));
  assert.is(dashboard.apps.followers, 0);
});

test.run();
