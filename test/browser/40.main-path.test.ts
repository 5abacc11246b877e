// The main path of a new user, from an empty folder to a running server and a chat: find a model, download it through a
// stall and a restart, load it, start the server, send a request, stop, chat, search, unload, delete.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import OpenAI from 'openai';
import type { Browser, Page } from 'playwright-core';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { accessibilityProblems, goTo, openApp, startBrowser } from '../support/browser.js';
import { demoModelPath } from '../support/demo-model.js';
import { type FakeHub, fakeHub } from '../support/fake-hub.js';
import { picture } from '../support/image-files.js';
import { desktopFolder, type RunningDesktop, removeFolder, startDesktop } from '../support/start-desktop.js';

const main = suite('the main path');
const REPO = 'ana/Little-GGUF';
const MODEL = `${REPO}:Q4_K_M`;
const demo = readFileSync(demoModelPath);
const projector = readFileSync(path.join(path.dirname(demoModelPath), 'mmproj-chasqui-demo.gguf'));
const folder = desktopFolder();

const HOSTILE_README = `# Little

<img src="https://tracker.example/pixel.png" alt="a pixel" onerror="document.title = 'owned'">
<script>document.title = 'owned'</script><style>body { display: none }</style>

And <a href="javascript:document.title='owned'">press</a> [more](https://example.com/more)

<form action="https://example.com"><input name="q"></form>

Bold $\\boldsymbol{x}$, coloured $\\textcolor{#ff0000}{y}$, a link $\\href{javascript:alert(1)}{z}$, and invalid: $\\frac{1}$

$$E = mc^2 \\tag{7}$$
`;

let hub: FakeHub;
let app: RunningDesktop;
let browser: Browser;
let page: Page;
let foreign: string[];

main.before(async () => {
  const gguf = { total: 600_000, architecture: 'llama', context_length: 2048, chat_template: '{{ messages }}' };
  const files = {
    'Little-Q4_K_M.gguf': demo,
    'Little-Q8_0.gguf': demo,
    'mmproj-Little-f16.gguf': projector,
    'README.md': HOSTILE_README,
  };
  hub = await fakeHub({
    [REPO]: { files, gguf, downloads: 5000, likes: 3, pipelineTag: 'text-generation', licence: 'mit' },
    'bo/Huge-GGUF': {
      files: { 'Huge-Q4_K_M.gguf': demo },
      gguf: { ...gguf, total: 900e9 },
      downloads: 9000,
      pipelineTag: 'text-generation',
    },
    'cy/Closed-GGUF': {
      files: { 'Closed-Q4_K_M.gguf': demo },
      gguf,
      downloads: 8000,
      gated: 'manual',
      pipelineTag: 'text-generation',
    },
  });
  browser = await startBrowser();
  await open();
});

main.after(async () => {
  await browser.close();
  await app.stop();
  await hub.close();
  removeFolder(folder);
});

async function open(): Promise<void> {
  app = await startDesktop([], { folder, variables: { HF_ENDPOINT: hub.url } });
  ({ page, foreign } = await openApp(browser, app));
}

main('somebody without models is led to a small one that fits', async () => {
  await page.getByRole('heading', { level: 1, name: 'Search' }).waitFor();
  const first = page.getByRole('region', { name: 'Your first model' });
  await first.getByRole('link', { name: REPO }).waitFor();
  assert.equal(await accessibilityProblems(page), []);
});

main('the search finds it, and its page advises and does no harm', async () => {
  await page.getByRole('searchbox', { name: 'Search models' }).fill('huge');
  const huge = page.getByRole('link', { name: /Huge-GGUF/ });
  await huge.getByText(/Too large/).waitFor();
  await page.getByLabel('Fit').selectOption('fits');
  await huge.waitFor({ state: 'detached' });
  await page.getByRole('searchbox', { name: 'Search models' }).fill('little');
  await page
    .getByLabel('Models found')
    .getByRole('link', { name: /Little-GGUF/ })
    .click();
  const files = page.getByRole('list', { name: 'Files' });
  await files.getByRole('listitem').filter({ hasText: 'Q4_K_M' }).getByText('Runs on the').waitFor();
  await files.getByText('Recommended', { exact: true }).waitFor();

  const readme = page.locator('.readme');
  await readme.getByRole('heading', { name: 'Little' }).waitFor();
  assert.is(await readme.locator('script, style, form, input, img, [onerror]').count(), 0);
  assert.is(await readme.getByText('press').getAttribute('href'), null);
  const more = readme.getByRole('link', { name: 'more' });
  assert.is(await more.getAttribute('rel'), 'noopener noreferrer');
  assert.match(await page.title(), 'Search');

  await readme.locator('math[display="block"] mtext', { hasText: '(7)' }).waitFor();
  await readme.locator('math', { hasText: '𝒙' }).waitFor();
  await readme.locator('math', { hasText: '\\href' }).waitFor();
  assert.is(await readme.locator('math a, math [href]').count(), 0);
  assert.is(await readme.locator('code', { hasText: '$\\frac{1}$' }).count(), 1);
  const colour = await page.evaluate(
    `getComputedStyle([...document.querySelectorAll('.readme math mi')].find((each) => each.textContent === 'y')).color`,
  );
  assert.is(colour, 'rgb(255, 0, 0)');
  assert.equal(foreign, []);
  assert.equal(await accessibilityProblems(page), []);
});

main('a gated model says how to get it', async () => {
  await page.getByRole('searchbox', { name: 'Search models' }).fill('cy/Closed-GGUF');
  await page.getByRole('searchbox', { name: 'Search models' }).press('Enter');
  await page.getByText('The authors ask you to accept their terms.').waitFor();
  await page.getByRole('button', { name: 'Download Q4_K_M' }).click();
  await page.getByRole('alert').getByRole('button', { name: 'Set a hub token' }).click();
  await page.getByRole('heading', { level: 1, name: 'Settings' }).waitFor();
});

main('a download goes on after a stall, a pause and a restart of the app', async () => {
  hub.misbehaviour = { holds: { path: '.gguf', fromByte: 400_000 } };
  await goTo(page, 'Search');
  await page.getByRole('searchbox', { name: 'Search models' }).fill(REPO);
  await page.getByRole('searchbox', { name: 'Search models' }).press('Enter');
  await page.getByRole('button', { name: 'Download Q4_K_M' }).click();
  await goTo(page, 'Downloads');
  const job = page.getByRole('listitem').filter({ hasText: MODEL });
  await job.getByText(/\([1-9]\d? %\)/).waitFor();
  await job.getByRole('button', { name: 'Pause' }).click();
  await job.getByText(/^Paused/).waitFor();
  assert.equal(await accessibilityProblems(page), []);
  await job.getByRole('button', { name: 'Resume' }).click();
  await job.getByRole('button', { name: 'Pause' }).waitFor();

  await app.kill();
  await page.getByText('The app is not responding.').waitFor();
  await page.context().close();
  hub.misbehaviour = { stalls: { afterBytes: 1000, times: 1 } };
  await open();
  hub.dropConnections();
  hub.misbehaviour = {};
  await goTo(page, 'Downloads');
  await page.getByRole('region', { name: 'Done' }).getByText(MODEL).waitFor();
});

main('it is loaded, and the server that is started serves any name', async () => {
  await goTo(page, 'My Models');
  const row = page.getByRole('listitem').filter({ hasText: MODEL });
  await row.getByText('images', { exact: true }).waitFor();
  await row.getByRole('button', { name: 'Load', exact: true }).click();
  await row.getByText(/Loaded · /).waitFor();
  assert.equal(await accessibilityProblems(page), []);
  await row.getByRole('button', { name: 'Start Server …' }).click();
  await page.getByRole('heading', { level: 1, name: 'Developer' }).waitFor();
  assert.is(await page.getByLabel('Model', { exact: true }).inputValue(), MODEL);
  await page.getByRole('button', { name: 'Start Server' }).click();
  await startedOnAnyPort();

  const address = await page.locator('.address code').innerText();
  const client = new OpenAI({ baseURL: `${address}/v1`, apiKey: 'none' });
  const completion = await client.chat.completions.create({
    model: 'no-such-model-anywhere',
    messages: [{ role: 'user', content: 'Hello!' }],
  });
  assert.is(completion.model, MODEL);
  await page.getByRole('row').filter({ hasText: '/v1/chat/completions' }).getByText('Done').waitFor();
  const speed = page.locator('figure', { hasText: 'Time to first token' });
  await speed.getByText(/p50 [1-9]/).waitFor();
  assert.equal(await accessibilityProblems(page), []);
  await page.getByRole('button', { name: 'Stop Server' }).click();
  await page.getByText('Stopped', { exact: true }).waitFor();
});

/** 1234 may be taken on the machine of the tests: then what the app offers is taken. */
async function startedOnAnyPort(): Promise<void> {
  const running = page.getByText('Running', { exact: true });
  const offer = page.getByRole('button', { name: /^Use port \d+$/ });
  await running.or(offer).first().waitFor();
  if (await offer.isVisible()) await offer.click();
  await running.waitFor();
}

main('it is chatted with about an image, and the chat is found by a word', async () => {
  await goTo(page, 'Chat');
  await page.getByLabel('Model', { exact: true }).selectOption(MODEL);
  const buffer = await picture('png');
  await page.locator('input[type=file]').setInputFiles({ name: 'shape.png', mimeType: 'image/png', buffer });
  await page.getByRole('textbox', { name: 'Message' }).fill('Which shape is in the marmalade image?');
  await page.keyboard.press('Enter');
  await page.getByRole('article', { name: 'Model' }).getByText('tok/s').waitFor();
  await page.getByRole('button', { name: 'New chat', exact: true }).click();
  await page.getByLabel('Search all chats').fill('marmalade');
  await page.getByLabel('History').locator('mark').waitFor();
  await page.getByLabel('History').getByRole('link').click();
  await page.getByRole('img', { name: 'Sent attachment 1' }).waitFor();
});

main('it is unloaded and deleted, which says what is free again', async () => {
  await goTo(page, 'My Models');
  const row = page.getByRole('listitem').filter({ hasText: MODEL });
  await row.getByRole('button', { name: 'Eject' }).click();
  await row.getByRole('button', { name: 'Load', exact: true }).waitFor();
  await row.getByRole('button', { name: `Delete ${MODEL}` }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await page.getByText(/Deleted .*; freed [\d.]+ [MK]B/).waitFor();
  await row.waitFor({ state: 'detached' });
  assert.equal(foreign, []);
});

main.run();
