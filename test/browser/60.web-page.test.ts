// The web page of `chasqui serve`.
import type { Browser } from 'playwright-core';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { accessibilityProblems, newPage, overflows, startBrowser, tabTo } from '../support/browser.js';
import { type RunningServer, startServer } from '../support/start-server.js';

const pages = suite('web page of a server');
const KEY = 'a-secret-of-this-test';
let browser: Browser;
let open: RunningServer;
let locked: RunningServer;

pages.before(async () => {
  browser = await startBrowser();
  [open, locked] = await Promise.all([startServer(), startServer(['--api-key', KEY])]);
});

pages.after(async () => {
  await browser.close();
  await Promise.all([open.stop(), locked.stop()]);
});

const PHONE = { viewport: { width: 360, height: 740 }, colorScheme: 'dark' } as const;

pages('a message is sent by the keyboard, and its completion is streamed into the page', async () => {
  const { page, complaints, foreign } = await newPage(browser, open.url);
  await page.goto(open.url);
  await page.getByText('chasqui-demo', { exact: true }).waitFor();
  await page.getByText('temperature', { exact: true }).waitFor();
  assert.equal(await accessibilityProblems(page), []);
  await tabTo(page, 'Message');
  await page.keyboard.type('Hello!');
  await page.keyboard.press('Enter');
  await page.getByText('Hello!', { exact: true }).waitFor();
  await page
    .getByText(/^\d+ tokens in \d+\.\d s · first token after \d+\.\d\d s · \d+\.\d tokens\/s · \d+ prompt tokens$/)
    .waitFor();
  const completion = page.getByRole('article', { name: 'Model' });
  assert.match(await completion.innerText(), /\w/);
  assert.equal(await accessibilityProblems(page), []);
  await page.getByRole('button', { name: 'New chat' }).click();
  await completion.waitFor({ state: 'detached' });
  await page.getByText('curl', { exact: true }).click();
  await page.getByText(`curl ${open.url}/v1/chat/completions`).waitFor();
  await page.getByRole('link', { name: 'All endpoints' }).click();
  await page.waitForURL('**/docs');
  assert.equal([...complaints, ...foreign], []);
  await page.context().close();
});

pages('a running completion is stopped, and what came stays', async () => {
  // More tokens than the test waits for.
  const endless = await startServer(['--ctx-size', '65536']);
  const { page } = await newPage(browser, endless.url);
  await page.route('**/v1/chat/completions', (route) => {
    const body = { ...route.request().postDataJSON(), ignore_eos: true, max_tokens: null };
    return route.continue({ postData: JSON.stringify(body) });
  });
  await page.goto(endless.url);
  await page.getByLabel('Message', { exact: true }).fill('Count.');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.locator('.message.assistant .block').first().waitFor();
  await page.getByRole('button', { name: 'Stop' }).click();
  await page.getByRole('button', { name: 'Copy the message' }).waitFor();
  assert.is(await page.getByRole('alert').count(), 0);
  await page.context().close();
  await endless.stop();
});

pages('an error offers to try again', async () => {
  const { page } = await newPage(browser, open.url);
  await page.goto(open.url);
  await page.getByText('temperature', { exact: true }).waitFor();
  await page.route('**/v1/chat/completions', (route) => route.abort());
  await page.getByLabel('Message', { exact: true }).fill('Hello!');
  await page.keyboard.press('Enter');
  await page.getByRole('alert').getByText('The server is not running, or it is restarting.').waitFor();
  assert.equal(await accessibilityProblems(page), []);
  await page.unroute('**/v1/chat/completions');
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByText(/^\d+ tokens in/).waitFor();
  assert.is(await page.getByRole('article').count(), 2);
  await page.context().close();
});

pages('on a phone nothing is wider than the window', async () => {
  const { page } = await newPage(browser, open.url, PHONE);
  await page.goto(open.url);
  await page.getByText('temperature', { exact: true }).waitFor();
  await page.getByText('Python', { exact: true }).click();
  assert.not.ok(await overflows(page));
  assert.equal(await accessibilityProblems(page), []);
  await page.getByLabel('Message', { exact: true }).fill('x'.repeat(300));
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByText(/^\d+ tokens in/).waitFor();
  assert.not.ok(await overflows(page));
  await page.context().close();
});

pages('a server with keys gives the page to everyone, and asks there for a key', async () => {
  const { page, foreign } = await newPage(browser, locked.url);
  await page.goto(locked.url);
  const field = page.getByLabel('API key of this server');
  await field.waitFor();
  assert.is(await page.getByRole('alert').count(), 0);
  assert.equal(await accessibilityProblems(page), []);
  await field.fill('wrong');
  await page.keyboard.press('Enter');
  await page.getByRole('alert').waitFor();
  await field.fill(KEY);
  await page.keyboard.press('Enter');
  await page.getByText('chasqui-demo', { exact: true }).waitFor();
  await page.getByLabel('Message', { exact: true }).fill('Hello!');
  await page.keyboard.press('Enter');
  await page.getByText(/^\d+ tokens in/).waitFor();
  assert.equal(foreign, []);
  await page.context().close();
});

pages('programs get the line of text, and need a key', async () => {
  const text = await fetch(open.url);
  assert.match(await text.text(), /^chasqui: OpenAI-compatible chat completions/);
  assert.match(text.headers.get('vary') ?? '', /\baccept\b/);
  assert.is((await fetch(locked.url)).status, 401);
  assert.is((await fetch(`${locked.url}/v1/models`, { headers: { accept: 'text/html' } })).status, 401);
  const page = await fetch(locked.url, { headers: { accept: 'text/html,*/*' } });
  assert.match(page.headers.get('content-security-policy') ?? '', /default-src 'self'/);
  assert.is(page.status, 200);
});

pages('--no-webui gives browsers the line of text, too', async () => {
  const server = await startServer(['--no-webui']);
  const reply = await fetch(server.url, { headers: { accept: 'text/html' } });
  assert.match(await reply.text(), /^chasqui: OpenAI-compatible/);
  assert.is((await fetch(`${server.url}/icon.svg`)).status, 404);
  await server.stop();
});

pages.run();
