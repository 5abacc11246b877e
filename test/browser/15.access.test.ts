// Two apps in one browser, and pages without a valid cookie.
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import type { Browser } from 'playwright-core';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openApp, startBrowser } from '../support/browser.js';
import { type RunningDesktop, removeFolder, startDesktop } from '../support/start-desktop.js';

const access = suite('access of pages');
let apps: RunningDesktop[];
let browser: Browser;

access.before(async () => {
  browser = await startBrowser();
  apps = await Promise.all([startDesktop(), startDesktop()]);
});

access.after(async () => {
  await browser.close();
  await Promise.all(apps.map((app) => app.stop()));
  for (const { folder } of apps) removeFolder(folder);
});

access('two apps in one browser do not lock each other out', async () => {
  const [one, two] = apps as [RunningDesktop, RunningDesktop];
  const { page } = await openApp(browser, one);
  const other = await page.context().newPage();
  await other.goto(`${two.url}/?token=${two.token}`);
  for (const each of [page, other]) {
    await each.reload();
    await each.getByText('Server stopped').waitFor();
  }
  const names = (await page.context().cookies()).map(({ name }) => name).sort();
  assert.equal(names, apps.map(({ url }) => `chasqui_app_${new URL(url).port}`).sort());
  await page.context().close();
});

access('a browser without a cookie gets an explanation, and a page whose cookie expired another one', async () => {
  const [app] = apps as [RunningDesktop];
  const stranger = await browser.newPage();
  const reply = await stranger.goto(app.url);
  assert.is(reply?.status(), 401);
  await stranger.getByRole('heading', { name: 'This page needs a key' }).waitFor();
  await stranger.context().close();
  const { page } = await openApp(browser, app);
  await page.context().clearCookies();
  await page.evaluate(`document.dispatchEvent(new Event('visibilitychange'))`);
  await page.getByText('This page was closed for too long.').waitFor();
  await page.context().close();
});

access('a program at another port gets the cookie, but cannot add an MCP server with it', async () => {
  const [app] = apps as [RunningDesktop];
  const { page } = await openApp(browser, app);
  const cookies: string[] = [];
  const thief = createServer(({ headers: { cookie } }, reply) => {
    cookies.push(cookie ?? '');
    reply.end();
  });
  await new Promise<void>((resolve) => thief.listen(0, '127.0.0.1', resolve));
  const other = await page.context().newPage();
  await other.goto(`http://127.0.0.1:${(thief.address() as AddressInfo).port}`);
  await new Promise((resolve) => thief.close(resolve));
  assert.match(cookies[0] ?? '', /^chasqui_app_/);
  const headers = { cookie: cookies[0] ?? '', origin: app.url, 'content-type': 'application/json' };
  const body = JSON.stringify({ text: JSON.stringify({ own: { command: 'x' } }), replaces: null });
  const reply = await fetch(`${app.url}/api/v1/mcp`, { method: 'POST', headers, body });
  assert.is(reply.status, 401);
  assert.not.ok(existsSync(path.join(app.folder, 'mcp.json')));
  // Nor can a page without its key.
  await page.evaluate('localStorage.clear()');
  await page.getByRole('navigation').getByRole('link', { name: 'Settings' }).click();
  await page.getByRole('button', { name: 'Add an MCP server' }).click();
  await page.getByLabel('Definition (JSON)').fill('{"own": {"command": "x"}}');
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
  await page.getByText('Open it again: `npx chasqui desktop`').waitFor();
  await page.context().close();
});

access.run();
