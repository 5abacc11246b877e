// Tools in chats: the user agrees to each call, JavaScript runs without network access, and the model reads the result.
import { mkdirSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { accessibilityProblems, openApp, openStoredChat, overflows, startBrowser } from '../support/browser.js';
import { pdfOf } from '../support/pdf-file.js';
import { writeScriptedModel } from '../support/scripted-model.js';
import { type RunningDesktop, removeFolder, startDesktop } from '../support/start-desktop.js';

const tools = suite('tools in chats');
const SAY = 'It opened 94 years ago.';
let app: RunningDesktop;
let browser: Browser;
let model: string;
let hits = 0;
/** A server that replies to all origins. */
const outside = http.createServer((_request, reply) => {
  hits += 1;
  reply.setHeader('access-control-allow-origin', '*').end('reached');
});

tools.before(async () => {
  outside.listen(0, '127.0.0.1');
  await new Promise((resolve) => outside.once('listening', resolve));
  [app, browser] = await Promise.all([startDesktop(), startBrowser()]);
  const address = `http://127.0.0.1:${(outside.address() as AddressInfo).port}/`;
  const code = `const tries = [fetch('${address}'), fetch('/api/v1/state'), import('${address}')];
    const ends = await Promise.allSettled(tries); console.log(2025 - 1931); return ends.map(({ status }) => status)`;
  const folder = path.join(app.folder, 'scripted');
  mkdirSync(folder);
  writeScriptedModel(path.join(folder, 'caller.gguf'), {
    calls: [{ tool: 'javascript', arguments: { code } }],
    say: SAY,
  });
  await app.done('PUT', '/api/v1/settings', { modelFolders: [folder], generateTitles: false });
  const { models } = await app.done('GET', '/api/v1/models');
  model = models.find(({ key }: { key: string }) => key.includes('caller')).key;
  await app.done('POST', '/api/v1/models/load', { model, config: { contextSize: 4096, parallel: 1 } });
});

tools.after(async () => {
  await browser.close();
  await app.stop();
  outside.close();
  removeFolder(app.folder);
});

async function openChat(chat: object, width = 1280): Promise<{ page: Page; id: string }> {
  const settings = { temperature: 0, tools: { javascript: 'ask' } };
  const { id } = await app.done('POST', '/api/v1/chats', { title: 'Tools', model, settings, ...chat });
  const { page } = await openApp(browser, app, { viewport: { width, height: 860 } });
  await openStoredChat(page, id);
  return { page, id };
}

async function ask(page: Page): Promise<void> {
  await page.getByRole('textbox', { name: 'Message' }).fill('When did it open?');
  await page.getByRole('button', { name: 'Send' }).click();
}

/** The completions, without their announcements. */
const said = (page: Page) => page.locator('.markdown').getByText(SAY);

const callOf = (code: string) => ({
  messages: [
    { id: 'q', parent: null, role: 'user', content: 'Go' },
    {
      id: 'a',
      parent: 'q',
      role: 'assistant',
      content: '',
      toolCalls: [{ id: 'c', name: 'javascript', arguments: JSON.stringify({ code }) }],
    },
  ],
  current: 'a',
});

const resultIn = async (id: string) => {
  const { messages } = await app.done('GET', `/api/v1/chats/${id}`);
  return messages.find(({ toolCalls }: { toolCalls?: object[] }) => toolCalls).toolCalls[0];
};

for (const width of [1280, 390]) {
  tools(`with the mouse: a PDF, a question, and a call that the user approves (${width} px)`, async () => {
    const { page, id } = await openChat({ settings: { temperature: 0 } }, width);
    await page.getByRole('button', { name: 'Chat settings' }).click();
    await page.getByLabel('Run JavaScript').selectOption('Ask before each call');
    assert.equal(await accessibilityProblems(page), []);
    if (width < 860) await page.getByRole('button', { name: 'Close the settings' }).click();
    const file = { name: 'bridge.pdf', mimeType: '', buffer: pdfOf(['The bridge was opened in 1931']) };
    await page.getByLabel('Files', { exact: true }).setInputFiles(file);
    await page.getByRole('button', { name: 'Remove bridge.pdf' }).waitFor();
    await ask(page);
    const question = page.getByRole('dialog', { name: 'Run JavaScript?' });
    await question.getByText('2025 - 1931').waitFor();
    assert.equal(await accessibilityProblems(page), []);
    assert.not(await overflows(page));
    await question.getByRole('button', { name: 'Run once' }).click();
    await said(page).waitFor();
    assert.equal(await resultIn(id), {
      ...(await resultIn(id)),
      state: 'done',
      result: '94\n["rejected","rejected","rejected"]',
    });
    assert.is(hits, 0);
    await page.reload();
    await page.getByText('Run JavaScript · Done').click();
    await page.getByText('["rejected","rejected","rejected"]').waitFor();
    assert.equal(await accessibilityProblems(page), []);
    await page.context().close();
  });
}

tools('a declined call is not run, and the model is told so', async () => {
  const { page, id } = await openChat({});
  await ask(page);
  const question = page.getByRole('dialog');
  // Closing is no reply.
  await question.getByRole('button', { name: 'Close' }).click();
  await page.getByRole('button', { name: 'Review the call' }).click();
  await question.getByRole('button', { name: 'Decline' }).click();
  await said(page).waitFor();
  await page.getByText('Run JavaScript · Declined').waitFor();
  assert.is((await resultIn(id)).result, 'The user declined this call.');
  await page.context().close();
});

tools('calls are allowed in one chat, or always', async () => {
  const { page } = await openChat({});
  await ask(page);
  await page.getByRole('dialog').getByRole('button', { name: 'Allow in this chat' }).click();
  await said(page).waitFor();
  await ask(page);
  await said(page).nth(1).waitFor();
  await page.context().close();

  const other = await openChat({});
  await ask(other.page);
  await other.page.getByRole('dialog').getByRole('button', { name: 'Always allow' }).click();
  await said(other.page).waitFor();
  await other.page.context().close();
  assert.equal((await app.done('GET', '/api/v1/settings')).allowedTools, ['javascript']);
  const third = await openChat({});
  await ask(third.page);
  await said(third.page).waitFor();
  await third.page.getByRole('button', { name: 'Chat settings' }).click();
  await third.page.getByLabel('Run JavaScript').selectOption('Ask before each call');
  await third.page.getByRole('dialog').waitFor({ state: 'detached' });
  await third.page.context().close();
  assert.equal((await app.done('GET', '/api/v1/settings')).allowedTools, []);
});

tools('code that does not end is stopped, and errors are results', async () => {
  for (const [code, result] of [
    ['for (;;);', /stopped after 10 s/],
    ['console.log("before"); missing()', /^Error: before\nReferenceError: missing is not defined$/],
  ] as const) {
    const { page, id } = await openChat(callOf(code));
    await page.getByRole('dialog').getByRole('button', { name: 'Run once' }).click();
    await page.getByText('Run JavaScript · Failed').waitFor();
    await said(page).waitFor();
    assert.match((await resultIn(id)).result, result);
    assert.is(await page.locator('iframe').count(), 0);
    await page.context().close();
  }
});

tools.run();
