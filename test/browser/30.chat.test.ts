// Chats: what is written, written again, branched, stopped, found and taken along.
import type { Browser, Page } from 'playwright-core';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { accessibilityProblems, goTo, openApp, startBrowser, untilCopied, untilIn } from '../support/browser.js';
import { dataUri, picture } from '../support/image-files.js';
import { type RunningDesktop, removeFolder, startDesktop } from '../support/start-desktop.js';

const chat = suite('the Chat view');
let app: RunningDesktop;
let browser: Browser;

chat.before(async () => {
  [app, browser] = await Promise.all([startDesktop(), startBrowser()]);
  await app.done('PUT', '/api/v1/settings', { generateTitles: false });
});

chat.after(async () => {
  await browser.close();
  await app.stop();
  removeFolder(app.folder);
});

async function openChat(): Promise<{ page: Page; complaints: string[] }> {
  const opened = await openApp(browser, app);
  await goTo(opened.page, 'Chat');
  await opened.page.getByRole('button', { name: 'New chat', exact: true }).click();
  // The demo model sometimes writes long replies.
  await opened.page.getByRole('button', { name: 'Chat settings' }).click();
  await opened.page.getByLabel('Length limit').fill('30');
  await opened.page.getByRole('button', { name: 'Chat settings' }).click();
  return opened;
}

async function ask(page: Page, text: string): Promise<void> {
  await page.getByRole('textbox', { name: 'Message' }).fill(text);
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Send' }).waitFor();
}

const completions = (page: Page) => page.getByRole('article', { name: 'Model' });

chat('a completion is streamed, said sentence by sentence, stored and found again', async () => {
  const { page, complaints } = await openChat();
  await ask(page, 'Hello there!');
  const text = await completions(page).first().locator('.markdown').innerText();
  assert.ok(text.length > 5);
  await completions(page).getByText('tok/s').waitFor();
  await page.getByText(/^Context \d+ of /).waitFor();
  const said = await page.getByRole('log', { name: 'Announcements' }).innerText();
  assert.match(said, 'End of the completion.');
  assert.equal(await accessibilityProblems(page), []);

  await ask(page, 'Tell me about zebrafish.');
  await page.getByRole('button', { name: 'New chat', exact: true }).click();
  await ask(page, 'Something else.');
  await page.getByLabel('Search all chats').fill('zebrafish');
  const entries = page.getByLabel('History').getByRole('listitem');
  await page
    .getByLabel('History')
    .locator('mark', { hasText: /zebrafish/i })
    .waitFor();
  assert.is(await entries.count(), 1);
  await entries.getByRole('link').click();
  await page.getByRole('article', { name: 'You' }).getByText('Tell me about zebrafish.').waitFor();
  assert.is(await page.getByRole('article', { name: 'You' }).count(), 2);
  assert.equal(complaints, []);
  await page.context().close();
});

chat('another completion and another question are branches, and each is found again', async () => {
  const { page } = await openChat();
  await ask(page, 'Count from one to three.');
  await completions(page).getByRole('button', { name: 'Regenerate' }).click();
  await page.getByText('2/2').waitFor();
  await page.getByRole('button', { name: 'Send' }).waitFor();
  await page.getByRole('button', { name: 'Previous version' }).click();
  await page.getByText('1/2').waitFor();

  const question = page.getByRole('article', { name: 'You' });
  await question.getByRole('button', { name: 'Edit the message' }).click();
  await page.getByRole('textbox', { name: 'Edit the message' }).fill('Count from four to six.');
  await page.getByRole('button', { name: 'Send edited message' }).click();
  await page.getByRole('button', { name: 'Send' }).waitFor();
  await question.getByText('2/2').waitFor();
  await page.reload();
  await question.getByText('Count from four to six.').waitFor();
  await question.getByRole('button', { name: 'Previous version' }).click();
  await question.getByText('Count from one to three.').waitFor();
  await page.context().close();
});

chat('one message of a chat is deleted, and the shown branch stays', async () => {
  const { page } = await openChat();
  await ask(page, 'First question.');
  await completions(page).getByRole('button', { name: 'Regenerate' }).click();
  await page.getByText('2/2').waitFor();
  await page.getByRole('button', { name: 'Send' }).waitFor();
  const confirm = page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true });
  await completions(page).getByRole('button', { name: 'Delete the message' }).click();
  assert.equal(await accessibilityProblems(page), []);
  await confirm.click();
  await page.getByText('2/2').waitFor({ state: 'detached' });
  assert.is(await completions(page).count(), 1);
  const questions = page.getByRole('article', { name: 'You' });
  await questions.getByRole('button', { name: 'Delete the message' }).click();
  await confirm.click();
  await questions.waitFor({ state: 'detached' });
  await page.reload();
  await completions(page).waitFor();
  assert.is(await questions.count(), 0);
  await page.context().close();
});

chat('a chat keeps its messages when the page closes before a completion is stored', async () => {
  const { page } = await openChat();
  await ask(page, 'Good morning.');
  await page.route('**/messages', (route) => route.abort());
  await ask(page, 'Tell me a story.');
  await page.reload();
  await page.getByRole('article', { name: 'You' }).getByText('Good morning.').waitFor();
  await completions(page).waitFor();
  await page.context().close();
});

chat('Stop ends a completion and keeps its text; Continue resumes it', async () => {
  const { page } = await openChat();
  await page.getByRole('button', { name: 'Chat settings' }).click();
  await page.getByLabel('Length limit').fill('6');
  await ask(page, 'Tell me about chasqui.');
  await page.getByText('stopped at the length limit').waitFor();
  const cut = await completions(page).locator('.markdown').innerText();
  await page.getByRole('button', { name: 'Continue' }).click();
  await untilIn(page, `document.querySelector('article.assistant .markdown').innerText.length > ${cut.length}`);
  await page.getByRole('button', { name: 'Send' }).waitFor();
  const whole = await completions(page).locator('.markdown').innerText();
  assert.ok(whole.startsWith(cut), `${whole} begins with ${cut}`);
  await page.context().close();
});

chat('an image is pasted, dropped and chosen, shown, and seen by the model', async () => {
  const { page, complaints } = await openChat();
  const bytes = await picture('png');
  const uri = dataUri(bytes, 'image/png');
  const give = (event: string, transfer: string) =>
    page.evaluate(`(async () => {
      const blob = await (await fetch('${uri}')).blob();
      const data = new DataTransfer();
      data.items.add(new File([blob], 'a.png', { type: 'image/png' }));
      document.querySelector('.composer textarea')
        .dispatchEvent(new ${event}('${transfer}', { bubbles: true, cancelable: true,
          ${event === 'DragEvent' ? 'dataTransfer' : 'clipboardData'}: data }));
    })()`);
  // The policy forbids scripts to fetch even data URIs; the page's own code reads files in another way.
  await page.evaluate(`globalThis.fetch = ((fetch) => async (url, ...rest) => String(url).startsWith('data:')
    ? new Response(Uint8Array.from(atob(url.split(',')[1]), (each) => each.charCodeAt(0))) : fetch(url, ...rest))(fetch)`);
  await give('ClipboardEvent', 'paste');
  await page.getByRole('img', { name: 'Attachment 1' }).waitFor();
  await give('DragEvent', 'drop');
  await page.getByRole('img', { name: 'Attachment 2' }).waitFor();
  await page.getByRole('button', { name: 'Remove image 2' }).click();
  await page.getByRole('button', { name: 'Remove image 1' }).click();
  await page.locator('input[type=file]').setInputFiles({ name: 'b.png', mimeType: 'image/png', buffer: bytes });
  await page.getByRole('img', { name: 'Attachment 1' }).waitFor();
  await ask(page, 'What shape is in the image?');
  await page.getByRole('img', { name: 'Sent attachment 1' }).waitFor();
  await completions(page).getByText('tok/s').waitFor();
  assert.equal(await page.getByRole('alert').allInnerTexts(), []);
  assert.equal(complaints, []);
  await page.context().close();
});

chat('two models side by side get the same question', async () => {
  const { page } = await openChat();
  await page.getByRole('button', { name: 'Two models side by side' }).click();
  await ask(page, 'Hello!');
  assert.is(await page.getByRole('article', { name: 'You' }).count(), 2);
  await completions(page).nth(1).getByText('tok/s').waitFor();
  await page.context().close();
});

chat('a chat is exported, and deleted after a question', async () => {
  const { page } = await openChat();
  await ask(page, 'Delete me later.');
  await page.getByRole('button', { name: 'Chat settings' }).click();
  const download = page.waitForEvent('download');
  await page.getByRole('link', { name: 'Markdown' }).click();
  assert.match((await download).suggestedFilename(), /\.md$/);
  const entry = page.getByLabel('History').getByRole('listitem').filter({ hasText: 'Delete me later.' });
  await entry.hover();
  await entry.getByRole('button', { name: /^Delete the chat/ }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await entry.waitFor({ state: 'detached' });
  await page.context().close();
});

chat('code in a list can be copied, as code that stands alone can', async () => {
  const content = '1. First\n\n   ```sh\n   echo one\n   echo two\n   ```\n\n2. Second';
  const { id } = await app.done('POST', '/api/v1/chats', {
    title: 'Steps',
    messages: [
      { id: 'a', parent: null, role: 'user', content: 'How?' },
      { id: 'b', parent: 'a', role: 'assistant', content },
    ],
    current: 'b',
  });
  assert.ok(id);
  const { page, complaints } = await openApp(browser, app);
  await goTo(page, 'Chat');
  await page.getByLabel('History').getByRole('link', { name: /Steps/ }).click();
  await completions(page).getByRole('button', { name: 'Copy code' }).click();
  await untilCopied(page, /^echo one\necho two$/);
  assert.equal(await accessibilityProblems(page), []);
  assert.equal(complaints, []);
  await page.context().close();
});

chat.run();
