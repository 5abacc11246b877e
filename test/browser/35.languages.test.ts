// The languages of the pages: that of the browser or of the settings, on every view and at both widths.
import type { Browser, Page } from 'playwright-core';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { checkPage, goTo, openApp, startBrowser, untilIn } from '../support/browser.js';
import { type RunningDesktop, removeFolder, startDesktop } from '../support/start-desktop.js';

const languages = suite('the languages of the pages');
let app: RunningDesktop;
let browser: Browser;

languages.before(async () => {
  [app, browser] = await Promise.all([startDesktop(), startBrowser()]);
});

languages.after(async () => {
  await browser.close();
  await app.stop();
  removeFolder(app.folder);
});

const views = ['search', 'downloads', 'models', 'chat', 'developer', 'settings'];
/** The views as the browser's language names them. */
const titles = {
  de: ['Suche', 'Downloads', 'Meine Modelle', 'Chat', 'Entwickler', 'Einstellungen'],
  ja: ['検索', 'ダウンロード', 'マイモデル', 'チャット', '開発者', '設定'],
};

const catalogues = (page: Page): Promise<string[]> =>
  page.evaluate(`performance.getEntriesByType('resource').map(({ name }) => name)
    .flatMap((name) => /\\/(en|de|es|fr|pt|ja|zh)-[A-Z0-9]+\\.js$/.exec(name)?.[1] ?? [])`);

for (const [language, locale] of [
  ['de', 'de-AT'],
  ['ja', 'ja-JP'],
] as const) {
  for (const width of [1280, 390]) {
    languages(`a browser with ${locale} has every view in its language, ${width} px wide`, async () => {
      const viewport = { width, height: 900 };
      const { page, complaints } = await openApp(browser, app, { locale, viewport });
      for (const [index, view] of views.entries()) {
        await page.evaluate(`location.hash = '#/${view}'`);
        await page.getByRole('heading', { level: 1, name: titles[language][index] as string }).waitFor();
        await checkPage(page, `${language}-${width}-${view}`);
      }
      assert.is(await page.evaluate('document.documentElement.lang'), language);
      assert.is(await page.evaluate('document.documentElement.dir'), 'ltr');
      assert.equal(await catalogues(page), [language]);
      assert.equal(complaints, []);
      await page.context().close();
    });
  }
}

languages('the language of the settings goes before that of the browser, on all pages', async () => {
  const { page } = await openApp(browser, app, { locale: 'fr-FR' });
  const other = await openApp(browser, app, { locale: 'en-US' });
  await page.getByRole('navigation').getByRole('link', { name: 'Paramètres' }).click();
  await page.getByLabel('Langue').selectOption('Português');
  await page.getByRole('heading', { level: 1, name: 'Configurações' }).waitFor();
  await untilIn(other.page, `document.documentElement.lang === 'pt'`);
  // Before the first paint, and without the text of index.html, which is English.
  await page.route('**/assets/app-*.js', (route) => route.abort());
  await page.reload();
  assert.is(await page.evaluate('document.documentElement.lang'), 'pt');
  assert.not(await page.getByText('Opening …').isVisible());
  await page.unroute('**/assets/app-*.js');
  await page.reload();
  await page.getByLabel('Idioma').selectOption('Idioma do navegador');
  await page.getByRole('heading', { level: 1, name: 'Paramètres' }).waitFor();
  await untilIn(other.page, `document.documentElement.lang === 'en'`);
  for (const each of [page, other.page]) await each.context().close();
});

languages('plurals and numbers follow the language', async () => {
  await app.done('PUT', '/api/v1/settings', { ttl: 61 });
  const { page } = await openApp(browser, app, { locale: 'de' });
  await page.evaluate(`location.hash = '#/models'`);
  await page.getByText('1 Modell · ').waitFor();
  await page.evaluate(`location.hash = '#/settings'`);
  await page.getByText('Nach 61 Sekunden').waitFor({ state: 'attached' });
  await page.getByText(/^\d+ Kerne? · \d+(,\d)? GB Speicher/).waitFor();
  await app.done('PUT', '/api/v1/settings', { ttl: 60 });
  await page.getByText('Nach 1 Minute', { exact: true }).waitFor({ state: 'attached' });
  await page.context().close();
});

languages('a language that this app does not have becomes English', async () => {
  const { page } = await openApp(browser, app, { locale: 'fi-FI' });
  await goTo(page, 'Settings');
  await page.context().close();
});

languages.run();
