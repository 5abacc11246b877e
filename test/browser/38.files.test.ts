// Documents in chats: attached by button and by drop, shown with name and size, stored, and read by the model.
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Chat } from '../../ts/desktop/api-types.js';
import { accessibilityProblems, openApp, openStoredChat, overflows, startBrowser } from '../support/browser.js';
import { docxOf } from '../support/docx-file.js';
import { MODEL } from '../support/long-answer.js';
import { pdfOf } from '../support/pdf-file.js';
import { writeEncoder } from '../support/random-model.js';
import { type RunningDesktop, removeFolder, startDesktop } from '../support/start-desktop.js';
import { until } from '../support/until.js';

const files = suite('files in chats');
let app: RunningDesktop;
let browser: Browser;

files.before(async () => {
  [app, browser] = await Promise.all([startDesktop(), startBrowser()]);
  await app.done('POST', '/api/v1/models/load', { model: MODEL, context_length: 1024 });
});

files.after(async () => {
  await browser.close();
  await app.stop();
  removeFolder(app.folder);
});

async function openChat(colorScheme: 'light' | 'dark', width: number): Promise<{ page: Page; id: string }> {
  const chat = { title: 'Files', model: MODEL, settings: { max_tokens: 8 } };
  const { id } = await app.done('POST', '/api/v1/chats', chat);
  const { page } = await openApp(browser, app, { viewport: { width, height: 860 }, colorScheme });
  await openStoredChat(page, id);
  return { page, id };
}

async function attach(page: Page, name: string, buffer: Buffer): Promise<void> {
  await page.getByLabel('Files', { exact: true }).setInputFiles({ name, mimeType: '', buffer });
}

const drop = (page: Page, name: string, text: string) =>
  page.evaluate(`(() => {
    const data = new DataTransfer();
    data.items.add(new File([${JSON.stringify(text)}], '${name}'));
    document.querySelector('.composer').dispatchEvent(
      new DragEvent('drop', { bubbles: true, cancelable: true, dataTransfer: data }));
  })()`);

for (const [scheme, width] of [
  ['light', 1280],
  ['dark', 390],
] as const) {
  files(`a PDF file and a dropped text are shown, stored and read by the model (${scheme}, ${width} px)`, async () => {
    const { page, id } = await openChat(scheme, width);
    await attach(page, 'report.pdf', pdfOf(['The bridge was opened in 1931']));
    await page.getByRole('button', { name: 'Remove report.pdf' }).waitFor();
    await drop(page, 'notes.md', '# Notes\nThe toll is five soles.');
    await page.getByRole('button', { name: 'Remove notes.md' }).waitFor();
    await drop(page, 'unwanted.csv', 'a,b');
    await page.getByRole('button', { name: 'Remove unwanted.csv' }).click();
    await page.getByRole('button', { name: 'Remove unwanted.csv' }).waitFor({ state: 'detached' });
    assert.equal(await accessibilityProblems(page), []);
    await page.getByRole('textbox', { name: 'Message' }).fill('When was it opened?');
    await page.keyboard.press('Enter');
    const own = page.getByRole('article', { name: 'You' });
    await own.getByText('report.pdf').click();
    await own.getByText('The bridge was opened in 1931').waitFor();
    const reply = page.getByRole('article', { name: 'Model' });
    await reply.getByText('tok/s').waitFor();
    assert.equal(await accessibilityProblems(page), []);
    assert.not(await overflows(page));

    const { messages } = (await app.done('GET', `/api/v1/chats/${id}`)) as Chat;
    assert.equal(
      messages[0]?.files?.map(({ name, text }) => [name, text.split('\n').at(-1)]),
      [
        ['report.pdf', 'The bridge was opened in 1931'],
        ['notes.md', 'The toll is five soles.'],
      ],
    );
    const content = `<document title="report.pdf">\nThe bridge was opened in 1931\n</document>\n\n<document title="notes.md">\n# Notes\nThe toll is five soles.\n</document>\n\nWhen was it opened?`;
    const body = { model: MODEL, messages: [{ role: 'user', content }], max_tokens: 1 };
    const { usage } = await app.done('POST', '/app/v1/chat/completions', body);
    assert.is(messages[1]?.stats?.promptTokens, usage.prompt_tokens);
    await page.reload();
    await own.getByText('notes.md').waitFor();
    await page.context().close();
  });
}

files('a file that is too long for the context is refused with both sizes, and can be removed', async () => {
  const { page } = await openChat('light', 1280);
  await attach(page, 'long.txt', Buffer.from('many words '.repeat(2000)));
  await page.getByRole('button', { name: 'Remove long.txt' }).waitFor();
  await page.getByRole('textbox', { name: 'Message' }).fill('Summarize it.');
  await page.keyboard.press('Enter');
  const trouble = page.getByRole('alert').filter({ hasText: 'longer than the context' });
  await trouble.getByText(/1,?024/).waitFor();
  const own = page.getByRole('article', { name: 'You' });
  await own.getByRole('button', { name: 'Edit the message' }).click();
  await own.getByRole('button', { name: 'Remove long.txt' }).click();
  await own.getByRole('button', { name: 'Send edited message' }).click();
  await page.getByRole('article', { name: 'Model' }).getByText('tok/s').waitFor();
  await page.context().close();
});

const filler = 'The weather was mild and nothing happened that day. '.repeat(60);
const long = `${filler}\n\nThe toll of the old bridge is five soles.\n\n${filler}`;

for (const [ranking, scheme, width] of [
  ['words', 'light', 1280],
  ['meaning', 'dark', 390],
] as const) {
  files(
    `passages of a file that is too long are chosen by ${ranking}, and shown with their lines (${scheme}, ${width} px)`,
    async () => {
      if (ranking === 'meaning') {
        const folder = path.join(app.folder, 'embedders');
        mkdirSync(folder);
        writeEncoder(path.join(folder, 'little-embedder.gguf'), 'mean', false, 512);
        await app.done('PUT', '/api/v1/settings', { modelFolders: [folder] });
        await until(async () => {
          const { models } = await app.done('GET', '/api/v1/models');
          return models.some(({ key }: { key: string }) => key === 'little-embedder');
        }, 'the embedding model');
      }
      const { page, id } = await openChat(scheme, width);
      await attach(page, 'long.txt', Buffer.from(long));
      await page.getByRole('button', { name: 'Remove long.txt' }).waitFor();
      await page.getByRole('textbox', { name: 'Message' }).fill('The toll of the old bridge is five soles.');
      await page.keyboard.press('Enter');
      const trouble = page.getByRole('alert').filter({ hasText: 'longer than the context' });
      await trouble.waitFor();
      assert.equal(await accessibilityProblems(page), []);
      assert.not(await overflows(page));
      assert.not.match(await trouble.innerText(), /--|chasqui serve/);
      await trouble.getByRole('button', { name: 'Use passages that match the question' }).press('Enter');
      const reply = page.getByRole('article', { name: 'Model' });
      await reply.getByText('tok/s').waitFor();
      await reply.getByText(/^Used .*passages? of the files$/).click();
      const how =
        ranking === 'words' ? 'Chosen by the words of the question.' : 'Chosen by meaning, with little-embedder.';
      await reply.getByText(how).waitFor();
      const passage = reply.locator('details.file-chip', { hasText: 'five soles' });
      await passage.getByText(/^long\.txt, lines \d to \d$/).click();
      await passage.getByText('The toll of the old bridge is five soles.').waitFor();
      assert.equal(await accessibilityProblems(page), []);
      assert.not(await overflows(page));
      const { messages, settings } = (await app.done('GET', `/api/v1/chats/${id}`)) as Chat;
      assert.equal([settings.longFiles, messages[1]?.passages?.ranking], ['passages', ranking]);
      assert.is(messages[0]?.files?.[0]?.text, long, 'the file stays whole');
      assert.ok(Number(messages[1]?.stats?.promptTokens) < 1024);
      await page.reload();
      await reply.getByText(/^Used .*passages? of the files$/).waitFor();
      await page.context().close();
    },
  );
}

files('a Word file is attached with its text', async () => {
  const { page } = await openChat('light', 1280);
  await attach(page, 'letter.docx', docxOf('<w:p><w:r><w:t>Dear Ana</w:t></w:r></w:p>'));
  await page.getByRole('button', { name: 'Remove letter.docx' }).waitFor();
  await page.getByRole('textbox', { name: 'Message' }).fill('To whom?');
  await page.keyboard.press('Enter');
  const own = page.getByRole('article', { name: 'You' });
  await own.getByText('letter.docx').click();
  await own.getByText('Dear Ana').waitFor();
  await page.context().close();
});

files('files that cannot be read are refused with the reason', async () => {
  const { page } = await openChat('light', 1280);
  for (const [name, buffer, reason] of [
    ['archive.zip', Buffer.from('504b0304ff00ff00', 'hex'), 'archive.zip cannot be attached: it is neither'],
    ['empty.pdf', pdfOf(['']), 'empty.pdf cannot be attached: it has no text.'],
    ['huge.txt', Buffer.alloc(1_100_000, 'a '), 'huge.txt cannot be attached: it has more than 1,048,576'],
  ] as const) {
    await attach(page, name, buffer);
    await page.getByText(reason).waitFor();
  }
  assert.is(await page.locator('.attached').count(), 0);
  await page.context().close();
});

files.run();
