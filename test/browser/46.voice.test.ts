// Voice: completions read aloud, with speech synthesis of this test's own, and recordings of Chromium's fake microphone.
import { copyFileSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Chat } from '../../ts/desktop/api-types.js';
import { checkPage, goTo, openApp, openStoredChat, startBrowser } from '../support/browser.js';
import { MODEL } from '../support/long-answer.js';
import { type RunningDesktop, removeFolder, startDesktop } from '../support/start-desktop.js';
import { syntheticModel } from '../support/synthetic-model.js';
import { audioProjector } from '../support/synthetic-projector.js';
import { until } from '../support/until.js';

const voice = suite('voice in chats');
let app: RunningDesktop;
let browser: Browser;
let hearing: string;

voice.before(async () => {
  [app, browser] = await Promise.all([startDesktop(), startBrowser()]);
  const folder = path.join(app.folder, 'hearing');
  mkdirSync(folder);
  copyFileSync(syntheticModel('tiny', ''), path.join(folder, 'hearing.gguf'));
  copyFileSync(audioProjector(64), path.join(folder, 'mmproj-hearing.gguf'));
  await app.done('PUT', '/api/v1/settings', { modelFolders: [folder], generateTitles: false });
  const { models } = await app.done('GET', '/api/v1/models');
  hearing = models.find(({ key }: { key: string }) => key.includes('hearing')).key;
});

voice.after(async () => {
  await browser.close();
  await app.stop();
  removeFolder(app.folder);
});

interface Said {
  text: string;
  lang: string;
}

/** Records what the page says. `finish()` ends all utterances; `cancel` fails them later, as in browsers. */
const SYNTHESIS = `{
  const said = (window.said = []);
  let queue = [];
  const fail = (utterances, error) =>
    setTimeout(() => { for (const each of utterances) each.onerror?.({ error }); });
  const synthesis = {
    speak: (utterance) => { said.push({ text: utterance.text, lang: utterance.lang }); queue.push(utterance); },
    cancel: () => { fail(queue, 'canceled'); queue = []; },
  };
  Object.defineProperty(window, 'speechSynthesis', { value: synthesis });
  window.finish = () => { const all = queue; queue = []; for (const each of all) each.onend?.(); };
  window.failSpeech = () => { fail(queue, 'synthesis-failed'); queue = []; };
  window.isSilent = () => queue.length === 0;
}`;

async function storedChat(content: string, reasoning = ''): Promise<string> {
  const chat = {
    title: 'Spoken',
    model: MODEL,
    messages: [
      { id: 'q', parent: null, role: 'user', content: 'Question' },
      { id: 'a', parent: 'q', role: 'assistant', content, ...(reasoning && { reasoning }) },
    ],
  };
  return (await app.done('POST', '/api/v1/chats', chat)).id;
}

async function openSpeaking(id: string): Promise<Page> {
  const { page } = await openApp(browser, app);
  await page.addInitScript(SYNTHESIS);
  await page.reload();
  await openStoredChat(page, id);
  return page;
}

const saidIn = (page: Page) => page.evaluate<Said[]>('window.said');
const readAloud = (page: Page) => page.getByRole('button', { name: 'Read aloud' });
const stopReading = (page: Page) => page.getByRole('button', { name: 'Stop reading' });

voice('a completion is read in its language: no code, no formulas, no addresses, no reasoning', async () => {
  const text =
    'Die Brücke wurde im Jahr **1931** eröffnet und ist [sehr bekannt](https://example.org).\n\n- Erster Punkt\n- Zweiter Punkt\n\n' +
    '```js\nconst secret = 1;\n```\n\nDas ist das Ende der langen Antwort.';
  const page = await openSpeaking(await storedChat(text, 'The user asks about a bridge.'));
  assert.is(await readAloud(page).count(), 1);
  await readAloud(page).click();
  await stopReading(page).waitFor();
  await until(async () => (await saidIn(page)).length === 4, 'all parts are queued');
  const said = await saidIn(page);
  assert.equal(
    said.map((each) => each.text),
    [
      'Die Brücke wurde im Jahr 1931 eröffnet und ist sehr bekannt.',
      'Erster Punkt',
      'Zweiter Punkt',
      'Das ist das Ende der langen Antwort.',
    ],
  );
  assert.equal([...new Set(said.map(({ lang }) => lang))], ['de']);
  await checkPage(page, 'voice-reading');
  await page.evaluate('finish()');
  await readAloud(page).waitFor();
  await page.context().close();
});

for (const [lang, text] of [
  ['ja', '橋は千九百三十一年に開通しました。とても有名です。'],
  ['es', 'El puente se inauguró en el año 1931 y es muy conocido por todos los habitantes de la ciudad.'],
  ['ru', 'Мост был открыт в тысяча девятьсот тридцать первом году и очень известен.'],
] as const) {
  voice(`the voice has the language of the text: ${lang}`, async () => {
    const page = await openSpeaking(await storedChat(text));
    await readAloud(page).click();
    await until(async () => (await saidIn(page)).length > 0, 'it is spoken');
    assert.equal([...new Set((await saidIn(page)).map((each) => each.lang))], [lang]);
    await page.context().close();
  });
}

voice('reading stops with its button, with another view, and tells why it failed', async () => {
  const sentence = 'The bridge was opened in 1931 and everyone in the city knows the story behind it. ';
  const page = await openSpeaking(await storedChat(sentence.repeat(20)));
  const begin = async () => {
    await readAloud(page).click();
    await stopReading(page).waitFor();
    await until(() => page.evaluate<boolean>('!isSilent()'), 'it is spoken');
  };
  await begin();
  const said = await saidIn(page);
  assert.ok(said.length >= 10 && said.every((each) => each.text.length <= 200), `${said.length} pieces`);
  await stopReading(page).press('Enter');
  await readAloud(page).waitFor();
  assert.ok(await page.evaluate('isSilent()'));
  // Errors of the cancelled utterances must not end the next reading.
  await begin();
  await page.evaluate('new Promise((resolve) => setTimeout(resolve))');
  assert.is(await stopReading(page).count(), 1);
  await goTo(page, 'Developer');
  await until(() => page.evaluate<boolean>('isSilent()'), 'silence');
  await page.goBack();
  await begin();
  await page.evaluate('failSpeech()');
  await page.getByText('This browser cannot read aloud').waitFor();
  assert.is(await stopReading(page).count(), 0);
  await page.context().close();
});

const micButton = (page: Page) => page.getByRole('button', { name: 'Record a voice message' });

async function openRecording(
  width: number,
  colorScheme: 'light' | 'dark',
  model = hearing,
): Promise<{ page: Page; id: string }> {
  const { id } = await app.done('POST', '/api/v1/chats', { title: 'Heard', model, settings: { max_tokens: 4 } });
  const { page } = await openApp(browser, app, { viewport: { width, height: 860 }, colorScheme });
  await page.context().grantPermissions(['microphone'], { origin: app.url });
  await openStoredChat(page, id);
  return { page, id };
}

voice('the button is there only while a model with an audio encoder is loaded', async () => {
  const { page } = await openRecording(1280, 'light');
  assert.is(await micButton(page).count(), 0);
  await app.done('POST', '/api/v1/models/load', { model: hearing, config: { contextSize: 2048, parallel: 1 } });
  await micButton(page).waitFor();
  await app.done('POST', '/api/v1/models/unload', { instance_id: hearing });
  await micButton(page).waitFor({ state: 'detached' });
  await app.done('POST', '/api/v1/models/load', { model: hearing, config: { contextSize: 2048, parallel: 1 } });
  await micButton(page).waitFor();
  await page.context().close();
  await app.done('POST', '/api/v1/models/load', { model: MODEL, context_length: 1024 });
  const { page: other } = await openRecording(1280, 'light', MODEL);
  await other.getByRole('button', { name: 'Attach files' }).waitFor();
  assert.is(await micButton(other).count(), 0);
  await other.context().close();
});

/** Checks the format of a recording and returns its samples. */
function samplesOf(uri: string): Int16Array {
  const [, data] = /^data:audio\/wav;base64,(.+)$/.exec(uri) ?? [];
  const wav = Buffer.from(data ?? '', 'base64');
  assert.equal([wav.toString('latin1', 0, 4), wav.toString('latin1', 8, 16)], ['RIFF', 'WAVEfmt ']);
  assert.equal(
    [wav.readUInt16LE(20), wav.readUInt16LE(22), wav.readUInt32LE(24), wav.readUInt16LE(34)],
    [1, 1, 16_000, 16],
  );
  assert.is(wav.readUInt32LE(40), wav.length - 44);
  return new Int16Array(wav.buffer.slice(wav.byteOffset + 44, wav.byteOffset + wav.length));
}

for (const [width, colorScheme] of [
  [1280, 'light'],
  [390, 'dark'],
] as const) {
  voice(`a recording is attached, sent, stored, and heard by the model (${width} px, ${colorScheme})`, async () => {
    const { page, id } = await openRecording(width, colorScheme);
    await micButton(page).press('Enter');
    await page.getByRole('timer').getByText('2 seconds').waitFor();
    await checkPage(page, `voice-recording-${width}`);
    await page.getByRole('button', { name: 'Stop recording' }).press('Enter');
    await page.getByRole('button', { name: 'Remove Voice message 1' }).waitFor();
    await checkPage(page, `voice-attached-${width}`);
    await page.getByRole('textbox', { name: 'Message' }).fill('What do you hear?');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByRole('article', { name: 'Model' }).getByText('tok/s').waitFor();
    const own = page.getByRole('article', { name: 'You' });
    await until(
      () => page.evaluate<boolean>("document.querySelector('.message.user audio')?.duration > 1"),
      'it can be played',
    );
    await checkPage(page, `voice-sent-${width}`);
    const { messages } = (await app.done('GET', `/api/v1/chats/${id}`)) as Chat;
    const samples = samplesOf(messages[0]?.audio?.[0] as string);
    assert.ok(samples.length > 16_000 && samples.length < 120 * 16_000, `${samples.length} samples`);
    assert.ok(
      samples.some((sample) => Math.abs(sample) > 1000),
      'The fake microphone beeps.',
    );
    // 75 of them are the audio.
    assert.ok(Number(messages[1]?.stats?.promptTokens) > 75);
    await page.reload();
    await own.locator('audio').waitFor();
    await page.context().close();
  });
}

voice('a recording ends at the limit, and one that is removed is not sent', async () => {
  const { page, id } = await openRecording(1280, 'light');
  await page.evaluate(`{
    const { setTimeout } = window;
    window.setTimeout = (run, ms) => (ms === 120_000 ? (window.reachLimit = run) : setTimeout(run, ms));
  }`);
  await micButton(page).click();
  await page.getByRole('timer').getByText('1 second').waitFor();
  await page.evaluate('reachLimit()');
  await page.getByRole('button', { name: 'Remove Voice message 1' }).click();
  assert.is(await page.getByRole('button', { name: 'Stop recording' }).count(), 0);
  await page.getByRole('button', { name: 'Send' }).click();
  assert.equal((await app.done('GET', `/api/v1/chats/${id}`)).messages, []);
  await page.context().close();
});

voice('leaving the chat ends a recording, and frees the microphone', async () => {
  const { page } = await openRecording(1280, 'light');
  await page.evaluate(`{
    const { mediaDevices } = navigator;
    const get = mediaDevices.getUserMedia.bind(mediaDevices);
    mediaDevices.getUserMedia = async (options) => (window.stream = await get(options));
    const { decodeAudioData } = OfflineAudioContext.prototype;
    OfflineAudioContext.prototype.decodeAudioData = function (bytes) {
      return (window.decoded = decodeAudioData.call(this, bytes));
    };
  }`);
  await micButton(page).click();
  await page.getByRole('button', { name: 'Stop recording' }).waitFor();
  await page.getByRole('timer').getByText('1 second').waitFor();
  await goTo(page, 'Developer');
  await until(
    () => page.evaluate<boolean>("window.stream.getTracks().every(({ readyState }) => readyState === 'ended')"),
    'the microphone is free',
  );
  await until(() => page.evaluate<boolean>('window.decoded !== undefined'), 'the recording is read');
  await page.evaluate('window.decoded.then(() => new Promise((resolve) => setTimeout(resolve)))');
  await page.goBack();
  await micButton(page).waitFor();
  assert.is(await page.locator('.attached audio').count(), 0);
  await page.context().close();
});

voice('a recording without sound is told, and attaches nothing', async () => {
  const { page } = await openRecording(1280, 'light');
  await page.evaluate('MediaRecorder.prototype.start = function () { queueMicrotask(() => this.onstop()); }');
  await micButton(page).click();
  await page.getByText('Nothing could be recorded').waitFor();
  await micButton(page).waitFor();
  assert.is(await page.locator('.attached audio').count(), 0);
  await page.context().close();
});

voice('a recording that cannot start frees the microphone', async () => {
  const { page } = await openRecording(1280, 'light');
  await page.evaluate(`{
    const { mediaDevices } = navigator;
    const get = mediaDevices.getUserMedia.bind(mediaDevices);
    mediaDevices.getUserMedia = async (options) => (window.stream = await get(options));
    MediaRecorder.prototype.start = () => { throw new DOMException('no', 'NotSupportedError') };
  }`);
  await micButton(page).click();
  await page.getByText('Nothing could be recorded').waitFor();
  await micButton(page).waitFor();
  assert.ok(await page.evaluate("window.stream.getTracks().every(({ readyState }) => readyState === 'ended')"));
  await page.context().close();
});

voice('a refused microphone is told', async () => {
  const { page } = await openRecording(1280, 'light');
  await page.evaluate(
    `navigator.mediaDevices.getUserMedia = async () => { throw new DOMException('no', 'NotAllowedError') }`,
  );
  await micButton(page).click();
  await page.getByText('The browser does not allow the use of the microphone').waitFor();
  await micButton(page).waitFor();
  await page.context().close();
});

voice.run();
