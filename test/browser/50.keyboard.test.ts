// The main path of a new user with the keyboard only.
import { readFileSync } from 'node:fs';
import OpenAI from 'openai';
import type { Browser, Page } from 'playwright-core';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openApp, startBrowser, tabTo, untilCopied, untilIn } from '../support/browser.js';
import { demoModelPath } from '../support/demo-model.js';
import { type FakeHub, fakeHub } from '../support/fake-hub.js';
import { desktopFolder, type RunningDesktop, removeFolder, startDesktop } from '../support/start-desktop.js';

const keyboard = suite('the main path by keyboard');
const REPO = 'ana/Little-GGUF';
const MODEL = `${REPO}:Q4_K_M`;
const folder = desktopFolder();
let hub: FakeHub;
let app: RunningDesktop;
let browser: Browser;
let page: Page;

keyboard.before(async () => {
  const demo = readFileSync(demoModelPath);
  hub = await fakeHub({
    [REPO]: {
      files: { 'Little-Q4_K_M.gguf': demo, 'Little-Q8_0.gguf': demo, 'README.md': '# Little' },
      gguf: { total: 600_000, architecture: 'llama', context_length: 2048, chat_template: '{{ messages }}' },
      downloads: 5000,
      pipelineTag: 'text-generation',
    },
  });
  [app, browser] = await Promise.all([
    startDesktop([], { folder, variables: { HF_ENDPOINT: hub.url } }),
    startBrowser(),
  ]);
  ({ page } = await openApp(browser, app));
});

keyboard.after(async () => {
  await browser.close();
  await app.stop();
  await hub.close();
  removeFolder(folder);
});

const heading = (name: string) => page.getByRole('heading', { level: 1, name }).waitFor();
const focusedInMain = () => page.evaluate<boolean>(`document.activeElement.closest('main') !== null`);

/** After the last element, Tab moves to the first one, where the links of the views are. */
async function goBy(name: string): Promise<void> {
  await tabTo(page, name);
  await page.keyboard.press('Enter');
  await heading(name);
}

keyboard('a model is searched for, its page opened and its download begun', async () => {
  await heading('Search');
  await tabTo(page, 'Skip to the content');
  await page.keyboard.press('Enter');
  assert.ok(await focusedInMain());
  await tabTo(page, 'Search models');
  await page.keyboard.type('little');
  await page.keyboard.press('Enter');
  await page
    .getByLabel('Models found')
    .getByRole('link', { name: /Little-GGUF/ })
    .waitFor();
  // Past the filters, to the first of the models found.
  for (let presses = 0; presses < 20; presses += 1) {
    await page.keyboard.press('Tab');
    if (await page.evaluate<boolean>(`document.activeElement.classList.contains('result')`)) break;
  }
  await page.keyboard.press('Enter');
  await page.getByRole('list', { name: 'Files' }).waitFor();
  await tabTo(page, 'Download Q4_K_M');
  await page.keyboard.press('Enter');
  await page.getByText('Downloaded', { exact: true }).first().waitFor();
});

keyboard('the server is started with it, and a snippet is copied that works', async () => {
  await goBy('Developer');
  await tabTo(page, 'Model');
  await untilIn(page, `document.activeElement.value === '${MODEL}'`);
  await tabTo(page, 'Start Server');
  await page.keyboard.press('Enter');
  const running = page.getByText('Running', { exact: true });
  const offer = page.getByRole('button', { name: /^Use port \d+$/ });
  await running.or(offer).first().waitFor();
  // 1234 may be taken on the machine of the tests: the offer is a button like any other.
  if (await offer.isVisible()) {
    await tabTo(page, await offer.innerText());
    await page.keyboard.press('Enter');
  }
  await running.waitFor();
  await tabTo(page, 'Copy code');
  await page.keyboard.press('Enter');
  const [, address] = await untilCopied(page, /curl -N (http:\/\/localhost:\d+)\/v1/);
  const client = new OpenAI({ baseURL: `${address}/v1`, apiKey: 'none' });
  const messages = [{ role: 'user' as const, content: 'Hello!' }];
  await client.chat.completions.create({ model: 'any', messages, max_tokens: 20 });
  await page.getByRole('row').filter({ hasText: '/v1/chat/completions' }).getByText('Done').waitFor();
});

keyboard('it is chatted with', async () => {
  await goBy('Chat');
  await untilIn(page, `document.activeElement.tagName === 'TEXTAREA'`);
  await page.keyboard.type('Hello there!');
  await page.keyboard.press('Enter');
  await page.getByRole('article', { name: 'Model' }).getByText('tok/s').waitFor();
});

keyboard.run();
