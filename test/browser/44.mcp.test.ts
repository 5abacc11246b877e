// MCP servers, from the mouse: a server is added, a call is approved or denied, and the chat is stored.
import { mkdirSync, mkdtempSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { checkPage, goTo, openApp, openStoredChat, startBrowser } from '../support/browser.js';
import { type HostileMcp, writeHostileMcp } from '../support/hostile-mcp.js';
import { writeScriptedModel } from '../support/scripted-model.js';
import { type RunningDesktop, removeFolder, startDesktop } from '../support/start-desktop.js';

const servers = suite('MCP servers in the pages');
const SAY = 'Take an umbrella with you.';
const SECRET = 'secret-of-the-test';
let app: RunningDesktop;
let browser: Browser;
let model: string;

servers.before(async () => {
  [app, browser] = await Promise.all([startDesktop(), startBrowser()]);
  const folder = path.join(app.folder, 'scripted');
  mkdirSync(folder);
  // Arguments are tokens of the model, which differ.
  const calls = Object.entries({ hostile: 'Cusco', denied: 'Lima' }).map(([server, city]) => ({
    tool: `${server}_weather`,
    arguments: { city },
  }));
  writeScriptedModel(path.join(folder, 'caller.gguf'), { calls, say: SAY });
  await app.done('PUT', '/api/v1/settings', { modelFolders: [folder], generateTitles: false });
  const { models } = await app.done('GET', '/api/v1/models');
  model = models.find(({ key }: { key: string }) => key.includes('caller')).key;
  await app.done('POST', '/api/v1/models/load', { model, config: { contextSize: 4096, parallel: 1 } });
});

servers.after(async () => {
  await browser.close();
  await app.stop();
  removeFolder(app.folder);
});

const newServer = (): HostileMcp =>
  writeHostileMcp(mkdtempSync(path.join(app.folder, 'mcp-')), { env: { SECRET_KEY: SECRET } });
const callsIn = ({ log }: HostileMcp) =>
  readFileSync(log, 'utf8')
    .split('\n')
    .filter((line) => line === 'call weather');

async function addServer(page: Page, definitions: object): Promise<void> {
  await page.getByRole('button', { name: 'Add an MCP server' }).click();
  await page.getByLabel('Definition (JSON)').fill(JSON.stringify(definitions, null, 2));
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
}

for (const [width, colorScheme] of [
  [1280, 'light'],
  [390, 'dark'],
  [1280, 'dark'],
  [390, 'light'],
] as const) {
  servers(`a server is added, and its tool is called after a question (${width} px, ${colorScheme})`, async () => {
    const shown = (name: string) => `mcp-${name}-${width}-${colorScheme}`;
    const server = newServer();
    const { page, complaints } = await openApp(browser, app, { viewport: { width, height: 860 }, colorScheme });
    await goTo(page, 'Settings');
    await page.getByRole('button', { name: 'Add an MCP server' }).click();
    const dialog = page.getByRole('dialog');
    await page.getByLabel('Definition (JSON)').fill('{"hostile": {}}');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByText('must have either `command` or `url`').waitFor();
    await checkPage(page, shown('editor'));
    await page
      .getByLabel('Definition (JSON)')
      .fill(JSON.stringify({ mcpServers: { hostile: server.definition, broken: { command: '/missing' } } }));
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Running, 5 tools').waitFor();
    await page.getByText(/^Failed: .*ENOENT/).waitFor();
    await page.getByRole('heading', { name: 'MCP servers' }).scrollIntoViewIfNeeded();
    await checkPage(page, shown('settings'));

    const chat = { title: 'Weather', model, settings: { temperature: 0 } };
    const { id } = await app.done('POST', '/api/v1/chats', chat);
    await openStoredChat(page, id);
    await page.getByRole('button', { name: 'Chat settings' }).click();
    await page.getByText('hostile · 0 of 5 tools').click();
    await page.getByLabel('weather', { exact: true }).selectOption('Ask before each call');
    await page.getByText('hostile · 1 of 5 tools').waitFor();
    await checkPage(page, shown('chat-settings'));
    if (width < 860) await page.getByRole('button', { name: 'Close the settings' }).click();
    await page.getByRole('textbox', { name: 'Message' }).fill('Will it rain?');
    await page.getByRole('button', { name: 'Send' }).click();
    const question = page.getByRole('dialog', { name: 'weather (hostile)?' });
    await question.getByText('"Cusco"').waitFor();
    await checkPage(page, shown('question'));
    assert.equal(callsIn(server), []);
    await question.getByRole('button', { name: 'Run once' }).click();
    await page.locator('.markdown').getByText(SAY).waitFor();
    assert.is(callsIn(server).length, 1);
    await page.reload();
    await page.getByText('weather (hostile) · Done').click();
    await page.getByText('<img src=x onerror="document.title=1"><b>bold</b>').waitFor();
    await page.getByText('[image of type image/png]').waitFor();
    assert.is(await page.locator('.tool-call img, .tool-call b').count(), 0);
    await checkPage(page, shown('result'));
    for (const name of ['hostile', 'broken']) await app.done('DELETE', `/api/v1/mcp/${name}`);
    // Chromium reports the reply to the invalid definition.
    assert.equal(
      complaints.filter((each) => !each.endsWith('/api/v1/mcp')),
      [],
    );
    await page.context().close();
  });
}

servers('a denied call does not run; a server is edited, switched off and removed', async () => {
  const server = newServer();
  const { page } = await openApp(browser, app);
  await goTo(page, 'Settings');
  await addServer(page, { denied: server.definition });
  await page.getByText('Running, 5 tools').waitFor();
  const settings = { temperature: 0, tools: { 'denied\nweather': 'ask' } };
  const { id } = await app.done('POST', '/api/v1/chats', { title: 'Weather', model, settings });
  await openStoredChat(page, id);
  await page.getByRole('textbox', { name: 'Message' }).fill('Will it rain?');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Decline' }).click();
  await page.locator('.markdown').getByText(SAY).waitFor();
  await page.getByText('weather (denied) · Declined').waitFor();
  assert.equal(callsIn(server), []);

  await goTo(page, 'Settings');
  await page.getByRole('button', { name: 'Edit denied' }).click();
  const text = await page.getByLabel('Definition (JSON)').inputValue();
  assert.match(text, /"SECRET_KEY": "<stored>"/);
  await page.getByLabel('Definition (JSON)').fill(text.replace('"denied"', '"renamed"'));
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
  await page.getByText('renamed', { exact: true }).waitFor();
  await page.getByText('Running, 5 tools').waitFor();
  assert.match(readFileSync(path.join(app.folder, 'mcp.json'), 'utf8'), new RegExp(SECRET));
  await page.getByLabel('Use renamed').click();
  await page.locator('.mcp-servers').getByText('Off').waitFor();
  await page.getByLabel('Use renamed').click();
  await page.getByText('Running, 5 tools').waitFor();
  await page.getByRole('button', { name: 'Remove renamed' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove', exact: true }).click();
  await page.getByText('renamed', { exact: true }).waitFor({ state: 'detached' });
  await page.context().close();
});

servers('what is allowed in a chat is not allowed for another program under the same name', async () => {
  const [before, after] = [newServer(), newServer()];
  const define = (server: HostileMcp, replaces: string | null) =>
    app.done('POST', '/api/v1/mcp', { text: JSON.stringify({ hostile: server.definition }), replaces });
  await define(before, null);
  const { page } = await openApp(browser, app);
  const question = page.getByRole('dialog', { name: 'weather (hostile)?' });
  /** Asks in another chat, because the model calls a tool once per chat. */
  const askIn = async (settings: object) => {
    const { id } = await app.done('POST', '/api/v1/chats', { title: 'Weather', model, settings });
    await openStoredChat(page, id);
    await page.getByRole('textbox', { name: 'Message' }).fill('Will it rain?');
    await page.getByRole('button', { name: 'Send' }).click();
    return id;
  };
  const reply = page.locator('.markdown').getByText(SAY);
  const first = await askIn({ temperature: 0, tools: { 'hostile\nweather': 'ask' } });
  await question.getByRole('button', { name: 'Allow in this chat' }).click();
  await reply.waitFor();
  const { settings } = await app.done('GET', `/api/v1/chats/${first}`);
  await askIn(settings);
  await reply.waitFor();
  assert.is(callsIn(before).length, 2);
  await define(after, 'hostile');
  await askIn(settings);
  await question.getByRole('button', { name: 'Run once' }).waitFor();
  assert.equal(callsIn(after), []);
  await question.getByRole('button', { name: 'Decline' }).click();
  await reply.waitFor();
  assert.equal(callsIn(after), []);
  await app.done('DELETE', '/api/v1/mcp/hostile');
  await page.context().close();
});

servers.run();
