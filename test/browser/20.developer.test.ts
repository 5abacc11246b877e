// The Developer view: from a press on Start Server to a client's request in the table, and by keyboard alone.
import net, { type AddressInfo } from 'node:net';
import OpenAI from 'openai';
import type { Browser, Page } from 'playwright-core';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { goTo, openApp, startBrowser, tabTo, untilCopied, untilIn } from '../support/browser.js';
import { freePort } from '../support/free-port.js';
import { ENDLESS, loadLongModel } from '../support/long-answer.js';
import { type RunningDesktop, removeFolder, startDesktop } from '../support/start-desktop.js';

const developer = suite('the Developer view');
let app: RunningDesktop;
let browser: Browser;

developer.before(async () => {
  [app, browser] = await Promise.all([startDesktop(), startBrowser()]);
});

developer.after(async () => {
  await browser.close();
  await app.stop();
  removeFolder(app.folder);
});

async function openDeveloper(): Promise<{ page: Page; complaints: string[] }> {
  const opened = await openApp(browser, app);
  await goTo(opened.page, 'Developer');
  await opened.page.getByLabel('Port').fill(String(await freePort()));
  await opened.page.getByLabel('Port').press('Tab');
  return opened;
}

developer(
  'Start Server opens the port, its address and snippets are copied, and a request is in the table',
  async () => {
    const { page, complaints } = await openDeveloper();
    await page.getByRole('button', { name: 'Start Server' }).click();
    await page.getByText('Running', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Copy address' }).click();
    const [address] = await untilCopied(page, /^http:\/\/localhost:\d+$/);
    await page.getByRole('button', { name: 'Copy code' }).click();
    await untilCopied(page, new RegExp(`curl -N ${address}/v1/chat/completions`));

    const client = new OpenAI({ baseURL: `${address}/v1`, apiKey: 'none' });
    const asked = { model: 'a-nonsense-name', messages: [{ role: 'user' as const, content: 'Hello!' }] };
    const completion = await client.chat.completions.create(asked);
    const row = page.getByRole('row').filter({ hasText: '/v1/chat/completions' });
    await row.getByText('Done').waitFor();
    const tokens = completion.usage as { prompt_tokens: number; completion_tokens: number };
    assert.match(
      await row.innerText(),
      new RegExp(`\\b${tokens.prompt_tokens}\\b[^]*\\b${tokens.completion_tokens}\\b`),
    );
    await row.getByText('chasqui-demo, requested as a-nonsense-name').waitFor();
    await page.getByLabel('Log lines').getByText('/v1/chat/completions').first().waitFor();

    // The plot's figures are words too.
    await page
      .locator('figure', { hasText: 'Memory' })
      .getByText(/[1-9][\d.]* [MG]B/)
      .waitFor();
    await page.getByRole('button', { name: 'Stop Server' }).click();
    await page.getByRole('button', { name: 'Start Server' }).waitFor();
    assert.equal(complaints, []);
    await page.context().close();
  },
);

developer('a running request shows its state, and Cancel ends it', async () => {
  await loadLongModel(app);
  const { page } = await openDeveloper();
  await page.getByRole('button', { name: 'Start Server' }).click();
  await page.getByText('Running', { exact: true }).waitFor();
  const address = await page.locator('.address code').innerText();
  const client = new OpenAI({ baseURL: `${address}/v1`, apiKey: 'none', maxRetries: 0 });
  const asked = { model: 'x', messages: [{ role: 'user' as const, content: 'Count.' }], stream: true as const };
  const read = async () => {
    for await (const _ of await client.chat.completions.create({ ...asked, ...ENDLESS }));
  };
  const ended = read().then(
    () => 'ended',
    () => 'cut off',
  );
  const cancel = page.getByRole('button', { name: /^Cancel the request/ });
  await cancel.click();
  await page.getByRole('row').filter({ hasText: 'Cancelled' }).first().waitFor();
  assert.is(await ended, 'cut off');
  await page.getByRole('button', { name: 'Stop Server' }).click();
  await page.getByRole('button', { name: 'Start Server' }).waitFor();
  await page.context().close();
});

developer('a port that is taken is said to be, and another one is offered', async () => {
  const other = net.createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => other.once('listening', resolve));
  const { page } = await openDeveloper();
  await page.getByLabel('Port').fill(String((other.address() as AddressInfo).port));
  await page.getByRole('button', { name: 'Start Server' }).click();
  const offer = page.getByRole('button', { name: /^Use port \d+$/ });
  await offer.click();
  await page.getByText('Running', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Stop Server' }).click();
  await page.getByRole('button', { name: 'Start Server' }).waitFor();
  other.close();
  await page.context().close();
});

developer('load settings reach the engine, and the log is filtered', async () => {
  const { page } = await openDeveloper();
  await app.done('POST', '/api/v1/models/unload', { instance_id: 'chasqui-demo' });
  await page.getByText('Load settings').click();
  await page.getByLabel('Context size', { exact: true }).fill('512');
  await page.getByText('1 changed').first().waitFor();
  await page.getByRole('button', { name: 'Start Server' }).click();
  await page.getByText('512 context').waitFor();
  const lines = page.getByLabel('Log lines').locator('.log-line');
  await page.getByLabel('Filter the log').fill('no line has this text');
  await page.getByText('No log lines.').waitFor();
  await page.getByLabel('Filter the log').fill('');
  await lines.first().waitFor();
  await page.getByRole('button', { name: 'Stop Server' }).click();
  await page.getByRole('button', { name: 'Start Server' }).waitFor();
  await page.context().close();
});

developer('the keyboard alone starts the server, asks a model and stops', async () => {
  const { page } = await openApp(browser, app);
  await page.keyboard.press('Tab');
  assert.is(await page.evaluate('document.activeElement.textContent'), 'Skip to the content');
  await tabTo(page, 'Developer');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'Developer' }).waitFor();
  await tabTo(page, 'Port');
  await page.keyboard.type(String(await freePort()));
  await tabTo(page, 'Start Server');
  await page.keyboard.press('Enter');
  await page.getByText('Running', { exact: true }).waitFor();
  await page.keyboard.press('Shift+Tab');
  await tabTo(page, 'Stop Server');
  await page.keyboard.press('Space');
  await page.getByText('Stopped', { exact: true }).waitFor();
  // Backwards to the views.
  for (let presses = 0; presses < 30; presses += 1) {
    await page.keyboard.press('Shift+Tab');
    if ((await page.evaluate<string>('document.activeElement.textContent')).trim() === 'Chat') break;
  }
  await page.keyboard.press('Enter');
  await page.getByRole('textbox', { name: 'Message' }).waitFor();
  await untilIn(page, `document.activeElement.tagName === 'TEXTAREA'`);
  await page.keyboard.type('Hello!');
  await page.keyboard.press('Enter');
  await page.locator('.stats').getByText('tok/s').waitFor();
  await page.context().close();
});

developer.run();
