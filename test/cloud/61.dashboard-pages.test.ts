// The dashboard in a real browser: what people do, by mouse and by keyboard, in light and dark, narrow and wide.
import type { Browser } from 'playwright-core';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { startBrowser } from '../support/browser.js';
import { type AxeRules, axeViolations, loadAxe, type OpenedPage, openPage } from '../support/chromium.js';
import { addOwner, PASSWORD, startDashboard, type TestDashboard } from '../support/dashboard.js';

const test = suite<{ dashboard: TestDashboard; browser: Browser }>('cloud: the dashboard’s pages');

test.before(async (context) => {
  context.browser = await startBrowser();
});

test.after(async ({ browser }) => browser.close());

test.before.each(async (context) => {
  context.dashboard = await startDashboard();
  context.dashboard.apps.set('acme', 'chat');
  addOwner(context.dashboard);
});

test.after.each(async ({ dashboard, browser }) => {
  for (const context of browser.contexts()) await context.close();
  assert.equal(dashboard.serverErrors, []);
  await dashboard.close();
});

async function signedIn(
  { browser, dashboard }: { browser: Browser; dashboard: TestDashboard },
  options?: Parameters<typeof openPage>[1],
): Promise<OpenedPage> {
  const opened = await openPage(browser, options);
  await opened.page.goto(`${dashboard.url}/dashboard`);
  await opened.page.getByLabel('Password').fill(PASSWORD);
  await opened.page.getByRole('button', { name: 'Sign in' }).click();
  await opened.page.waitForURL('**/dashboard/apps');
  return opened;
}

test('from the one-time link to a key that works, and to one that does not any more', async (context) => {
  const { browser, dashboard } = context;
  const { page, problems } = await openPage(browser);
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'], { origin: dashboard.url });
  await page.goto(dashboard.url + dashboard.accounts.setupPath());
  await page.getByLabel('New password').fill(PASSWORD);
  await page.getByLabel('Repeat password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Set password' }).click();
  await page.getByRole('link', { name: 'Create key' }).click();
  await page.getByLabel('Name').fill('laptop <script>alert(1)</script>');
  await page.getByLabel('Organisation').fill('acme');
  await page.locator('[name=app]').fill('chat');
  await page.getByRole('button', { name: 'Create key' }).click();
  await page.waitForURL('**/created');
  await page.getByRole('button', { name: 'Copy key' }).click();
  await page.getByRole('button', { name: 'Copied' }).waitFor();
  const key = (await page.evaluate('navigator.clipboard.readText()')) as string;
  assert.match(await page.locator('#curl').innerText(), `Authorization: Key ${key}`);
  assert.equal([dashboard.accounts.ring.check(key)?.org, dashboard.accounts.ring.check(key)?.app], ['acme', 'chat']);
  await page.reload();
  await page.waitForURL('**/dashboard/keys');
  await page.getByRole('rowheader', { name: 'laptop <script>' }).waitFor();
  await page.locator('summary', { hasText: 'Revoke' }).click();
  await page.getByRole('button', { name: 'Revoke key' }).click();
  await page.getByText('1 revoked or expired').waitFor();
  assert.is(dashboard.accounts.ring.check(key), null);
  assert.equal(problems, []);
});

test('all of that without scripts', async ({ browser, dashboard }) => {
  const page = await (await browser.newContext({ javaScriptEnabled: false })).newPage();
  await page.goto(`${dashboard.url}/dashboard/keys/new`);
  await page.getByLabel('Password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByLabel('Name').fill('laptop');
  await page.getByRole('button', { name: 'Create key' }).click();
  const key = (await page.locator('#key').innerText()).trim();
  assert.ok(dashboard.accounts.ring.check(key));
  await page.getByRole('link', { name: 'I have copied it' }).click();
  await page.locator('summary', { hasText: 'Revoke' }).click();
  await page.getByRole('button', { name: 'Revoke key' }).click();
  await page.getByText('1 revoked or expired').waitFor();
  assert.is(dashboard.accounts.ring.check(key), null);
});

test('by keyboard alone', async (context) => {
  const { page } = await signedIn(context);
  const { keys } = context.dashboard.accounts;
  const { id } = keys.create({ name: 'laptop' });
  await page.goto(`${context.dashboard.url}/dashboard/keys`);
  await page.keyboard.press('Tab');
  assert.is(await focusedText(page), 'Skip to the content');
  await page.keyboard.press('Enter');
  const seen: string[] = [];
  for (let i = 0; i < 12 && seen.at(-1) !== 'Revoke'; i++) {
    await page.keyboard.press('Tab');
    seen.push(await focusedText(page));
  }
  assert.is(seen.at(-1), 'Revoke', seen.join(', '));
  assert.ok(!seen.includes('Sign out'), 'the link skips the head');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Revoke key' }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Revoke key' }).waitFor({ state: 'hidden' });
  assert.is(await focusedText(page), 'Revoke');
  await page.keyboard.press('Enter');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.getByText('1 revoked or expired').waitFor();
  assert.type(keys.find(id)?.revokedAt, 'number');
});

function focusedText(page: OpenedPage['page']): Promise<string> {
  return page.evaluate('(document.activeElement.textContent || document.activeElement.tagName).trim()');
}

test('an app’s page follows what happens, and leaves alone what somebody is at', async (context) => {
  const { page, problems } = await signedIn(context);
  const { apps, url } = context.dashboard;
  await page.getByText('ready').waitFor();
  apps.set('acme', 'chat', { state: 'draining' });
  await page.getByText('draining').waitFor();
  await page.getByRole('link', { name: 'acme/chat' }).click();
  await page.waitForURL('**/apps/acme/chat');
  await page.getByLabel('At most').fill('7');
  const isRenewal = (request: { url(): string; resourceType(): string }) =>
    request.url() === page.url() && request.resourceType() === 'fetch';
  // The page handles one change at a time: it has handled the first when it asks for the second.
  for (const running of [1, 2]) {
    const renewal = page.waitForRequest(isRenewal);
    apps.set('acme', 'chat', { state: 'asleep', demand: { running, queued: 0 } });
    await renewal;
  }
  assert.is(await page.getByLabel('At most').inputValue(), '7');
  await page.getByRole('button', { name: 'Set' }).click();
  await page.getByText('Set here').waitFor();
  assert.equal(apps.changes, [['acme/chat scale 0-7', 'owner']]);
  await page.getByLabel('At least').fill('9');
  await page.getByRole('button', { name: 'Set' }).click();
  await page.getByRole('alert').getByText('must not be above').waitFor();
  await page.goto(`${url}/dashboard/apps/acme/chat`);
  await page.locator('summary', { hasText: 'Roll back' }).click();
  await page.getByRole('button', { name: 'Roll back to 1' }).click();
  await page.waitForURL('**/apps/acme/chat');
  assert.equal(apps.changes.at(-1), ['acme/chat to 1', 'owner']);
  assert.equal(problems, []);
});

test('logs come as they are printed, and are text', async (context) => {
  const { page, problems } = await signedIn(context);
  const { apps, url } = context.dashboard;
  apps.print('the first line');
  await page.goto(`${url}/dashboard/apps/acme/chat/logs`);
  await page.getByText('the first line').waitFor();
  await page.getByText('Live').waitFor();
  apps.print('<img src=x onerror=alert(1)> comes later');
  await page.getByText('<img src=x onerror=alert(1)> comes later').waitFor();
  assert.is(await page.locator('.log img').count(), 0);
  for (let i = 0; i < 2100; i++) apps.print(`line ${i}`);
  await page.getByText('line 2099').waitFor();
  assert.is(await page.locator('.log > div').count(), 2000);
  assert.equal(problems, []);
});

test('usage is plotted, tabled and downloaded', async (context) => {
  const { accounts, url } = context.dashboard;
  const { id } = accounts.keys.create({ name: 'laptop' });
  for (const [hours, promptTokens] of [
    [0, 1200],
    [30, 34],
  ] as const) {
    accounts.usage.add({
      keyId: id,
      org: 'acme',
      app: 'chat',
      at: Date.now() - hours * 3_600_000,
      promptTokens,
      cachedTokens: 30,
      completionTokens: 1000,
      status: 200,
      ms: 5,
    });
  }
  accounts.usage.flush();
  const { page, problems } = await signedIn(context);
  await page.goto(`${url}/dashboard/usage`);
  await page.getByRole('row', { name: 'acme/chat 2 0 1,234 60 2,000' }).waitFor();
  assert.is(await page.locator('[data-plot] canvas').count(), 2);
  // The canvas contains colors other than the background.
  const inked = await page.evaluate(
    `(() => { const canvas = document.querySelector('[data-plot] canvas');
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      return data.filter((_, index) => index % 4 === 3 && data[index] > 200).length; })()`,
  );
  assert.ok((inked as number) > 200, `${inked}`);
  await page.getByRole('link', { name: 'Key', exact: true }).click();
  await page.getByRole('row', { name: 'laptop' }).waitFor();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Download CSV' }).click(),
  ]);
  assert.is(download.suggestedFilename(), 'chasqui-usage-week.csv');
  assert.equal(problems, []);
});

const PAGES = [
  ...['apps', 'apps/acme/chat', 'apps/acme/chat/logs', 'keys', 'keys/new', 'usage', 'usage?by=key&range=month'],
  ...['budgets', 'users', 'audit', 'account', 'nothing'],
];

/** At 2560 pixels, pages differ in their margins only. */
const VIEWS: [width: number, scheme: 'light' | 'dark', rules: AxeRules | null][] = [
  [1280, 'light', 'all'],
  [1280, 'dark', 'colors'],
  [2560, 'light', null],
  [360, 'light', 'colors'],
  [360, 'dark', 'all'],
];

/** Entries of the navigation that take several lines. */
const BROKEN_WORDS = `[...document.querySelectorAll('nav[aria-label=Pages] a')].filter((link) => {
  const range = document.createRange();
  range.selectNodeContents(link);
  return range.getClientRects().length > 1;
}).map((link) => link.textContent)`;

test('every page, wide and narrow, light and dark: accessible, nothing beyond the edge', async (context) => {
  const { accounts, apps, url } = context.dashboard;
  fill(context.dashboard);
  const check = async (page: OpenedPage['page'], what: string) => {
    await loadAxe(page);
    for (const [width, colorScheme, rules] of VIEWS) {
      await page.setViewportSize({ width, height: 900 });
      await page.emulateMedia({ colorScheme });
      const where = `${what}, ${width} pixels, ${colorScheme}`;
      if (rules !== null) assert.equal(await axeViolations(page, rules), [], where);
      const beyond = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
      assert.ok((beyond as number) <= 0, `${where}: ${beyond} pixels too wide`);
      assert.equal(await page.evaluate(BROKEN_WORDS), [], where);
    }
  };
  const { page: visited } = await openPage(context.browser);
  for (const each of ['/dashboard/sign-in', accounts.setupPath(), '/dashboard/setup/used']) {
    await visited.goto(url + each);
    await check(visited, each);
  }
  const { page, problems } = await signedIn(context);
  apps.print(`a long line ${'x'.repeat(500)}`);
  for (const each of PAGES) {
    await page.goto(`${url}/dashboard/${each}`);
    await check(page, each);
  }
  await page.goto(`${url}/dashboard/keys`);
  await page.getByText('1 revoked or expired').click();
  await page.locator('summary', { hasText: 'Revoke' }).first().click();
  await check(page, 'a sheet');
  await page.goto(`${url}/dashboard/keys/new`);
  await page.getByText('Limits').click();
  await page.getByLabel('Name').fill('x'.repeat(100));
  await page.getByLabel('Organisation').fill('a b');
  await page.getByRole('button', { name: 'Create key' }).click();
  await page.getByRole('alert').waitFor();
  await check(page, 'a refused form');
  await page.getByLabel('Organisation').fill('o'.repeat(100));
  await page.getByRole('button', { name: 'Create key' }).click();
  await page.waitForURL('**/created');
  await check(page, 'a new key');
  assert.equal(problems, []);
});

/** Creates one object of each kind, with names of maximum length. */
function fill({ accounts, apps, budgets }: TestDashboard): void {
  const long = 'n'.repeat(100);
  accounts.users.add('u'.repeat(64), { org: long, role: 'developer' });
  const budget = {
    tokens: 5e9,
    requests: 1,
    warnPercent: 80,
    webhook: 'http://127.0.0.1:9/hook',
    email: null,
    isFixed: true,
  };
  budgets.set({ ...budget, org: long, keyId: '' });
  apps.set(long, long, { state: 'failed', reason: `The model ${'m'.repeat(120)} is not there.` });
  apps.set('acme', 'asleep', { state: 'asleep', runners: [], revision: null });
  apps.set('acme', 'busy', { state: 'starting', progress: 'fetching weights 43 %' });
  const limits = { requestsPerMinute: 600, tokensPerMinute: 2e6, concurrency: 4, bodyBytes: 2 ** 20 };
  const { id } = accounts.keys.create({
    name: long,
    org: long,
    app: long,
    limits,
    scopes: ['call', 'deploy', 'read', 'admin'],
  });
  accounts.keys.revoke(accounts.keys.create({ name: 'old' }).id);
  for (const [keyId, app] of [
    [id, long],
    [null, 'busy'],
  ] as const) {
    accounts.usage.add({
      keyId,
      org: 'acme',
      app,
      at: Date.now(),
      promptTokens: 123_456_789,
      cachedTokens: 1,
      completionTokens: 1,
      status: 200,
      ms: 1,
    });
  }
  accounts.usage.flush();
  const actor = { kind: 'user', name: 'owner', org: null, app: null, address: '2001:db8:1:2:3:4:5:6' } as const;
  accounts.audit.add({
    actor,
    action: 'app.deploy',
    org: 'acme',
    subject: `${long}/${long}`,
    detail: { message: long },
  });
}

test.run();
