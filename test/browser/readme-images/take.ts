// Takes the images of the desktop app that the READMEs show, on the way that a newcomer goes: from an empty folder to a
// server that runs. The hub is the one of the tests.
//
//   npm run build && node --import tsx test/browser/readme-images/take.ts
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import OpenAI from 'openai';
import type { Page } from 'playwright-core';
import { goTo, openApp, startBrowser } from '../../support/browser.js';
import { picture } from '../../support/image-files.js';
import { root } from '../../support/places.js';
import { desktopFolder, removeFolder, startDesktop } from '../../support/start-desktop.js';
import { newcomersHub, REPO } from './hub.js';
import { shrink } from './shrink.js';

/** A README with larger ones would be slow to open. */
const MAX_BYTES = 150_000;
const IN_ROOT_README = path.join(root, '.github', 'images');
const IN_OWN_README = path.join(root, 'ts', 'desktop', 'images');

const folder = desktopFolder();
const hub = await newcomersHub();
const [app, browser] = await Promise.all([
  startDesktop([], { folder, variables: { HF_ENDPOINT: hub.url } }),
  startBrowser(),
]);
const { page } = await openApp(browser, app, { viewport: { width: 1280, height: 800 }, colorScheme: 'light' });

async function take(name: string, to: string): Promise<void> {
  // The pointer would show what it rests on.
  await page.mouse.move(0, 0);
  await page.waitForTimeout(800);
  const image = shrink(await page.screenshot());
  if (image.length > MAX_BYTES) throw new Error(`${name}.png has ${image.length} bytes; ${MAX_BYTES} is the limit`);
  mkdirSync(to, { recursive: true });
  const file = path.join(to, `${name}.png`);
  writeFileSync(file, image);
  console.log(`${path.relative(root, file)}: ${Math.round(image.length / 1000)} KB`);
}

async function ask(page: Page, text: string): Promise<void> {
  await page.getByRole('textbox', { name: 'Message' }).fill(text);
  await page.keyboard.press('Enter');
  await page.getByRole('article', { name: 'Model' }).last().getByText('tok/s').waitFor();
}

await page.getByRole('region', { name: 'Your first model' }).getByRole('link').click();
await page.getByRole('list', { name: 'Files' }).waitFor();
await page.getByText('Exact memory needs').first().click();
await page.getByText('KV cache').first().waitFor();
await take('desktop-search', IN_OWN_README);

hub.misbehaviour = { bytesPerSecond: 120_000 };
await page.getByRole('button', { name: 'Download Q4_K_M' }).click();
await page.getByRole('button', { name: 'Download Q8_0' }).click();
await goTo(page, 'Downloads');
await page
  .getByText(/\([2-9]\d %\)/)
  .first()
  .waitFor();
await take('desktop-downloads', IN_OWN_README);
hub.misbehaviour = {};
hub.dropConnections();
await page.getByRole('region', { name: 'Done' }).getByText(`${REPO}:Q8_0`).waitFor();

await goTo(page, 'Developer');
await page.getByLabel('Model', { exact: true }).selectOption(`${REPO}:Q4_K_M`);
await page.getByRole('button', { name: 'Start Server' }).click();
await page.getByText('Running', { exact: true }).waitFor();
const address = await page.locator('.address code').innerText();
const client = new OpenAI({ baseURL: `${address}/v1`, apiKey: 'none' });
for (let round = 0; round < 14; round += 1) {
  const asked = Array.from({ length: 1 + (round % 3) }, async () => {
    const messages = [{ role: 'user' as const, content: 'Tell me about the relay runners.' }];
    const stream = await client.chat.completions.create({ model: 'gpt-4o', messages, max_tokens: 200, stream: true });
    for await (const _ of stream);
  });
  await Promise.all(asked);
  await page.waitForTimeout(1000);
}
await take('desktop-developer', IN_ROOT_README);

// The demo model is too small to write titles.
await app.done('PUT', '/api/v1/settings', { generateTitles: false });
await goTo(page, 'Chat');
await ask(page, 'Count from 3 to 9');
const buffer = await picture('png');
await page.locator('input[type=file]').setInputFiles({ name: 'shape.png', mimeType: 'image/png', buffer });
await ask(page, 'What is in this image?');
await take('desktop-chat', IN_ROOT_README);

await browser.close();
await app.stop();
await hub.close();
removeFolder(folder);
