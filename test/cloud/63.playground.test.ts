// The playground of the dashboard, in a real browser, with an app that computes.
import type { Browser } from 'playwright-core';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { KeyJson } from '../../ts/cli/keys-place.js';
import { startBrowser } from '../support/browser.js';
import { axeViolations, loadAxe, type OpenedPage, openPage } from '../support/chromium.js';
import { TestCloud } from '../support/cloud.js';
import { until } from '../support/until.js';

const test = suite('cloud: playground');
const PASSWORD = 'a relay of runners';
let cloud: TestCloud;
let browser: Browser;
let opened: OpenedPage;

test.before(async () => {
  [cloud, browser] = await Promise.all([TestCloud.start(), startBrowser()]);
  // More tokens than a stream produces until the sign-out.
  await cloud.deployed('chat', { auth: 'private', scale: { min: 1 }, context: 32_768, slots: 1 });
  await cloud.client.post('/apps/acme/other/revisions', { options: { model: 'demo', context: 512, auth: 'private' } });
  opened = await openPage(browser);
  const { url } = await cloud.client.post<{ url: string }>('/setup-link');
  await opened.page.goto(url);
  await opened.page.getByLabel('New password').fill(PASSWORD);
  await opened.page.getByLabel('Repeat password').fill(PASSWORD);
  await opened.page.getByRole('button', { name: 'Set password' }).click();
  await opened.page.waitForURL('**/dashboard/keys');
});
test.after(async () => {
  await browser.close();
  assert.equal(await cloud.stop(), { code: 0, signal: null });
});

test('an app is tried with a key that expires soon and opens no other app', async () => {
  const { page, problems } = opened;
  const acme = await cloud.client.post<{ key: string }>('/keys', { org: 'acme' });
  await page.goto(`${cloud.url}/dashboard/apps/me/chat`);
  await page.getByRole('link', { name: 'Try' }).click();
  const field = page.getByLabel('API key of this app');
  await field.fill(acme.key);
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByRole('alert').waitFor();
  await loadAxe(page);
  assert.equal(await axeViolations(page), []);
  const replied = page.waitForResponse('**/try/key');
  await page.getByRole('button', { name: 'Create a key for one hour' }).click();
  const { key } = (await (await replied).json()) as { key: string };
  await page.getByText('chasqui-demo', { exact: true }).waitFor();
  await page.getByLabel('Message', { exact: true }).fill('Hello!');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByText(/^\d+ tokens in .* · first token after .* · \d+\.\d tokens\/s · \d+ prompt tokens$/).waitFor();
  assert.match(await page.getByRole('article', { name: 'Model' }).innerText(), /\w/);
  assert.equal(problems, []);
  const { keys } = await cloud.client.get<{ keys: KeyJson[] }>('/keys');
  const made = keys.find(({ id }) => key.startsWith(`${id}:`)) as KeyJson;
  assert.equal([made.org, made.app, made.scopes], ['me', 'chat', ['call']]);
  assert.is((made.expires_at ?? 0) - made.created_at, 3600);
  const other = await fetch(`${cloud.url}/acme/other/v1/models`, { headers: { authorization: `Key ${key}` } });
  assert.is(other.status, 401);
  const management = await fetch(`${cloud.url}/api/cloud/v1/apps`, { headers: { authorization: `Key ${key}` } });
  assert.is(management.status, 403);
});

test('keys of the playground are for signed-in users and forms of the page', async () => {
  const { page } = opened;
  const tryUrl = `${cloud.url}/dashboard/apps/me/chat/try`;
  const headers = { origin: cloud.url };
  const post = async (url: string, options: object) =>
    (await page.request.post(url, { maxRedirects: 0, ...options })).status();
  await page.goto(tryUrl);
  const token = await page.locator('#web-page').getAttribute('data-form-token');
  const form = { form_token: token };
  assert.is(await post(`${tryUrl}/key`, { headers, form }), 200);
  assert.is(await post(`${tryUrl}/key`, { headers, form: { form_token: 'x'.repeat(43) } }), 403);
  assert.is(await post(`${tryUrl}/key`, { headers: { origin: 'https://evil.example' }, form }), 403);
  assert.is(await post(`${tryUrl}/key`, { headers, data: { form_token: token } }), 403);
  assert.is(await post(`${tryUrl}/key`, { headers, form: { ...form, more: 'x'.repeat(100_000) } }), 413);
  for (const app of ['me/none', 'none/chat', 'me/%1b%5b2J']) {
    assert.is(await post(`${cloud.url}/dashboard/apps/${app}/try/key`, { headers, form }), 404, app);
    assert.is((await page.request.get(`${cloud.url}/dashboard/apps/${app}/try`)).status(), 404, app);
  }
  for (const name of ['none.js', '..%2findex.html', '..%2f..%2f..%2f..%2fpackage.json', '%00']) {
    assert.is((await page.request.get(`${cloud.url}/dashboard/playground/${name}`)).status(), 404, name);
  }
  const stranger = await fetch(tryUrl, { redirect: 'manual' });
  assert.equal([stranger.status, stranger.headers.get('location')?.split('?')[0]], [303, '/dashboard/sign-in']);
  const body = new URLSearchParams({ form_token: token ?? '' });
  const unsigned = await fetch(`${tryUrl}/key`, { method: 'POST', headers, body, redirect: 'manual' });
  assert.is(unsigned.status, 303);
});

test('a key of the playground ends with the sign-out, and a running stream with it', async () => {
  const { page } = opened;
  const tryUrl = `${cloud.url}/dashboard/apps/me/chat/try`;
  await page.goto(tryUrl);
  const form = { form_token: (await page.locator('#web-page').getAttribute('data-form-token')) ?? '' };
  const made = await page.request.post(`${tryUrl}/key`, { headers: { origin: cloud.url }, form });
  const { key } = (await made.json()) as { key: string };
  const authorization = { authorization: `Key ${key}` };
  const list = async () => (await fetch(`${cloud.url}/me/chat/v1/models`, { headers: authorization })).status;
  assert.is(await list(), 200);
  const stream = await cloud.post('chat', { stream: true, temperature: 9, ignore_eos: true }, authorization);
  const reader = stream.body?.getReader() as ReadableStreamDefaultReader<Uint8Array>;
  await reader.read();
  await page.goto(`${cloud.url}/dashboard/apps`);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.waitForURL('**/sign-in');
  assert.is(await list(), 401);
  let text = '';
  for (let part = await reader.read(); !part.done; part = await reader.read()) text += Buffer.from(part.value);
  assert.match(text, 'The API key was revoked or has expired.');
  const isRevoked = async () => {
    const { keys } = await cloud.client.get<{ keys: KeyJson[] }>('/keys');
    return keys.find(({ id }) => key.startsWith(id))?.revoked_at !== null;
  };
  await until(isRevoked, 'the revocation in the key store');
});

test('keys of the playground are limited per user', async () => {
  const { page } = opened;
  const tryUrl = `${cloud.url}/dashboard/apps/me/chat/try`;
  await page.goto(tryUrl);
  await page.getByLabel('Password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL(tryUrl);
  const form = { form_token: (await page.locator('#web-page').getAttribute('data-form-token')) ?? '' };
  const options = { headers: { origin: cloud.url }, form };
  const replies = await Promise.all(Array.from({ length: 40 }, () => page.request.post(`${tryUrl}/key`, options)));
  const created = replies.filter((reply) => reply.status() === 200).length;
  assert.ok(created >= 10 && created < 30, `${created} keys`);
  assert.ok(replies.every((reply) => [200, 429].includes(reply.status())));
});

test('an invited viewer of an organisation sees its apps only', async () => {
  const invited = await cloud.client.post<{ setup_link: string }>('/users', {
    name: 'ana',
    org: 'acme',
    role: 'viewer',
  });
  const { page } = await openPage(browser);
  await page.goto(invited.setup_link);
  await page.getByLabel('New password').fill(PASSWORD);
  await page.getByLabel('Repeat password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Set password' }).click();
  await page.waitForURL('**/dashboard/keys');
  await page.goto(`${cloud.url}/dashboard/apps`);
  assert.equal(await page.getByRole('listitem').locator('h2').allInnerTexts(), ['acme/other']);
  assert.equal(await page.getByRole('navigation', { name: 'Pages' }).getByRole('link').allInnerTexts(), [
    'Apps',
    'Keys',
    'Usage',
    'Budgets',
    'Account',
  ]);
  for (const path of ['apps/me/chat', 'apps/me/chat/logs']) {
    assert.is((await page.request.get(`${cloud.url}/dashboard/${path}`)).status(), 404);
  }
  await page.goto(`${cloud.url}/dashboard/apps/acme/other`);
  assert.is(await page.getByRole('button').count(), 1);
});

test.run();
