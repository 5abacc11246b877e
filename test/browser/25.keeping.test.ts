// What is set once for a model, and whether the hub has a newer one.
import { readFileSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { accessibilityProblems, goTo, openApp, startBrowser } from '../support/browser.js';
import { demoModelPath } from '../support/demo-model.js';
import { type FakeHub, fakeHub } from '../support/fake-hub.js';
import { type RunningDesktop, removeFolder, startDesktop } from '../support/start-desktop.js';
import { until } from '../support/until.js';

const keeping = suite('what is kept of models');
const REPO = 'ana/Little-GGUF';
const MODEL = `${REPO}:Q4_K_M`;
const demo = readFileSync(demoModelPath);
const content = {
  files: { 'Little-Q4_K_M.gguf': demo, 'README.md': '# Little' },
  gguf: { total: 600_000, architecture: 'llama' },
};
let hub: FakeHub;
let app: RunningDesktop;
let browser: Browser;
let page: Page;

keeping.before(async () => {
  hub = await fakeHub({ [REPO]: content });
  [app, browser] = await Promise.all([startDesktop([], { variables: { HF_ENDPOINT: hub.url } }), startBrowser()]);
  await app.done('POST', '/api/v1/models/download', { model: MODEL });
  const isThere = async () =>
    (await app.done('GET', '/api/v1/models')).models.some((each: { key: string }) => each.key === MODEL);
  await until(isThere, 'the model');
  ({ page } = await openApp(browser, app));
});

keeping.after(async () => {
  await browser.close();
  await app.stop();
  await hub.close();
  removeFolder(app.folder);
});

keeping('a model is pinned among its load settings, and says so', async () => {
  await goTo(page, 'My Models');
  await page.getByRole('button', { name: `Load settings of ${MODEL}` }).click();
  await page.getByLabel('When idle').selectOption({ label: 'Always keep loaded' });
  assert.equal(await accessibilityProblems(page), []);
  await page.getByRole('button', { name: 'Save as defaults' }).click();
  const row = page.getByRole('listitem').filter({ hasText: MODEL });
  await row.getByText('pinned', { exact: true }).waitFor();
  await row.getByRole('button', { name: 'Load', exact: true }).click();
  await row.getByRole('button', { name: 'Eject' }).waitFor();
  await goTo(page, 'Developer');
  await page
    .getByRole('region', { name: 'Loaded models' })
    .getByText(/pinned/)
    .waitFor();
  assert.equal((await app.done('GET', '/api/v1/settings')).modelKeeps, { [MODEL]: 'pinned' });
});

keeping('whether there is a newer one is asked of the hub when somebody wants to know', async () => {
  await goTo(page, 'Settings');
  const asked = hub.seen.length;
  const check = page.getByRole('button', { name: 'Check for newer models' });
  await check.click();
  const found = page.getByRole('list', { name: 'Available updates' });
  await found.getByText('Up to date.').waitFor();
  assert.ok(hub.seen.length > asked);
  const newer = Buffer.from(demo);
  newer[newer.length - 1] = (newer[newer.length - 1] as number) ^ 1;
  hub.put(REPO, { ...content, files: { ...content.files, 'Little-Q4_K_M.gguf': newer } });
  await check.click();
  await found.getByText(/Update available: 1\.\d MB to download/).waitFor();
  assert.equal(await accessibilityProblems(page), []);
  await found.getByRole('button', { name: `Download ${MODEL} again` }).click();
  const isDone = async () => {
    const { jobs } = await app.done('GET', '/api/v1/models/download');
    return jobs.length > 1 && jobs.every(({ state }: { state: string }) => state === 'completed');
  };
  await until(isDone, 'the download');
  await check.click();
  await found.getByText('Up to date.').waitFor();
});

keeping.run();
