// The page behind the QR code of a shared server, on a phone: the address has no TLS, and the key is in its fragment.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { addressWithKey } from '../../ts/desktop/ui/state/key-in-address.js';
import { checkPage, newPage, startBrowser } from '../support/browser.js';
import { type RunningDesktop, removeFolder, startDesktop } from '../support/start-desktop.js';

const phone = suite('the page of a shared server on a phone');
const preload = fileURLToPath(new URL('../support/local-network.mjs', import.meta.url));
const variables = { NODE_OPTIONS: [process.env.NODE_OPTIONS, `--import=${preload}`].filter(Boolean).join(' ') };
const PHONE = { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true, colorScheme: 'dark' } as const;
let app: RunningDesktop;
let browser: Browser;
let address: string;
let key: string;

phone.before(async () => {
  [app, browser] = await Promise.all([startDesktop([], { variables }), startBrowser()]);
  await app.done('POST', '/api/v1/server/start', { model: 'chasqui-demo', port: 0 });
  ({
    key,
    addresses: [address],
  } = await app.done('PUT', '/api/v1/sharing', { on: true }));
});

phone.after(async () => {
  await browser.close();
  await app.stop();
  removeFolder(app.folder);
});

/** A page that reaches the address in the local network, as `local-network.mjs` puts it at a loopback address. */
async function onPhone(): Promise<{ page: Page; complaints: string[]; requested: string[] }> {
  const { page, complaints } = await newPage(browser, app.url, PHONE);
  const requested: string[] = [];
  await page.route(`${address}/**`, async (route) => {
    const url = route.request().url();
    requested.push(url);
    await route.fulfill({ response: await route.fetch({ url: url.replace('192.168.77.2', '127.0.0.2') }) });
  });
  return { page, complaints, requested };
}

const field = (page: Page) => page.getByLabel('Message', { exact: true });
const completions = (page: Page) => page.getByText(/^\d+ tokens in/);

phone('the code opens a chat, and the key leaves the address', async () => {
  const { page, complaints, requested } = await onPhone();
  await page.goto(addressWithKey(address, key));
  await page.getByText('temperature', { exact: true }).waitFor();
  assert.not.ok(await page.evaluate('isSecureContext'));
  assert.is(page.url(), `${address}/`);
  await checkPage(page, 'phone-start');
  await field(page).tap();
  await page.keyboard.type('Hello!');
  await page.keyboard.press('Enter');
  await page.keyboard.type('Second line.');
  assert.is(await field(page).inputValue(), 'Hello!\nSecond line.');
  await page.getByRole('button', { name: 'Send' }).tap();
  await completions(page).waitFor();
  await checkPage(page, 'phone-chat');
  // Chromium reports that it ignores this header without TLS.
  assert.equal(
    complaints.filter((text) => !text.includes('Cross-Origin-Opener-Policy')),
    [],
  );
  const secret = key.split(':')[1] as string;
  assert.ok(requested.length > 5);
  assert.equal(
    requested.filter((url) => url.includes(secret)),
    [],
  );
  const logs = path.join(app.folder, 'logs');
  for (const name of readdirSync(logs)) assert.not.ok(readFileSync(path.join(logs, name), 'utf8').includes(secret));
  await page.reload();
  await page.getByText('temperature', { exact: true }).waitFor();
  await page.context().close();
});

phone('without a key the page asks for it, and a new code continues the chat', async () => {
  const { page } = await onPhone();
  await page.goto(address);
  const asked = page.getByLabel('API key of this server');
  await asked.waitFor();
  await checkPage(page, 'phone-key');
  await asked.fill(key);
  await page.getByRole('button', { name: 'Continue' }).tap();
  await field(page).fill('Hello!');
  await page.getByRole('button', { name: 'Send' }).tap();
  await completions(page).waitFor();
  ({ key } = await app.done('POST', '/api/v1/sharing/key'));
  await field(page).fill('Again!');
  await page.getByRole('button', { name: 'Send' }).tap();
  await asked.waitFor();
  await page.goto(addressWithKey(address, key));
  await page.getByText('Again!', { exact: true }).waitFor();
  assert.is(page.url(), `${address}/`);
  await field(page).fill('And again!');
  await page.getByRole('button', { name: 'Send' }).tap();
  await completions(page).nth(1).waitFor();
  await page.context().close();
});

phone.run();
