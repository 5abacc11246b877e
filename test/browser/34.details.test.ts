// Details of the views that are easy to break: layout of long texts, files that are dropped, keys, long chats, errors.
import { copyFileSync, mkdirSync, truncateSync } from 'node:fs';
import path from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { goTo, openApp, overflows, startBrowser, untilIn } from '../support/browser.js';
import { demoModelPath } from '../support/demo-model.js';
import { freePort } from '../support/free-port.js';
import { MODEL } from '../support/long-answer.js';
import { desktopFolder, type RunningDesktop, removeFolder, startDesktop } from '../support/start-desktop.js';
import { until } from '../support/until.js';

const details = suite('details of the views');
const folder = desktopFolder();
const broken = path.join(folder, 'a'.repeat(120), `${'b'.repeat(120)}.gguf`);
let app: RunningDesktop;
let browser: Browser;
let port: number;

details.before(async () => {
  mkdirSync(path.dirname(broken), { recursive: true });
  copyFileSync(demoModelPath, broken);
  port = await freePort();
  const options = ['--port', String(port), '--model', broken];
  [app, browser] = await Promise.all([startDesktop(options, { folder }), startBrowser()]);
});

details.after(async () => {
  await browser.close();
  await app.stop();
  removeFolder(folder);
});

interface Message {
  id: string;
  parent: string | null;
  role: string;
  content: string;
}

function turns(count: number, text: (index: number) => string): Message[] {
  return Array.from({ length: count }, (_, index) => ({
    id: `m${index}`,
    parent: index === 0 ? null : `m${index - 1}`,
    role: index % 2 === 0 ? 'user' : 'assistant',
    content: text(index),
  }));
}

async function openChat(messages: Message[], width = 1280): Promise<Page> {
  const chat = { title: 'Details', model: MODEL, settings: { max_tokens: 20 }, messages };
  const { id } = await app.done('POST', '/api/v1/chats', chat);
  const { page } = await openApp(browser, app, { viewport: { width, height: 860 } });
  await page.evaluate(`location.hash = '#/chat/${id}'`);
  await page.getByRole('article').last().waitFor();
  return page;
}

const textBox = (page: Page) => page.getByRole('textbox', { name: 'Message' });

details('Start Server uses --port, and a loaded model keeps its context', async () => {
  await app.done('POST', '/api/v1/models/load', { model: MODEL, config: { contextSize: 2048 } });
  const { page } = await openApp(browser, app);
  await goTo(page, 'Developer');
  assert.is(await page.getByLabel('Port').inputValue(), String(port));
  await page.getByLabel('Model', { exact: true }).selectOption({ value: MODEL });
  await page.getByRole('button', { name: 'Start Server' }).click();
  await page.getByText('Running', { exact: true }).waitFor();
  const { server, models } = await app.done('GET', '/api/v1/state');
  assert.is(server.port, port);
  assert.equal(
    models.map(({ contextLength }: { contextLength: number }) => contextLength),
    [2048],
  );
  await page.getByRole('button', { name: 'Stop Server' }).click();
  await page.getByText('Stopped', { exact: true }).waitFor();
  await page.context().close();
});

details('GPU layers are entered as a number or a word', async () => {
  const { page } = await openApp(browser, app);
  await goTo(page, 'Developer');
  await page.getByText('Load settings').click();
  const layers = page.getByLabel('GPU layers', { exact: true });
  for (const [text, isValid] of [
    ['12', true],
    ['all', true],
    ['most', false],
  ] as const) {
    await layers.fill(text);
    assert.is(
      await layers.evaluate((field) => (field as unknown as { validity: { valid: boolean } }).validity.valid),
      isValid,
    );
  }
  await layers.fill('7');
  await page.getByLabel('Model', { exact: true }).waitFor();
  await page.getByText('1 changed').first().waitFor();
  await page.context().close();
});

for (const width of [1280, 390]) {
  details(`the path of a model that fails to load fits into a window of ${width}`, async () => {
    truncateSync(broken, 1000);
    const { page } = await openApp(browser, app, { viewport: { width, height: 860 } });
    await goTo(page, 'Developer');
    const key = await page.getByLabel('Model', { exact: true }).evaluate((field) => {
      const { options } = field as unknown as { options: { value: string }[] };
      return [...options].map(({ value }) => value).find((value) => value.includes('bbb')) as string;
    });
    await page.getByLabel('Model', { exact: true }).selectOption(key);
    await page.getByRole('button', { name: 'Start Server' }).click();
    const notice = page.getByRole('region', { name: 'Messages' }).getByRole('alert').first();
    await notice.waitFor();
    assert.not(await overflows(page));
    const dismiss = notice.getByRole('button', { name: 'Dismiss' });
    const box = await dismiss.boundingBox();
    assert.ok(box && box.x + box.width <= width && box.y + box.height <= 860, JSON.stringify(box));
    // Notices cover nothing.
    await goTo(page, 'Chat');
    await textBox(page).fill('x');
    await page.getByRole('button', { name: 'Send' }).click({ trial: true });
    await dismiss.click();
    await notice.waitFor({ state: 'detached' });
    await page.context().close();
  });
}

details('a new question in a long chat comes into view, and long words are not clipped', async () => {
  const page = await openChat(turns(60, (index) => `Message ${index}. ${'long '.repeat(60)}${'w'.repeat(400)}`));
  const list = page.getByRole('log', { name: 'Messages' });
  await list.evaluate((element) => (element as unknown as { scrollTo(x: number, y: number): void }).scrollTo(0, 0));
  await page.getByRole('button', { name: 'Scroll to the end' }).waitFor();
  await textBox(page).fill('Can you see me?');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Send' }).waitFor();
  const seen = `(() => {
    const list = document.querySelector('.messages').getBoundingClientRect();
    const own = [...document.querySelectorAll('.message.user')].at(-1).getBoundingClientRect();
    return own.top >= list.top - 1 && own.bottom <= list.bottom + 1;
  })()`;
  await untilIn(page, seen);
  await untilIn(
    page,
    `[...document.querySelectorAll('.message')].every((each) => each.scrollWidth <= each.clientWidth + 1)`,
  );
  await page.context().close();
});

details('a long chat lays out only the messages in view', async () => {
  const page = await openChat(
    turns(200, (index) => `Message ${index}. ${'Some text with **bold** words. '.repeat(40)}`),
  );
  const laidOut = `[...document.querySelectorAll('.message')]
    .filter((each) => each.firstElementChild.checkVisibility({ contentVisibilityAuto: true })).length`;
  await untilIn(page, `${laidOut} > 0 && ${laidOut} < 40`);
  // The end is followed although earlier heights are estimates.
  await untilIn(
    page,
    `(() => {
    const { scrollHeight, scrollTop, clientHeight } = document.querySelector('.messages');
    return scrollHeight - scrollTop - clientHeight < 2;
  })()`,
  );
  await page.context().close();
});

details('scroll positions do not leak into another view', async () => {
  const { page } = await openApp(browser, app, { viewport: { width: 1280, height: 500 } });
  await goTo(page, 'Settings');
  await page.evaluate(`document.querySelector('main').scrollTo(0, 400)`);
  await goTo(page, 'Developer');
  assert.is(await page.evaluate(`document.querySelector('main').scrollTop`), 0);
  await page.context().close();
});

/** Drops a file on an element. */
async function drop(page: Page, selector: string, name: string, type: string): Promise<boolean> {
  return await page.evaluate<boolean>(`(() => {
    const data = new DataTransfer();
    data.items.add(new File(['\\0 neither'], '${name}', { type: '${type}' }));
    const event = new DragEvent('drop', { bubbles: true, cancelable: true, dataTransfer: data });
    document.querySelector('${selector}').dispatchEvent(event);
    return event.defaultPrevented;
  })()`);
}

details('dropped files that cannot be read are named, and no drop opens a file', async () => {
  const page = await openChat(turns(2, (index) => `Message ${index}`));
  assert.ok(await drop(page, '.composer', 'paper.pdf', 'application/pdf'));
  await page.getByText('paper.pdf cannot be attached: it is neither').waitFor();
  assert.ok(await drop(page, '.composer', 'broken.png', 'image/png'));
  await page.getByText('broken.png is not a complete image.').waitFor();
  assert.is(await page.getByRole('img', { name: 'Attachment 1' }).count(), 0);
  assert.ok(await drop(page, '.navigation', 'photo.png', 'image/png'), 'the browser would open it');
  await page.context().close();
});

details('an image of a sent message can be removed by editing the message', async () => {
  const [question, reply] = turns(2, (index) => `Message ${index}`);
  const image = 'data:image/png;base64,AAAA';
  const page = await openChat([{ ...question, images: [image] } as Message, reply as Message]);
  await page.getByRole('article', { name: 'You' }).getByRole('button', { name: 'Edit the message' }).click();
  await page.getByRole('button', { name: 'Remove image 1' }).click();
  await page.getByRole('button', { name: 'Send edited message' }).click();
  await page.getByRole('article', { name: 'Model' }).getByText('tok/s').waitFor();
  assert.is(await page.getByRole('img', { name: 'Sent attachment 1' }).count(), 0);
  await page.context().close();
});

details('Enter of an input method does not send, and text has the direction of its language', async () => {
  const page = await openChat(turns(2, () => 'שלום עולם'));
  await textBox(page).fill('かな');
  await page.evaluate(`document.querySelector('.composer textarea').dispatchEvent(
    new KeyboardEvent('keydown', { key: 'Enter', keyCode: 229, bubbles: true, cancelable: true }))`);
  assert.is(await textBox(page).inputValue(), 'かな');
  assert.is(await page.getByRole('article').count(), 2);
  const directions = await page.evaluate(`[...document.querySelectorAll('.own-text, .markdown .block')]
    .map((each) => getComputedStyle(each).direction)`);
  assert.equal(directions, ['rtl', 'rtl']);
  await textBox(page).fill('مرحبا');
  assert.is(await page.evaluate(`getComputedStyle(document.querySelector('.composer textarea')).direction`), 'rtl');
  await page.context().close();
});

details('an error of the hub replaces the results of an earlier search', async () => {
  const { page } = await openApp(browser, app);
  const result = { repo: 'user/Old-GGUF', downloads: 1, likes: 1, modifiedAt: null, gated: false, capabilities: [] };
  const model = { ...result, fit: null, downloaded: [], parameters: null, architecture: null, contextLength: null };
  let isLimited = false;
  await page.route('**/hub/search*', (route) =>
    isLimited
      ? route.fulfill({
          status: 429,
          json: { error: { message: 'The hub is busy.', code: 'hub_rate_limited', param: null } },
        })
      : route.fulfill({ json: { models: [model], next: null } }),
  );
  await goTo(page, 'Search');
  await page.getByLabel('Search models').fill('old');
  await page.getByText('Old-GGUF').waitFor();
  isLimited = true;
  await page.getByLabel('Search models').fill('new');
  await page.getByText('The hub is busy.').waitFor();
  assert.is(await page.getByText('Old-GGUF').count(), 0);
  assert.is(await page.getByText('No models found').count(), 0);
  await page.context().close();
});

details('plots do not connect measurements across a gap', async () => {
  const { page } = await openApp(browser, app);
  const point = { tokensPerSecond: 100, ttftP50: 1, ttftP95: 1, running: 1, queued: 0, kvUsage: 0.5, memoryBytes: 1e9 };
  const now = Date.now();
  const seconds = Array.from({ length: 280 }, (_, index) => index).filter((index) => index < 100 || index > 180);
  const points = seconds.map((index) => ({ at: now - (280 - index) * 1000, ...point }));
  await page.route('**/api/v1/metrics*', (route) => route.fulfill({ json: { points } }));
  await page.reload();
  await goTo(page, 'Developer');
  await page.locator('.plot canvas').first().waitFor();
  // The share of painted pixels in a column of the first plot, by its position between the axis and the right edge.
  const painted = (share: number) =>
    page.evaluate<number>(`(() => {
    const canvas = document.querySelector('.plot canvas');
    const left = 54 * devicePixelRatio;
    const x = Math.round(left + (canvas.width - left) * ${share});
    const { data } = canvas.getContext('2d').getImageData(x, 0, 1, canvas.height);
    return data.filter((value, index) => index % 4 === 3 && value > 0).length / canvas.height;
  })()`);
  await until(async () => (await painted(0.2)) > 0.4, 'a plot');
  const gap = Math.min(await painted(0.48), await painted(0.5), await painted(0.52));
  assert.ok(gap < 0.2, String(gap));
  await page.context().close();
});

details.run();
