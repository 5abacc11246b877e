// No message is lost: completions continue without their page, drafts stay in their chat, and pages agree on a chat.
import type { Browser, Page } from 'playwright-core';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { accessibilityProblems, goTo, openApp, startBrowser, untilIn } from '../support/browser.js';
import { ENDLESS, loadLongModel, longChat, MODEL } from '../support/long-answer.js';
import { type RunningDesktop, removeFolder, startDesktop } from '../support/start-desktop.js';
import { until } from '../support/until.js';

const background = suite('completions without their page');
let app: RunningDesktop;
let browser: Browser;

background.before(async () => {
  [app, browser] = await Promise.all([startDesktop(), startBrowser()]);
  await loadLongModel(app);
});

background.after(async () => {
  await browser.close();
  await app.stop();
  removeFolder(app.folder);
});

const stop = (chat: string) => app.done('DELETE', `/api/v1/chats/${chat}/completion`);
const start = (chat: string) => app.done('POST', `/api/v1/chats/${chat}/completion`, { id: 'a', parent: 'q' });
const read = (chat: string) => app.done('GET', `/api/v1/chats/${chat}`);
const completion = (page: Page) => page.getByRole('article', { name: 'Model' }).locator('.markdown');
const question = (page: Page, text: string) => page.getByRole('article', { name: 'You' }).getByText(text);
const textBox = (page: Page) => page.getByRole('textbox', { name: 'Message' });
const entry = (page: Page, title: string) =>
  page.getByLabel('History').getByRole('listitem').filter({ hasText: title }).getByRole('link');

/** Opens a stored chat with the settings of endless completions, and asks on the page. */
async function asked(title: string): Promise<{ page: Page; chat: string }> {
  const chat = await longChat(app, title);
  const { page } = await openApp(browser, app);
  await page.evaluate(`location.hash = '#/chat/${chat}'`);
  await question(page, title).waitFor();
  await textBox(page).fill(`${title}, again.`);
  await page.keyboard.press('Enter');
  await longerThan(page, 40);
  return { page, chat };
}

const lengthOf = `(document.querySelector('article.assistant .markdown')?.textContent.length ?? 0)`;
const longerThan = (page: Page, length: number) => untilIn(page, `${lengthOf} > ${length}`);

background('a reloaded page follows the completion that it left', async () => {
  const { page, chat } = await asked('Reloaded');
  const before = await completion(page).innerText();
  await page.reload();
  await longerThan(page, before.length + 40);
  assert.ok((await completion(page).innerText()).startsWith(before.slice(0, 30)));
  assert.is(await page.getByRole('article').count(), 3);
  await page.getByRole('button', { name: 'Stop' }).click();
  await page.getByRole('button', { name: 'Send' }).waitFor();
  const { messages, running } = await read(chat);
  assert.is(running, null);
  await page.reload();
  await page.getByText('· stopped').waitFor();
  assert.is(messages.at(-1).content.length > before.length, true);
  await page.context().close();
});

background('a completion continues after its page was closed', async () => {
  const { page, chat } = await asked('Closed');
  await page.context().close();
  const length = async () => (await read(chat)).messages.at(-1).content.length;
  const closed = await length();
  await until(async () => (await length()) > closed + 100, 'more text');
  const { page: next } = await openApp(browser, app);
  await goTo(next, 'Chat');
  await entry(next, 'Closed').getByText('Writing …').waitFor();
  assert.equal(await accessibilityProblems(next), []);
  await entry(next, 'Closed').click();
  await longerThan(next, closed + 100);
  await stop(chat);
  await next.getByRole('button', { name: 'Send' }).waitFor();
  await entry(next, 'Closed').getByText('Writing …').waitFor({ state: 'detached' });
  await next.context().close();
});

background(
  'another view or chat does not stop a completion, and the next question goes to the shown chat',
  async () => {
    const other = await longChat(app, 'Other');
    const { page, chat } = await asked('Switched');
    await goTo(page, 'Developer');
    await goTo(page, 'Chat');
    await question(page, 'Switched, again.').waitFor();
    await page.getByRole('button', { name: 'Stop' }).waitFor();
    await entry(page, 'Other').click();
    await question(page, 'Other: tell me a story.').waitFor();
    await entry(page, 'Switched').getByText('Writing …').waitFor();
    await textBox(page).fill('For the other chat.');
    await page.keyboard.press('Enter');
    await until(async () => (await read(other)).messages.length === 3, 'the other completion');
    assert.is((await read(chat)).running !== null, true);
    await entry(page, 'Switched').click();
    await longerThan(page, 60);
    assert.is((await read(other)).messages[1].content, 'For the other chat.');
    await Promise.all([stop(chat), stop(other)]);
    await page.context().close();
  },
);

background('an address of a chat, opened from another view, shows that chat', async () => {
  const [one, two] = [await longChat(app, 'One'), await longChat(app, 'Two')];
  const { page } = await openApp(browser, app);
  await page.evaluate(`location.hash = '#/chat/${one}'`);
  await question(page, 'One:').waitFor();
  await goTo(page, 'Developer');
  await page.evaluate(`location.hash = '#/chat/${two}'`);
  await question(page, 'Two:').waitFor();
  assert.match(page.url(), new RegExp(two));
  await goTo(page, 'Developer');
  await goTo(page, 'Chat');
  await question(page, 'Two:').waitFor();
  assert.match(page.url(), new RegExp(two));
  await page.evaluate(`location.hash = '#/chat/gone'`);
  await page.getByText('Everything stays on this computer.').waitFor();
  await page.context().close();
});

background('each chat has its own draft, which survives other views and a reload', async () => {
  const chat = await longChat(app, 'Drafted');
  const { page } = await openApp(browser, app);
  await page.evaluate(`location.hash = '#/chat/${chat}'`);
  await question(page, 'Drafted:').waitFor();
  await textBox(page).fill('Not sent yet');
  await goTo(page, 'Developer');
  await goTo(page, 'Chat');
  assert.is(await textBox(page).inputValue(), 'Not sent yet');
  await page.getByRole('button', { name: 'New chat', exact: true }).click();
  await page.getByText('Everything stays on this computer.').waitFor();
  assert.is(await textBox(page).inputValue(), '');
  await textBox(page).fill('Of the new chat');
  await entry(page, 'Drafted').click();
  await question(page, 'Drafted:').waitFor();
  assert.is(await textBox(page).inputValue(), 'Not sent yet');
  await page.reload();
  await question(page, 'Drafted:').waitFor();
  assert.is(await textBox(page).inputValue(), 'Not sent yet');
  await page.getByRole('button', { name: 'New chat', exact: true }).click();
  await untilIn(page, `document.querySelector('.composer textarea').value === 'Of the new chat'`);
  await page.context().close();
});

background('a message that cannot be stored is the draft again', async () => {
  const chat = await longChat(app, 'Offline');
  const { page } = await openApp(browser, app);
  await page.evaluate(`location.hash = '#/chat/${chat}'`);
  await question(page, 'Offline:').waitFor();
  await page.route('**/messages', (route) => route.abort());
  await textBox(page).fill('Do not lose me');
  await page.keyboard.press('Enter');
  await page.getByText('The app is not running').waitFor();
  assert.is(await textBox(page).inputValue(), 'Do not lose me');
  assert.is(await page.getByRole('article').count(), 1);
  await page.context().close();
});

background('two pages with the same chat show the same messages, and an old one overwrites nothing', async () => {
  const chat = await longChat(app, 'Shared');
  const pages = [await openApp(browser, app), await openApp(browser, app)].map(({ page }) => page);
  const [one, two] = pages as [Page, Page];
  for (const page of pages) {
    await page.evaluate(`location.hash = '#/chat/${chat}'`);
    await question(page, 'Shared:').waitFor();
  }
  await app.done('PUT', `/api/v1/chats/${chat}`, { title: 'Renamed', settings: { ...ENDLESS, seed: 7 } });
  await entry(two, 'Renamed').waitFor();
  await two.getByRole('button', { name: 'Chat settings' }).click();
  await untilIn(two, `document.querySelector('.chat-settings input[placeholder=random]').value === '7'`);
  await textBox(two).fill('From the second page.');
  await two.keyboard.press('Enter');
  await question(one, 'From the second page.').waitFor();
  await longerThan(one, 40);
  await one.getByRole('button', { name: 'Stop' }).click();
  for (const page of pages) await page.getByRole('button', { name: 'Send' }).waitFor();
  const { title, settings, model } = await read(chat);
  assert.equal([title, settings.seed, model], ['Renamed', 7, MODEL]);
  const texts = await Promise.all(pages.map((page) => completion(page).innerText()));
  assert.is(texts[0], texts[1]);
  for (const page of pages) await page.context().close();
});

background('a page continues to follow after its connection was lost', async () => {
  const chat = await longChat(app, 'Interrupted');
  await start(chat);
  const { page } = await openApp(browser, app);
  let connections = 0;
  await page.route(`**/chats/${chat}/completion`, async (route) => {
    connections += 1;
    return connections === 1 ? route.abort() : route.continue();
  });
  await page.evaluate(`location.hash = '#/chat/${chat}'`);
  await until(() => connections === 2, 'another connection');
  await longerThan(page, 40);
  await page.getByRole('button', { name: 'Stop' }).waitFor();
  await stop(chat);
  await page.getByRole('button', { name: 'Send' }).waitFor();
  await page.context().close();
});

background.run();
