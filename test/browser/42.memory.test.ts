// Memory: what a model takes is told before its download, the context that fits is one press away, and where memory was
// short the way out is offered.
import { readFileSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { accessibilityProblems, goTo, openApp, overflows, startBrowser } from '../support/browser.js';
import { demoModelPath } from '../support/demo-model.js';
import { type FakeHub, fakeHub } from '../support/fake-hub.js';
import { type RunningDesktop, removeFolder, startDesktop } from '../support/start-desktop.js';

const memory = suite('memory');
const REPO = 'ana/Little-GGUF';
const MODEL = 'chasqui-demo';
let hub: FakeHub;
let app: RunningDesktop;
let browser: Browser;
let page: Page;

memory.before(async () => {
  hub = await fakeHub({
    [REPO]: {
      files: { 'Little-Q4_K_M.gguf': readFileSync(demoModelPath) },
      gguf: { total: 600_000, architecture: 'llama', context_length: 4096, chat_template: '{{ messages }}' },
    },
    'ana/Mix-8x7B-GGUF': {
      files: { 'Mix-Q4_K_M.gguf': readFileSync(demoModelPath) },
      gguf: { total: 600_000, architecture: 'llama', context_length: 4096, chat_template: '{{ messages }}' },
    },
  });
  [app, browser] = await Promise.all([startDesktop([], { variables: { HF_ENDPOINT: hub.url } }), startBrowser()]);
  ({ page } = await openApp(browser, app));
});

memory.after(async () => {
  await browser.close();
  await app.stop();
  await hub.close();
  removeFolder(app.folder);
});

memory('what a model of the hub takes is worked out by the engine, with the context that is chosen', async () => {
  await goTo(page, 'Search');
  await page.getByRole('searchbox', { name: 'Search models' }).fill(REPO);
  await page.getByRole('searchbox', { name: 'Search models' }).press('Enter');
  const file = page.getByRole('list', { name: 'Files' }).getByRole('listitem').filter({ hasText: 'Q4_K_M' }).first();
  await file.getByText('Exact memory needs').click();
  const cells = file.getByRole('listitem').filter({ hasText: /KV cache [\d.]+ [KM]B/ });
  await cells.waitFor();
  const usual = await cells.innerText();
  assert.equal(await accessibilityProblems(page), []);
  await file.getByLabel('With a context of').selectOption('2048');
  await cells.filter({ hasNotText: usual }).waitFor();
  assert.equal((await app.done('GET', '/api/v1/models/download')).jobs, [], 'nothing was downloaded for it');
});

for (const width of [1280, 390]) {
  memory(`speeds are estimated before the first download and completion (${width} px)`, async () => {
    const { page: other } = await openApp(browser, app, { viewport: { width, height: 860 } });
    await goTo(other, 'Search');
    const found = other.getByLabel('Models found');
    await found
      .getByRole('link', { name: /Little-GGUF/ })
      .getByText(/about [\d.,]+ tok\/s here/)
      .waitFor();
    // The name has no active parameters.
    assert.not.match(await found.getByRole('link', { name: /Mix-8x7B/ }).innerText(), /tok\/s/);
    assert.not(await overflows(other));
    await found.getByRole('link', { name: /Little-GGUF/ }).press('Enter');
    const file = other.getByRole('list', { name: 'Files' }).getByRole('listitem').first();
    await file.getByText(/about [\d.,]+ tok\/s here/).waitFor();
    await other.getByText('Speeds are estimates for short chats').waitFor();
    assert.equal(await accessibilityProblems(other), []);
    assert.not(await overflows(other));
    await other.goto(`${app.url}/#/search/ana/Mix-8x7B-GGUF`);
    await other.getByRole('region', { name: 'ana/Mix-8x7B-GGUF' }).getByText('Exact memory needs').click();
    await other.getByText(/context of up to .*about [\d.,]+ tok\/s here/).waitFor();
    await other.context().close();
  });
}

memory('the longest context that fits is taken by a press, and the model is loaded with it', async () => {
  await goTo(page, 'Developer');
  await page.getByText('Load settings').click();
  await page.getByLabel('Context size', { exact: true }).fill('256');
  const longest = page.getByRole('button', { name: /^Use a context of / });
  await longest.click();
  await longest.waitFor({ state: 'detached' });
  const context = Number(await page.getByLabel('Context size', { exact: true }).inputValue());
  assert.ok(context > 256);
  await app.done('POST', '/api/v1/models/load', { model: MODEL, config: { contextSize: context } });
  const { models } = await app.done('GET', '/api/v1/state');
  assert.is(models[0].contextLength, context);
});

memory('a shorter context than the model was trained for is explained', async () => {
  await app.done('POST', '/api/v1/models/load', { model: MODEL, config: { contextSize: 256 } });
  await page
    .getByRole('region', { name: 'Loaded models' })
    .getByText(/^Context: 256 of [\d,]+ tokens.*set in its load settings\.$/)
    .waitFor();
  await goTo(page, 'My Models');
  await page.getByText(/^Context: 256 of [\d,]+ tokens/).waitFor();
});

memory('where memory was short, a smaller context is offered, and its press loads the model', async () => {
  await app.done('POST', '/api/v1/models/unload', { instance_id: MODEL });
  await page.getByRole('button', { name: `Load settings of ${MODEL}` }).click();
  // Cells for more than a hundred gigabytes.
  await page.getByLabel('Context size', { exact: true }).fill('64000000');
  await page.getByRole('button', { name: 'Load once with these' }).click();
  const trouble = page.getByRole('alert').filter({ hasText: /insufficient memory/ });
  await trouble.first().waitFor({ timeout: 120_000 });
  assert.equal(await accessibilityProblems(page), []);
  await trouble
    .getByRole('button', { name: /^Try a context of \d{3,5}$/ })
    .first()
    .click();
  await page.getByText(/Loaded · /).waitFor({ timeout: 120_000 });
});

memory.run();
