// A chat that no longer fits into the context: the user chooses once, and only contexts that fit are offered.
import type { Browser, Page } from 'playwright-core';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { accessibilityProblems, openApp, startBrowser, untilIn } from '../support/browser.js';
import { MODEL } from '../support/long-answer.js';
import { type RunningDesktop, removeFolder, startDesktop } from '../support/start-desktop.js';

const full = suite('a full context');
const CONTEXT = 512;
let app: RunningDesktop;
let browser: Browser;

full.before(async () => {
  [app, browser] = await Promise.all([startDesktop(), startBrowser()]);
  await app.done('POST', '/api/v1/models/load', { model: MODEL, config: { contextSize: CONTEXT, parallel: 1 } });
});

full.after(async () => {
  await browser.close();
  await app.stop();
  removeFolder(app.folder);
});

const messages = Array.from({ length: 40 }, (_, index) => ({
  id: `m${index}`,
  parent: index === 0 ? null : `m${index - 1}`,
  role: index % 2 === 0 ? 'user' : 'assistant',
  content: `Message ${index} of this long chat about birds and boats.`,
}));

async function askInFullChat(prepare: (page: Page) => Promise<void> = async () => undefined) {
  const chat = { title: 'Full', model: MODEL, settings: { max_tokens: 16 }, messages };
  const { id } = await app.done('POST', '/api/v1/chats', chat);
  const { page } = await openApp(browser, app);
  await prepare(page);
  await page.evaluate(`location.hash = '#/chat/${id}'`);
  await page.getByRole('article').last().waitFor();
  await page.getByRole('textbox', { name: 'Message' }).fill('And now?');
  await page.keyboard.press('Enter');
  return { page, id };
}

const read = (chat: string) => app.done('GET', `/api/v1/chats/${chat}`);

for (const [button, choice] of [
  ['Leave out the oldest messages', 'rolling'],
  ['Summarize the oldest messages', 'summary'],
] as const) {
  full(`"${button}" is chosen once`, async () => {
    const { page, id } = await askInFullChat();
    const trouble = page.getByRole('alert');
    await trouble.getByText('longer than the context').waitFor();
    assert.not.match(await trouble.innerText(), /--/);
    const isInView = `(() => {
      const [list, trouble] = ['.messages', '.trouble'].map((each) => document.querySelector(each).getBoundingClientRect());
      return trouble.top >= list.top && trouble.bottom <= list.bottom;
    })()`;
    await untilIn(page, isInView);
    // A narrower chat is a longer one.
    await page.getByRole('button', { name: 'Chat settings' }).click();
    await untilIn(page, isInView);
    assert.equal(await accessibilityProblems(page), []);
    await trouble.getByRole('button', { name: button }).click();
    await page.getByRole('article', { name: 'Model' }).last().getByText('tok/s').waitFor();
    await page.getByRole('textbox', { name: 'Message' }).fill('And then?');
    await page.keyboard.press('Enter');
    await page.getByText('And then?').waitFor();
    await page.getByRole('button', { name: 'Send' }).waitFor();
    await page.getByRole('article', { name: 'Model' }).last().getByText('tok/s').waitFor();
    assert.is(await trouble.count(), 0);
    const chat = await read(id);
    assert.is(chat.settings.whenFull, choice);
    assert.is(chat.messages.length, 44, 'no message is removed');
    const { promptTokens } = chat.messages.at(-1).stats;
    assert.ok(promptTokens < CONTEXT && promptTokens > 50, String(promptTokens));
    const summaries = chat.messages.filter(({ stats }: { stats?: { summary?: string } }) => stats?.summary);
    assert.is(summaries.length, choice === 'summary' ? 1 : 0);
    await page.context().close();
  });
}

for (const fits of [true, false]) {
  full(`a longer context is ${fits ? '' : 'not '}offered if it ${fits ? 'fits' : 'does not fit'}`, async () => {
    const { page } = await askInFullChat(async (opened) => {
      await opened.route('**/models/fit*', async (route) => {
        const reply = await route.fetch();
        const contextThatFits = fits ? 100_000 : CONTEXT;
        await route.fulfill({ json: { ...((await reply.json()) as object), contextThatFits } });
      });
    });
    const asked = page.waitForResponse('**/models/fit*');
    await page.getByRole('alert').waitFor();
    await (await asked).finished();
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
    const longer = page.getByRole('button', { name: 'Load with a context of 1k' });
    if (fits) await longer.waitFor();
    else assert.is(await longer.count(), 0);
    await page.context().close();
  });
}

full.run();
