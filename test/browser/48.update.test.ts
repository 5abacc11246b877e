// The notice of a newer version. The app finds none here, so the page gets one with its state.
import type { Browser } from 'playwright-core';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { checkPage, goTo, openApp, startBrowser } from '../support/browser.js';
import { type RunningDesktop, removeFolder, startDesktop } from '../support/start-desktop.js';

const updates = suite('notice of a newer version');
let app: RunningDesktop;
let browser: Browser;

updates.before(async () => {
  [app, browser] = await Promise.all([startDesktop(), startBrowser()]);
});

updates.after(async () => {
  await browser.close();
  await app.stop();
  removeFolder(app.folder);
});

const COMMAND = 'npm install -g chasqui@9.8.7';

for (const [width, colorScheme, command] of [
  [1280, 'light', COMMAND],
  [390, 'dark', null],
] as const) {
  updates(`the page tells of it once, with a command if it is signed (${width} px)`, async () => {
    assert.is((await app.done('GET', '/api/v1/state')).update, null);
    const { page, complaints } = await openApp(browser, app, { viewport: { width, height: 860 }, colorScheme });
    await page.route('**/api/v1/state', async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: { ...(await response.json()), update: { version: '9.8.7', command } } });
    });
    await page.reload();
    const told = page.getByText('Version 9.8.7 is available.');
    await told.waitFor();
    await told.waitFor({ state: 'detached' });
    await goTo(page, 'Settings');
    await told.waitFor();
    await told.scrollIntoViewIfNeeded();
    assert.is(await page.getByText(COMMAND).count(), command === null ? 0 : 1);
    await checkPage(page, `update-${width}`);
    await page.getByRole('checkbox', { name: 'Look for newer versions' }).press('Space');
    await page.reload();
    await told.waitFor();
    assert.is(await told.count(), 1);
    assert.not.ok((await app.done('GET', '/api/v1/state')).settings.checkForUpdates);
    await app.done('PUT', '/api/v1/settings', { checkForUpdates: true });
    assert.equal(complaints, []);
    await page.context().close();
  });
}

updates.run();
