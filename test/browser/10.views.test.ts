// Every view, without models and with a loaded one: accessible, at every width, without requests to other hosts.
import { existsSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { writeOpeningPage } from '../../ts/desktop/opening-codes.js';
import {
  accessibilityProblems,
  goTo,
  newPage,
  openApp,
  overflows,
  startBrowser,
  untilIn,
  VIEWS,
} from '../support/browser.js';
import { type RunningDesktop, removeFolder, startDesktop } from '../support/start-desktop.js';
import { until } from '../support/until.js';

const views = suite('the views of the app');
let app: RunningDesktop;
let browser: Browser;

views.before(async () => {
  [app, browser] = await Promise.all([startDesktop(), startBrowser()]);
});

views.after(async () => {
  await browser.close();
  await app.stop();
  removeFolder(app.folder);
});

views('the file that a started browser is given leads to the app, once', async () => {
  const { code } = await app.done('POST', '/api/v1/opening-code');
  const file = writeOpeningPage(app.folder, app.url, code);
  const page = await browser.newPage();
  await page.goto(pathToFileURL(file).href);
  await page.getByRole('heading', { level: 1 }).waitFor({ timeout: 180_000 });
  assert.is(page.url().split('#')[0], `${app.url}/`);
  assert.not.ok(existsSync(file));
  await page.context().close();
});

for (const [width, colorScheme] of [
  [360, 'dark'],
  [1280, 'light'],
  [2560, 'dark'],
] as const) {
  views(`at a width of ${width}, ${colorScheme}, axe finds nothing, and nothing is wider than the window`, async () => {
    const { page, complaints, foreign, settled } = await openApp(browser, app, {
      viewport: { width, height: 900 },
      colorScheme,
    });
    for (const view of VIEWS) {
      await goTo(page, view);
      await settled();
      assert.equal(await accessibilityProblems(page), [], view);
      assert.not(await overflows(page), view);
    }
    assert.equal(foreign, []);
    // There is no hub behind the address that tests name, which the app replies as an error.
    assert.equal(
      complaints.filter((complaint) => !complaint.includes('/api/v1/hub/')),
      [],
    );
    await page.context().close();
  });
}

views('axe checks the page after transitions and changes, not in the middle', async () => {
  const { page } = await openApp(browser, app);
  await goTo(page, 'Settings');
  const append = (
    what: string,
  ) => `const text = document.querySelector('main').appendChild(document.createElement('p'));
    text.textContent = '${what}';
    Object.assign(text.style, { color: '#ddd', background: '#fff' });
    getComputedStyle(text).color;`;
  await page.evaluate(`(() => {
    ${append('in transition')}
    Object.assign(text.style, { transition: 'color 3600s', color: '#000' });
  })()`);
  assert.equal(await accessibilityProblems(page), []);
  await page.evaluate(`(() => {
    ${append('changed')}
    const real = getComputedStyle;
    globalThis.getComputedStyle = (element, pseudo) => {
      if (element === text) setTimeout(() => (text.style.color = '#000'));
      return real(element, pseudo);
    };
  })()`);
  assert.equal(await accessibilityProblems(page), []);
  await page.evaluate(`{ ${append('light on white')} }`);
  assert.match((await accessibilityProblems(page)).join(), /^color-contrast: <p style/);
  await page.context().close();
});

views('the views are named before any script has run, and by the same names', async () => {
  const names = (page: Page) => page.getByRole('navigation').getByRole('link').allInnerTexts();
  const { page } = await openApp(browser, app);
  const usual = await names(page);
  assert.equal(usual, [...VIEWS]);
  await page.route('**/assets/app-*.js', (route) => route.abort());
  await page.reload();
  await page.getByText('Opening …').waitFor();
  assert.equal(await names(page), usual);
  assert.ok(await page.evaluate(`performance.getEntriesByName('first-contentful-paint').length > 0`));
  await page.context().close();
});

views('a view whose script does not come says so, and the others are there', async () => {
  const { page } = await openApp(browser, app);
  await goTo(page, 'Settings');
  await page.route('**/assets/downloads-view-*.js', (route) => route.abort());
  await page.reload();
  await goTo(page, 'Settings');
  await page.getByRole('navigation').getByRole('link', { name: 'Downloads' }).click();
  await page.getByRole('alert').getByRole('button', { name: 'Reload the page' }).waitFor();
  await goTo(page, 'Search');
  await page.context().close();
});

views('panels and dialogs are accessible too', async () => {
  const { page } = await openApp(browser, app);
  await goTo(page, 'Chat');
  await page.getByRole('button', { name: 'Chat settings' }).click();
  await page.getByRole('button', { name: 'Two models side by side' }).click();
  assert.equal(await accessibilityProblems(page), []);
  await page.getByRole('button', { name: 'Two models side by side' }).click();
  await goTo(page, 'Developer');
  await page.getByText('Load settings').click();
  await page.getByLabel('Context size').waitFor();
  assert.equal(await accessibilityProblems(page), []);
  await goTo(page, 'My Models');
  await page.getByRole('button', { name: 'Load settings of chasqui-demo' }).click();
  await page.getByRole('dialog').waitFor();
  assert.equal(await accessibilityProblems(page), []);
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  assert.is(await page.evaluate('document.activeElement.getAttribute("aria-label")'), 'Load settings of chasqui-demo');
  await page.context().close();
});

views('the theme of the settings goes before that of the system, and is there again at the next visit', async () => {
  const first = await openApp(browser, app, { colorScheme: 'light' });
  const ground = (page: typeof first.page) => page.evaluate('getComputedStyle(document.body).backgroundColor');
  const light = await ground(first.page);
  await goTo(first.page, 'Settings');
  await first.page.getByLabel('Colours').selectOption('dark');
  await first.page.locator('html[data-theme=dark]').waitFor();
  assert.is.not(await ground(first.page), light);
  const second = await openApp(browser, app, { colorScheme: 'light' });
  await second.page.locator('html[data-theme=dark]').waitFor();
  assert.is(await ground(second.page), await ground(first.page));
  await app.done('PUT', '/api/v1/settings', { theme: 'system' });
  // The event reaches every page.
  await second.page.locator('html[data-theme=system]').waitFor();
  for (const { page } of [first, second]) await page.context().close();
});

views('a hidden page has no stream of events, and reads what it missed when it is shown again', async () => {
  const { page } = await newPage(browser, app.url);
  const streams: string[] = [];
  page.on('request', (request) => {
    if (request.url().endsWith('/api/v1/events')) streams.push(request.url());
  });
  await page.goto(`${app.url}/?token=${app.token}`);
  await goTo(page, 'Settings');
  await until(() => streams.length === 1, 'the stream of events');
  const closed = page.waitForEvent('requestfailed', (request) => request.url().endsWith('/api/v1/events'));
  const setHidden = (hidden: boolean) =>
    page.evaluate(`Object.defineProperty(document, 'hidden', { value: ${hidden}, configurable: true });
      document.dispatchEvent(new Event('visibilitychange'));`);
  await setHidden(true);
  await closed;
  const events = await app.watch();
  await app.done('PUT', '/api/v1/settings', { port: 4321 });
  await until(() => events.seen.some(({ name }) => name === 'settings'), 'the event of the change');
  events.close();
  assert.is(await page.getByLabel('Port').inputValue(), '1234');
  await setHidden(false);
  await untilIn(page, `document.querySelector('input[type=number]').value === '4321'`);
  assert.is(streams.length, 2);
  await app.done('PUT', '/api/v1/settings', { port: 1234 });
  await page.context().close();
});

views.run();
