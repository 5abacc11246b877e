// Presets: saved, applied to chats, exported and imported, and used for new chats with a model.
import { readFileSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Preset } from '../../ts/desktop/api-types.js';
import { accessibilityProblems, goTo, openApp, overflows, startBrowser } from '../support/browser.js';
import { MODEL } from '../support/long-answer.js';
import { type RunningDesktop, removeFolder, startDesktop } from '../support/start-desktop.js';
import { until } from '../support/until.js';

const presets = suite('presets');
const SCHEMA = { type: 'object', properties: { ok: { const: true } }, required: ['ok'], additionalProperties: false };
let app: RunningDesktop;
let browser: Browser;

presets.before(async () => {
  [app, browser] = await Promise.all([startDesktop(), startBrowser()]);
});

presets.before.each(() => app.done('PUT', '/api/v1/settings', { presets: [], modelPresets: {} }));

presets.after(async () => {
  await browser.close();
  await app.stop();
  removeFolder(app.folder);
});

const stored = async (): Promise<Preset[]> => (await app.done('GET', '/api/v1/settings')).presets;

async function openSettings(page: Page): Promise<void> {
  await goTo(page, 'Chat');
  await page.getByRole('button', { name: 'New chat', exact: true }).click();
  await page.getByRole('button', { name: 'Chat settings' }).press('Enter');
}

for (const [colorScheme, width] of [
  ['light', 1280],
  ['dark', 390],
] as const) {
  presets(`a preset is saved and used with the keyboard (${colorScheme}, ${width} px)`, async () => {
    const { page, complaints } = await openApp(browser, app, { viewport: { width, height: 860 }, colorScheme });
    await openSettings(page);
    const panel = page.getByLabel('Chat settings').last();
    const prompt = panel.getByLabel('System prompt');
    await prompt.fill('Answer as JSON.');
    await panel.getByLabel('Length limit').fill('100');
    await panel.getByLabel('Temperature').fill('0');
    await panel.getByLabel('Stop strings').fill('END\nSTOP');
    await panel.getByLabel('JSON schema').fill('{');
    await panel.getByLabel('JSON schema').press('Tab');
    await panel.getByText('Not valid:').waitFor();
    assert.equal(await accessibilityProblems(page), []);
    await panel.getByLabel('JSON schema').fill(JSON.stringify(SCHEMA));
    await panel.getByRole('button', { name: 'Save as preset' }).press('Enter');
    await page.getByRole('dialog').locator('input:focus').waitFor();
    await page.keyboard.type('Facts');
    await page.keyboard.press('Enter');
    const choice = panel.getByLabel('Preset', { exact: true });
    await until(async () => (await choice.inputValue()) === 'Facts', 'the choice of the preset');
    assert.equal(await stored(), [
      {
        name: 'Facts',
        systemPrompt: 'Answer as JSON.',
        settings: {
          max_tokens: 100,
          temperature: 0,
          stop: ['END', 'STOP'],
          response_format: { type: 'json_schema', json_schema: { name: 'reply', schema: SCHEMA } },
        },
      },
    ]);
    await panel.getByLabel(`Use for new chats with ${MODEL}`).press('Space');
    await until(
      async () => (await app.done('GET', '/api/v1/settings')).modelPresets[MODEL] === 'Facts',
      'the preset of the model',
    );
    assert.equal(await accessibilityProblems(page), []);
    assert.not(await overflows(page));

    await prompt.fill('Something else.');
    assert.is(await choice.inputValue(), '');
    await choice.selectOption('Facts');
    assert.is(await prompt.inputValue(), 'Answer as JSON.');
    await prompt.fill('Something else.');
    await panel.getByRole('button', { name: 'Close the settings' }).click();
    await page.getByRole('button', { name: 'New chat', exact: true }).click();
    await page.getByRole('textbox', { name: 'Message' }).fill('Is it so?');
    await page.keyboard.press('Enter');
    const reply = page.getByRole('article', { name: 'Model' });
    await reply.getByText(/^\s*\{\s*"ok"\s*:\s*true\s*\}\s*$/).waitFor();
    assert.equal(complaints, []);
    await page.context().close();
  });
}

presets('presets are exported, deleted and imported, and other files are refused', async () => {
  const preset = { name: 'Short', systemPrompt: 'Be brief.', settings: { temperature: 0.5 } };
  await app.done('PUT', '/api/v1/settings', { presets: [preset] });
  const { page } = await openApp(browser, app);
  await openSettings(page);
  await page.getByLabel('Preset', { exact: true }).selectOption('Short');
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Export presets' }).press('Enter');
  const exported = readFileSync(await (await download).path(), 'utf8');
  assert.equal(JSON.parse(exported), { presets: [preset] });
  await page.getByRole('button', { name: 'Delete preset' }).press('Enter');
  await until(async () => (await stored()).length === 0, 'the deletion');

  const give = async (text: string) => {
    const chooser = page.waitForEvent('filechooser');
    await page.getByRole('button', { name: 'Import presets' }).press('Enter');
    await (await chooser).setFiles({ name: 'p.json', mimeType: '', buffer: Buffer.from(text) });
  };
  await give('{"chats": []}');
  await page.getByText('p.json is not an export of presets.').waitFor();
  await give('{"presets": [{"name": "", "systemPrompt": "", "settings": {}}]}');
  await page.getByText('presets[0].name').waitFor();
  await give(exported);
  await until(async () => (await stored()).length === 1, 'the import');
  assert.equal(await stored(), [preset]);
  await page.context().close();
});

presets('names are unique', async () => {
  const preset = { name: 'Same', systemPrompt: '', settings: {} };
  const { status, body } = await app.api('PUT', '/api/v1/settings', { presets: [preset, preset] });
  assert.equal([status, body.error.param], [400, 'presets']);
});

presets('reasoning is chosen if the template of the model lets a request do so', async () => {
  const { page } = await openApp(browser, app);
  await openSettings(page);
  await page.getByLabel('Stop strings').waitFor();
  assert.is(await page.getByLabel('Reasoning').count(), 0);
  await page.route('**/api/v1/models', async (route) => {
    const reply = await route.fetch();
    const { models } = await reply.json();
    for (const model of models) model.capabilities.reasoning = { allowed_options: ['off', 'on', 'high'] };
    await route.fulfill({ json: { models } });
  });
  await page.reload();
  await openSettings(page);
  const reasoning = page.getByLabel('Reasoning');
  for (const [option, settings] of [
    ['off', { reasoning_effort: 'none' }],
    ['on', { chat_template_kwargs: { enable_thinking: true } }],
    ['high', { reasoning_effort: 'high' }],
  ] as const) {
    await reasoning.selectOption(option);
    assert.is(await reasoning.inputValue(), option);
    await page.getByRole('button', { name: 'Save as preset' }).click();
    await page.getByRole('dialog').getByLabel('Name').fill(option);
    await page.keyboard.press('Enter');
    await until(async () => (await stored()).some(({ name }) => name === option), 'the preset');
    const preset = (await stored()).find(({ name }) => name === option);
    assert.equal(preset?.settings, settings);
  }
  assert.equal(await accessibilityProblems(page), []);
  await page.context().close();
});

presets.run();
