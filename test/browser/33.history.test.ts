// The history: pinned chats, dates, search results that open at the message, and titles that the model writes.
import { readFileSync } from 'node:fs';
import type { Browser } from 'playwright-core';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { accessibilityProblems, goTo, openApp, overflows, startBrowser } from '../support/browser.js';
import { MODEL } from '../support/long-answer.js';
import { type RunningDesktop, removeFolder, startDesktop } from '../support/start-desktop.js';
import { until } from '../support/until.js';

const history = suite('the history of chats');
let app: RunningDesktop;
let browser: Browser;

history.before(async () => {
  [app, browser] = await Promise.all([startDesktop(), startBrowser()]);
});

history.after(async () => {
  await browser.close();
  await app.stop();
  removeFolder(app.folder);
});

const message = (id: string, parent: string | null, content: string) => ({ id, parent, role: 'user', content });

history('a title of 45 characters is complete at a width of 1,280 px', async () => {
  const title = 'Why the sky is blue in the morning and at noon';
  const { id } = await app.done('POST', '/api/v1/chats', { title, messages: [message('a', null, 'Hello')] });
  const { page } = await openApp(browser, app, { viewport: { width: 1280, height: 860 } });
  await goTo(page, 'Chat');
  const link = page.getByRole('complementary', { name: 'History' }).getByRole('link', { name: title });
  const isCut = () =>
    link.locator('.history-title').evaluate((text) => {
      const { scrollWidth, clientWidth, scrollHeight, clientHeight } = text as unknown as Record<string, number>;
      return (scrollWidth as number) > (clientWidth as number) || (scrollHeight as number) > (clientHeight as number);
    });
  assert.not(await isCut());
  await link.hover();
  assert.not(await isCut());
  await page.context().close();
  await app.done('DELETE', `/api/v1/chats/${id}`);
});

for (const [colorScheme, width] of [
  ['light', 1280],
  ['dark', 390],
] as const) {
  history(`a chat is pinned, and a search result opens at its message (${colorScheme}, ${width} px)`, async () => {
    const messages = Array.from({ length: 40 }, (_, index) =>
      message(`m${index}`, index === 0 ? null : `m${index - 1}`, `Paragraph ${index}. ${'Long text. '.repeat(40)}`),
    );
    const chat = {
      title: `Old ${width}`,
      messages: [...messages, message('other', 'm3', `An aardvark${width} on another branch.`)],
      current: 'm39',
    };
    const { id } = await app.done('POST', '/api/v1/chats', chat);
    await app.done('POST', '/api/v1/chats', { title: `New ${width}`, messages: [message('a', null, 'Hello')] });
    const { page, complaints } = await openApp(browser, app, { viewport: { width, height: 860 }, colorScheme });
    await goTo(page, 'Chat');
    const panel = page.getByRole('complementary', { name: 'History' });
    if (width < 860) await page.getByRole('button', { name: 'History' }).press('Enter');
    const today = panel.getByRole('region', { name: 'Today' });
    await today.getByRole('link', { name: `Old ${width}` }).waitFor();
    assert.match(await today.locator('time').first().innerText(), /^\d+:\d\d/);
    await panel.getByRole('button', { name: `Pin the chat Old ${width}` }).press('Enter');
    const pinned = panel.getByRole('region', { name: 'Pinned' });
    await pinned.getByRole('link', { name: `Old ${width}` }).waitFor();
    assert.is((await app.done('GET', '/api/v1/chats')).chats[0].id, id);
    assert.equal(await accessibilityProblems(page), []);
    assert.not(await overflows(page));
    await panel.getByRole('button', { name: `Unpin the chat Old ${width}` }).press('Enter');
    await pinned.waitFor({ state: 'detached' });

    const search = panel.getByLabel('Search all chats');
    await search.fill(`aardvark${width}`);
    await panel.locator('mark').waitFor();
    await panel.getByRole('link').press('Enter');
    await page.locator('article:focus', { hasText: 'on another branch' }).waitFor();
    if (width < 860) await page.getByRole('button', { name: 'History' }).press('Enter');
    await search.fill('"Paragraph 7"');
    await panel.locator('mark', { hasText: '7' }).waitFor();
    await panel.getByRole('link').first().press('Enter');
    const found = page.locator('article:focus', { hasText: 'Paragraph 7.' });
    await found.waitFor();
    const box = await found.boundingBox();
    assert.ok(box && box.y > 0 && box.y < 500, `at ${box?.y}`);
    assert.equal(await accessibilityProblems(page), []);
    assert.equal(complaints, []);
    await page.context().close();
    await app.done('DELETE', `/api/v1/chats/${id}`);
  });
}

for (const [colorScheme, width] of [
  ['light', 1280],
  ['dark', 390],
] as const) {
  history(`chats are sorted into folders, by menu and by dragging (${colorScheme}, ${width} px)`, async () => {
    const [inside, dragged] = [`Sorted ${width}`, `Dragged ${width}`];
    for (const title of [inside, dragged]) {
      await app.done('POST', '/api/v1/chats', { title, messages: [message('a', null, 'Hello')] });
    }
    const { page, complaints } = await openApp(browser, app, { viewport: { width, height: 860 }, colorScheme });
    const panel = page.getByRole('complementary', { name: 'History' });
    const showPanel = async () => {
      await goTo(page, 'Chat');
      if (width < 860) await page.getByRole('button', { name: 'History' }).press('Enter');
    };
    const nameIt = async (name: string) => {
      await page.getByRole('textbox', { name: 'Name of the folder' }).fill(name);
      await page.keyboard.press('Enter');
    };
    await showPanel();
    await panel.getByRole('button', { name: 'New folder' }).press('Enter');
    await nameIt('Zoo');
    const zoo = panel.getByRole('region', { name: 'Zoo' });
    await zoo.waitFor();
    await panel.getByRole('button', { name: `Move the chat ${inside} to a folder` }).press('Enter');
    assert.ok(await page.getByRole('button', { name: 'No folder' }).isDisabled());
    assert.equal(await accessibilityProblems(page), []);
    await page.getByRole('dialog').getByRole('button', { name: 'New folder' }).press('Enter');
    await nameIt('Birds');
    const birds = panel.getByRole('region', { name: 'Birds' });
    await birds.getByRole('link', { name: inside }).waitFor();
    const long = 'A folder with a name that needs more than one line';
    await app.done('POST', '/api/v1/folders', { name: long });
    await panel.getByRole('button', { name: new RegExp(`^${long}`) }).waitFor();
    const isCut = 'document.querySelector(".history").scrollWidth > document.querySelector(".history").clientWidth';
    assert.not(await page.evaluate(isCut));
    await app.done('DELETE', `/api/v1/folders/${encodeURIComponent(long)}`);
    await panel.getByRole('link', { name: dragged }).dragTo(zoo);
    await zoo.getByRole('link', { name: dragged }).waitFor();
    assert.equal(await accessibilityProblems(page), []);
    assert.not(await overflows(page));

    const heading = birds.getByRole('button', { name: /^Birds/ });
    await heading.press('Enter');
    await birds.getByRole('link').waitFor({ state: 'detached' });
    await page.reload();
    await showPanel();
    await zoo.getByRole('link', { name: dragged }).waitFor();
    assert.is(await heading.getAttribute('aria-expanded'), 'false');
    await panel.getByLabel('Search all chats').fill(inside);
    await panel.getByRole('region', { name: 'Today' }).getByRole('link', { name: inside }).waitFor();
    await panel.getByLabel('Search all chats').fill('');

    await zoo.getByRole('link', { name: dragged }).dragTo(panel.getByLabel('Search all chats'));
    await panel.getByRole('region', { name: 'Today' }).getByRole('link', { name: dragged }).waitFor();
    // Another page is first.
    await app.done('PUT', '/api/v1/folders/Birds', { name: 'Owls', open: true });
    const owls = panel.getByRole('region', { name: 'Owls' });
    await owls.getByRole('link', { name: inside }).waitFor();
    await owls.getByRole('button', { name: 'Rename the folder Owls' }).press('Enter');
    await nameIt('Zoo');
    await page.getByText('The folder `Zoo` exists already.').waitFor();
    await page.getByRole('button', { name: 'Cancel' }).press('Enter');
    await owls.getByRole('button', { name: 'Remove the folder Owls' }).press('Enter');
    assert.equal(await accessibilityProblems(page), []);
    await page.getByRole('button', { name: 'Remove', exact: true }).press('Enter');
    await panel.getByRole('region', { name: 'Today' }).getByRole('link', { name: inside }).waitFor();
    assert.equal((await app.done('GET', '/api/v1/chats')).folders, [{ name: 'Zoo', open: true }]);
    await app.done('DELETE', '/api/v1/folders/Zoo');
    await zoo.waitFor({ state: 'detached' });
    assert.equal(
      complaints.filter((each) => !each.includes('400')),
      [],
    );
    await page.context().close();
  });
}

history('exports of other programs are imported, and all chats are exported', async () => {
  const { page } = await openApp(browser, app);
  await goTo(page, 'Chat');
  const give = async (name: string, content: Buffer) => {
    const chooser = page.waitForEvent('filechooser');
    await page.getByRole('button', { name: 'Import chats' }).press('Enter');
    await (await chooser).setFiles({ name, mimeType: '', buffer: content });
  };
  const history = { messages: { x: { parentId: null, role: 'user', content: 'From elsewhere' } }, currentId: 'x' };
  const buffer = Buffer.from(JSON.stringify([{ title: 'Brought along', chat: { history } }]));
  await give('a.json', buffer);
  await page.getByText('Imported one chat.').waitFor();
  await page.getByRole('link', { name: 'Brought along' }).press('Enter');
  await page.getByRole('article', { name: 'You' }).getByText('From elsewhere').waitFor();
  assert.equal(await accessibilityProblems(page), []);
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Export all chats' }).press('Enter');
  assert.is((await download).suggestedFilename(), 'chats.json');
  assert.match(readFileSync(await (await download).path(), 'utf8'), 'From elsewhere');
  await give('b.json', Buffer.from('{}'));
  await page.getByText('b.json is not an export of chats').waitFor();
  await page.context().close();
});

history('the model writes a title after the first completion, unless titles are switched off', async () => {
  const titleOf = async (id: string) => (await app.done('GET', `/api/v1/chats/${id}`)).title;
  const ask = async () => {
    const chat = { model: MODEL, settings: { max_tokens: 8 }, title: 'Tell me about', current: 'q' };
    const messages = [message('q', null, 'Tell me about the runners of the Andes.')];
    const { id } = await app.done('POST', '/api/v1/chats', { ...chat, messages });
    await app.done('POST', `/api/v1/chats/${id}/completion`, { id: 'a', parent: 'q' });
    return id;
  };
  const id = await ask();
  const { page } = await openApp(browser, app);
  await goTo(page, 'Chat');
  await until(async () => (await titleOf(id)) !== 'Tell me about', 'the title');
  await page
    .getByRole('complementary', { name: 'History' })
    .getByRole('link', { name: await titleOf(id) })
    .waitFor();

  await goTo(page, 'Settings');
  await page.getByLabel('Let models write the titles of chats').press('Space');
  await until(async () => !(await app.done('GET', '/api/v1/settings')).generateTitles, 'the setting');
  await page.context().close();
});

history.run();
