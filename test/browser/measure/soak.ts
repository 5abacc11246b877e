// Whether pages grow: the Developer view while many requests come, and then a chat that streams, with the Developer view
// beside it. Each line that is printed has the sizes at one moment; the last one says how much they have grown.
//
//   node --import tsx test/browser/measure/soak.ts [events] [minutes of streaming]
import type { Page } from 'playwright-core';
import { goTo, openApp, startBrowser, untilIn } from '../../support/browser.js';
import { removeFolder, startDesktop } from '../../support/start-desktop.js';
import { growthOf, isFlat, type PageSize, sizeOf } from './page-size.js';

const wanted = Number(process.argv[2] ?? 10_000);
const minutes = Number(process.argv[3] ?? 0);
/** After so many events the lists of the Developer view are full, and after so many streams the page has seen all. */
const WARM_UP = { events: 1500, streams: 3 };
const MEASUREMENTS = 4;
/** As long as the demo model's context has room for. */
const ENDLESS = { ignore_eos: true, max_tokens: 1500 };

const [app, browser] = await Promise.all([startDesktop(), startBrowser()]);
const developer = await openApp(browser, app);
await goTo(developer.page, 'Developer');
const events = await app.watch();
await app.done('POST', '/api/v1/models/load', { model: 'chasqui-demo' });

async function until(count: number): Promise<void> {
  while (events.seen.length < count) {
    const asked = Array.from({ length: 8 }, () => app.done('POST', '/app/tokenize', { content: 'one two three' }));
    await Promise.all(asked);
  }
}

/** Has new chats begin with settings that the page has no fields for: they are those of the chat that was open last. */
async function settle(page: Page): Promise<void> {
  const { id } = await app.done('POST', '/api/v1/chats', { title: 'Soak', settings: ENDLESS, model: 'chasqui-demo' });
  await page.getByRole('button', { name: 'Chat settings' }).click();
  await page.evaluate(`location.hash = '#/chat/${id}'`);
  await untilIn(page, `document.querySelector('.chat-settings input[placeholder=none]').value === '1500'`);
  await page.getByRole('button', { name: 'New chat', exact: true }).click();
}

/**
 * A chat of its own for each stream, as people begin one; it is deleted afterwards, so that no list of chats grows. The
 * browser keeps a node for each message that was typed, to undo it: a thousand of them at most.
 */
async function stream(page: Page): Promise<void> {
  const message = page.getByRole('textbox', { name: 'Message' });
  await message.fill('Tell me a long story, with a list and `code` in it.');
  await message.press('Enter');
  await page.getByRole('article', { name: 'Model' }).getByText('tok/s').waitFor({ timeout: 600_000 });
  const id = new URL(page.url()).hash.replace('#/chat/', '');
  await untilStored(id);
  await page.getByRole('button', { name: 'New chat', exact: true }).click();
  await app.done('DELETE', `/api/v1/chats/${id}`);
}

/** The app stores the end of a completion after the page shows it. */
async function untilStored(id: string): Promise<void> {
  for (;;) {
    const { running } = await app.done('GET', `/api/v1/chats/${id}`);
    if (running === null) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

const tell = (what: string, values: object) => console.log(JSON.stringify({ what, ...values }));
const growths: PageSize[] = [];

await until(WARM_UP.events);
const start = await sizeOf(developer.page);
tell('events', { seen: events.seen.length, developer: start });
for (let part = 1; part <= MEASUREMENTS; part += 1) {
  await until(WARM_UP.events + (wanted * part) / MEASUREMENTS);
  tell('events', { seen: events.seen.length, developer: await sizeOf(developer.page) });
}
growths.push(growthOf(start, await sizeOf(developer.page)));
// Those of the streams are not counted, and would grow in this process.
events.close();
const seen = events.seen.length;

if (minutes > 0) {
  const chat = await openApp(browser, app);
  await goTo(chat.page, 'Chat');
  await settle(chat.page);
  for (let streams = 0; streams < WARM_UP.streams; streams += 1) await stream(chat.page);
  const before = { chat: await sizeOf(chat.page), developer: await sizeOf(developer.page) };
  const began = performance.now();
  tell('streaming', { minutes: 0, ...before });
  let streams = 0;
  for (let part = 1; part <= MEASUREMENTS; part += 1) {
    while (performance.now() - began < (minutes * 60_000 * part) / MEASUREMENTS) {
      await stream(chat.page);
      streams += 1;
    }
    const sizes = { chat: await sizeOf(chat.page), developer: await sizeOf(developer.page) };
    tell('streaming', { minutes: Math.round((performance.now() - began) / 6000) / 10, streams, ...sizes });
  }
  growths.push(growthOf(before.chat, await sizeOf(chat.page)));
  growths.push(growthOf(before.developer, await sizeOf(developer.page)));
  developer.complaints.push(...chat.complaints);
}

await browser.close();
await app.stop();
removeFolder(app.folder);
tell('growth', { events: seen, growths, complaints: developer.complaints });
process.exitCode = growths.every(isFlat) && developer.complaints.length === 0 ? 0 : 1;
