// Keyboard shortcuts of the Chat view, and renaming a chat with the keyboard.
import type { Browser } from 'playwright-core';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { accessibilityProblems, goTo, openApp, overflows, startBrowser } from '../support/browser.js';
import { loadLongModel, longChat } from '../support/long-answer.js';
import { type RunningDesktop, removeFolder, startDesktop } from '../support/start-desktop.js';
import { until } from '../support/until.js';

const keys = suite('keyboard shortcuts');
let app: RunningDesktop;
let browser: Browser;

keys.before(async () => {
  [app, browser] = await Promise.all([startDesktop(), startBrowser()]);
  await loadLongModel(app);
});

keys.after(async () => {
  await browser.close();
  await app.stop();
  removeFolder(app.folder);
});

for (const [scheme, width] of [
  ['light', 1280],
  ['dark', 390],
] as const) {
  keys(`stop, edit, help, search and new chat (${scheme}, ${width} px)`, async () => {
    const id = await longChat(app, 'Keys');
    const { page } = await openApp(browser, app, { viewport: { width, height: 860 }, colorScheme: scheme });
    await page.evaluate(`location.hash = '#/chat/${id}'`);
    await page.getByRole('article', { name: 'You' }).waitFor();
    const field = page.getByRole('textbox', { name: 'Message', exact: true });
    await field.fill('And then?');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Stop' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Send' }).waitFor();
    await until(async () => (await app.done('GET', `/api/v1/chats/${id}`)).running === null, 'the end');

    await field.focus();
    await page.keyboard.press('ArrowUp');
    const editor = page.getByRole('textbox', { name: 'Edit the message' });
    assert.is(await editor.inputValue(), 'And then?');
    await page.getByRole('button', { name: 'Cancel' }).click();

    await field.press('?');
    const help = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
    await help.getByText('Stop the completion').waitFor();
    assert.equal(await accessibilityProblems(page), []);
    await page.keyboard.press('Escape');
    await help.waitFor({ state: 'detached' });
    await field.fill('Really');
    await field.press('?');
    await field.press('End');
    assert.is(await field.inputValue(), 'Really?');
    await field.fill('');

    await page.keyboard.press('Control+k');
    await page.locator('.history input:focus').waitFor();
    await page.keyboard.press('Control+Shift+O');
    await page.getByText('Everything stays on this computer.').waitFor();
    await page.locator('.composer textarea:focus').waitFor();
    assert.is(await page.locator('.history').isVisible(), width > 860);
    assert.not(await overflows(page));
    await page.context().close();
  });
}

keys('a chat is renamed with the keyboard', async () => {
  const id = await longChat(app, 'Old name');
  const { page } = await openApp(browser, app);
  await goTo(page, 'Chat');
  await page.getByRole('button', { name: 'Rename the chat Old name' }).press('Enter');
  await page.getByRole('dialog', { name: 'Rename this chat' }).locator('input:focus').waitFor();
  await page.keyboard.type('New name');
  assert.equal(await accessibilityProblems(page), []);
  await page.keyboard.press('Enter');
  await page.getByLabel('History').getByRole('link', { name: 'New name' }).waitFor();
  assert.is((await app.done('GET', `/api/v1/chats/${id}`)).title, 'New name');
  await page.context().close();
});

keys.run();
