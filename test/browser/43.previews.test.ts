// Previews of HTML and SVG in completions: they run scripts, and reach neither the network nor the app.
import { createSocket } from 'node:dgram';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, ConsoleMessage, Page } from 'playwright-core';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { accessibilityProblems, openApp, openStoredChat, overflows, startBrowser, tabTo } from '../support/browser.js';
import { type RunningDesktop, removeFolder, startDesktop } from '../support/start-desktop.js';

const previews = suite('previews');
let app: RunningDesktop;
let browser: Browser;
/** Connections and datagrams that reach the servers outside. */
let hits = 0;
const outside = http.createServer((_request, reply) => {
  reply.setHeader('access-control-allow-origin', '*').end('reached');
});
outside.on('connection', () => {
  hits += 1;
});
const stun = createSocket('udp4', () => {
  hits += 1;
});
let address: string;

previews.before(async () => {
  outside.listen(0, '127.0.0.1');
  stun.bind(0, '127.0.0.1');
  await Promise.all([outside, stun].map((server) => new Promise((resolve) => server.once('listening', resolve))));
  address = `127.0.0.1:${(outside.address() as AddressInfo).port}`;
  [app, browser] = await Promise.all([startDesktop(), startBrowser()]);
});

previews.before.each(() => {
  hits = 0;
});

previews.after(async () => {
  await browser.close();
  await app.stop();
  outside.close();
  stun.close();
  removeFolder(app.folder);
});

async function openChat(blocks: readonly string[], width = 1280): Promise<Page> {
  const messages = [
    { id: 'q', parent: null, role: 'user', content: 'Draw' },
    { id: 'a', parent: 'q', role: 'assistant', content: blocks.join('\n\n') },
  ];
  const { id } = await app.done('POST', '/api/v1/chats', { title: 'Drawing', messages, current: 'a' });
  const colorScheme = width < 860 ? 'dark' : 'light';
  const { page } = await openApp(browser, app, { viewport: { width, height: 860 }, colorScheme });
  await openStoredChat(page, id);
  return page;
}

const block = (language: string, code: string) => `\`\`\`${language}\n${code}\n\`\`\``;
const preview = (page: Page) => page.getByRole('dialog', { name: 'Preview' });
const inside = (page: Page) => preview(page).frameLocator('iframe');

const COUNTER = `<!doctype html><h1>Counter</h1>
<button onclick="this.textContent = Number(this.textContent) + 1">0</button>`;
const CIRCLE = '<svg viewBox="0 0 100 40"><title>Circle</title><circle cx="50" cy="20" r="18" fill="teal"/></svg>';

for (const width of [1280, 390]) {
  previews(`HTML and SVG are shown, by the keyboard (${width} px)`, async () => {
    const others = [block('python', 'print("<svg>")'), block('', 'plain')];
    const page = await openChat([block('html', COUNTER), block('xml', CIRCLE), ...others], width);
    const buttons = page.getByRole('button', { name: 'Preview', exact: true });
    await page.getByText('plain').waitFor();
    assert.is(await buttons.count(), 2);
    await tabTo(page, 'Preview');
    await page.keyboard.press('Enter');
    await inside(page).getByRole('heading', { name: 'Counter' }).waitFor();
    assert.equal(await accessibilityProblems(page), []);
    assert.not(await overflows(page));
    await page.keyboard.press('Tab');
    await inside(page).locator('button:focus').waitFor();
    await page.keyboard.press('Enter');
    await inside(page).getByRole('button', { name: '1' }).waitFor();
    await tabTo(page, 'Close', 'Shift+Tab');
    await page.keyboard.press('Escape');
    await page.locator('iframe').waitFor({ state: 'detached' });
    await tabTo(page, 'Preview');
    await page.keyboard.press('Enter');
    await inside(page).locator('circle').waitFor();
    await page.context().close();
  });
}

previews('code in lists and quotes has previews, copy buttons and colours too, but keeps no other class', async () => {
  const nested = (prefix: string, text: string) => text.replaceAll('\n', `\n${prefix}`);
  for (const [width, colorScheme] of [
    [1280, 'light'],
    [1280, 'dark'],
    [860, 'light'],
    [600, 'dark'],
    [390, 'light'],
    [390, 'dark'],
  ] as const) {
    const page = await openChat([
      `1. First\n\n   ${nested('   ', block('html', COUNTER))}\n\n2. Second\n\n   ${nested('   ', block('js', 'const x = 1;'))}`,
      `> ${nested('> ', block('svg', CIRCLE))}`,
      '<pre class="dialog"><code class="dialog language-js">let raw;</code></pre>',
    ]);
    await page.setViewportSize({ width, height: 860 });
    await page.emulateMedia({ colorScheme });
    await page.reload();
    await page.getByText('let raw;').waitFor();
    const buttons = page.getByRole('button', { name: 'Preview', exact: true });
    await page.locator('.markdown li .hljs-keyword', { hasText: 'const' }).waitFor();
    assert.equal([await buttons.count(), await page.getByRole('button', { name: 'Copy code' }).count()], [2, 4]);
    assert.is(await page.locator('.markdown .dialog').count(), 0);
    assert.equal(await accessibilityProblems(page), []);
    assert.not(await overflows(page));
    const first = await buttons.first().boundingBox();
    assert.ok(first && first.x + first.width < width, `the button ends at ${first && first.x + first.width}`);
    const { CHASQUI_SCREENSHOTS: folder } = process.env;
    if (folder) await page.screenshot({ path: `${folder}/nested-${width}-${colorScheme}.png` });
    await tabTo(page, 'Preview');
    await page.keyboard.press('Enter');
    await inside(page).getByRole('heading', { name: 'Counter' }).waitFor();
    await page.context().close();
  }
});

/** Requests by the page itself. It then shows whether all of them have failed. */
const requests = (url: string) => `<p id="result"></p>
<link rel="preconnect" href="${url}"><link rel="dns-prefetch" href="${url}"><link rel="prefetch" href="${url}">
<link rel="stylesheet" href="${url}"><img src="${url}"><script src="${url}"></script><iframe src="${url}"></iframe>
<iframe srcdoc="<img src='${url}'><script>location = '${url}'</script>"></iframe><object data="${url}"></object>
<style>@font-face { font-family: f; src: url(${url}) } p { font-family: f; background: url(${url}) }</style>
<script>
  const failsToOpen = (socket) => new Promise((resolve, reject) => {
    socket.onopen = resolve;
    socket.onerror = reject;
  });
  const worker = (script) => new Promise((resolve, reject) => {
    const own = new Worker(URL.createObjectURL(new Blob([script])));
    own.onmessage = ({ data }) => (data ? resolve() : reject());
  });
  const tries = [
    () => fetch('${url}'),
    () => fetch('${app.url}/api/v1/state'),
    () => fetch('/api/v1/state'),
    () => import('${url}'),
    () => failsToOpen(new WebSocket('${url.replace('http', 'ws')}')),
    () => failsToOpen(new EventSource('${url}')),
    () => worker("fetch('${url}').then(() => postMessage(true), () => postMessage(false))"),
    () => window.open('${url}').closed,
    () => parent.document.title,
    () => document.cookie,
    () => localStorage.length,
  ];
  navigator.sendBeacon('${url}');
  Promise.allSettled(tries.map(async (attempt) => attempt())).then((ends) => {
    result.textContent = ends.map(({ status }) => status).join(' ');
  });
</script>`;

previews('requests fail, and neither the app nor its storage is accessible', async () => {
  const page = await openChat([block('html', requests(`http://${address}`))]);
  await page.getByRole('button', { name: 'Preview', exact: true }).click();
  await inside(page)
    .getByText(/^(rejected ?){11}$/)
    .waitFor();
  assert.is(hits, 0);
  await page.context().close();
});

/** ICE gathering ends when no server is left to ask. */
const PEER = `<p id="result"></p><script>
  const servers = ['stun:STUN', 'turn:OUTSIDE?transport=tcp'].map((urls) => ({ urls, username: 'u', credential: 'c' }));
  const peer = new RTCPeerConnection({ iceServers: servers });
  peer.onicegatheringstatechange = () => {
    if (peer.iceGatheringState === 'complete') result.textContent = 'Gathered';
  };
  peer.createDataChannel('data');
  peer.createOffer().then((offer) => peer.setLocalDescription(offer));
</script>`;

previews('WebRTC reaches no server', async () => {
  const code = PEER.replace('STUN', `127.0.0.1:${stun.address().port}`).replace('OUTSIDE', address);
  const page = await openChat([block('html', code)]);
  await page.getByRole('button', { name: 'Preview', exact: true }).click();
  await inside(page).getByText('Gathered').waitFor();
  assert.is(hits, 0);
  await page.context().close();
});

previews('navigation is stopped, also if the user follows a link', async () => {
  const url = `http://${address}/`;
  const link = (attributes: string) => `<a href="${url}" ${attributes}>Follow</a>`;
  const script = (code: string) => `<script>${code}</script>`;
  const follow =
    (...modifiers: 'Control'[]) =>
    (page: Page) =>
      inside(page).getByText('Follow').click({ modifiers });
  const ways: [string, ((page: Page) => Promise<void>)?][] = [
    [script(`location = '${url}'`)],
    [`<meta http-equiv="refresh" content="0;url=${url}">`],
    [script(`document.write('<form action="${url}">'); document.forms[0].submit()`)],
    [script(`try { top.location = '${url}' } catch {}`)],
    [link(''), follow()],
    [link('target="_top"'), follow()],
    [link('target="_blank"'), follow()],
    [link('download'), follow()],
    [link(''), follow('Control')],
  ];
  const page = await openChat(ways.map(([code]) => block('html', code)));
  for (const [index, [, act]] of ways.entries()) {
    // The browser reports each blocked navigation.
    const blocked = page.waitForEvent('console', (message: ConsoleMessage) => /^(Bl|Fram|Unsafe)/.test(message.text()));
    await page.getByRole('button', { name: 'Preview', exact: true }).nth(index).click();
    await act?.(page);
    await blocked;
    await preview(page).getByRole('button', { name: 'Close' }).click();
  }
  assert.is(hits, 0);
  await page.context().close();
});

const TAMPERING = `<script>
  Event.prototype.preventDefault = () => {};
  Object.defineProperty(MouseEvent.prototype, 'altKey', { get: () => false });
  onclick = ({ defaultPrevented }) => {
    result.textContent = 'Prevented: ' + defaultPrevented;
  };
</script>`;

previews('a click with Alt downloads nothing', async () => {
  const code = `<p id="result"></p><a href="http://${address}/">Save</a>${TAMPERING}`;
  const page = await openChat([block('html', code)]);
  await page.getByRole('button', { name: 'Preview', exact: true }).click();
  await inside(page)
    .getByText('Save')
    .click({ modifiers: ['Alt'] });
  await inside(page).getByText('Prevented: true').waitFor();
  assert.is(hits, 0);
  await page.context().close();
});

previews.run();
