// Sharing in the local network, from the mouse: switch, key, addresses, QR code.
import { fileURLToPath } from 'node:url';
import type { Browser, Locator } from 'playwright-core';
import { encode } from 'uqr';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { addressWithKey } from '../../ts/desktop/ui/state/key-in-address.js';
import { checkPage, goTo, openApp, startBrowser } from '../support/browser.js';
import { type RunningDesktop, removeFolder, startDesktop } from '../support/start-desktop.js';

const sharing = suite('sharing in the pages');
const preload = fileURLToPath(new URL('../support/local-network.mjs', import.meta.url));
const variables = { NODE_OPTIONS: [process.env.NODE_OPTIONS, `--import=${preload}`].filter(Boolean).join(' ') };
/** Where `local-network.mjs` puts the address in the local network. */
const OUTSIDE = '127.0.0.2';
let app: RunningDesktop;
let browser: Browser;

sharing.before(async () => {
  [app, browser] = await Promise.all([startDesktop([], { variables }), startBrowser()]);
});

sharing.after(async () => {
  await browser.close();
  await app.stop();
  removeFolder(app.folder);
});

const statusWith = async (port: number, key: string) =>
  (await fetch(`http://${OUTSIDE}:${port}/v1/models`, { headers: { authorization: `Bearer ${key}` } })).status;

/** The dark modules of a code. */
function drawingOf(text: string): string {
  const { data } = encode(text, { border: 4 });
  return data.flatMap((row, y) => row.flatMap((dark, x) => (dark ? `M${x} ${y}` : []))).join(' ');
}

const drawnIn = async (code: Locator) => (await code.locator('path').getAttribute('d'))?.match(/M\d+ \d+/g)?.join(' ');

for (const [width, colorScheme] of [
  [1280, 'light'],
  [390, 'dark'],
] as const) {
  sharing(`the server is shared, the key is renewed, and sharing stops (${width} px, ${colorScheme})`, async () => {
    const shown = (name: string) => `sharing-${name}-${width}-${colorScheme}`;
    const { page, complaints } = await openApp(browser, app, { viewport: { width, height: 860 }, colorScheme });
    await goTo(page, 'Settings');
    const control = page.getByRole('checkbox', { name: 'Share in the local network' });
    await control.waitFor();
    assert.not.ok(await control.isChecked());
    await control.press('Space');
    await page.getByText('Start the server in the Developer view').waitFor();
    const { port } = await app.done('POST', '/api/v1/server/start', { model: 'chasqui-demo', port: 0 });
    const address = `http://192.168.77.2:${port}`;
    await page.getByText(address, { exact: true }).waitFor();
    const isFirst = width === 1280;
    const secret = page.locator('.secret');
    assert.is(await secret.count(), isFirst ? 1 : 0);
    if (isFirst) assert.is(await statusWith(port, await secret.innerText()), 200);
    await control.scrollIntoViewIfNeeded();
    await checkPage(page, shown('on'));

    await page.getByRole('button', { name: `QR code of ${address}` }).click();
    const code = page.getByRole('img', { name: `QR code of ${address}` });
    await code.waitFor();
    const created = isFirst ? await secret.innerText() : null;
    const dialog = page.getByRole('dialog', { name: 'QR code' });
    await dialog.getByText(isFirst ? 'It contains the API key' : 'asks for the API key').waitFor();
    assert.is(await drawnIn(code), drawingOf(created === null ? address : addressWithKey(address, created)));
    assert.not.ok(created !== null && (await dialog.innerHTML()).includes(created));
    await checkPage(page, shown('qr'));
    await page.keyboard.press('Escape');

    await page.getByRole('button', { name: 'Renew key' }).click();
    const question = page.getByRole('dialog', { name: 'Renew the key?' });
    await question.getByRole('button', { name: 'Renew key' }).click();
    await question.waitFor({ state: 'detached' });
    const key = await secret.innerText();
    assert.equal([await statusWith(port, key), await statusWith(port, 'other')], [200, 401]);
    await checkPage(page, shown('renewed'));
    await page.reload();
    await page.getByText(address, { exact: true }).waitFor();
    assert.is(await secret.count(), 0);
    assert.not.ok((await page.content()).includes(key.split(':')[1] as string));

    await control.press('Space');
    await page.getByText(address, { exact: true }).waitFor({ state: 'detached' });
    assert.not.ok((await app.done('GET', '/api/v1/sharing')).on);
    await app.done('POST', '/api/v1/server/stop');
    assert.equal(complaints, []);
    await page.context().close();
  });
}

sharing.run();
