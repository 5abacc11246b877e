/** Chromium on the pages of the desktop app, as a person has them. */
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Browser, type BrowserContextOptions, chromium, type Page, type Request } from 'playwright-core';
import * as assert from 'uvu/assert';
import { chromiumPath } from './find-chromium.mjs';
import type { RunningDesktop } from './start-desktop.js';
import { until } from './until.js';

export interface OpenPage {
  page: Page;
  /** Console errors, exceptions and content-security-policy violations of the page. */
  complaints: string[];
  /** Addresses outside the app that it asked for. */
  foreign: string[];
  /** Waits for the replies to its requests; the stream of events never ends. */
  settled(): Promise<void>;
  /** Addresses of requests without a reply. */
  unanswered(): string[];
}

/** So generous that only a page which never gets there fails, however much else the computer does. */
const PATIENCE_MS = 180_000;

/** How long a browser stays for the next test file of this process. */
const IDLE_MS = 800;
let shared: Promise<Browser> | undefined;
let idle: NodeJS.Timeout | undefined;

/** Starts Chromium, or returns the one of the file before. Its method `close` closes all pages. */
export async function startBrowser(): Promise<Browser> {
  clearTimeout(idle);
  shared ??= launch();
  return await shared;
}

async function launch(): Promise<Browser> {
  const executablePath = chromiumPath();
  assert.ok(executablePath && existsSync(executablePath), 'there is a Chromium');
  const browser = await chromium.launch({
    executablePath,
    args: ['--no-sandbox', '--use-fake-device-for-media-stream'],
    timeout: PATIENCE_MS,
  });
  const close = browser.close.bind(browser);
  browser.close = async () => {
    await Promise.all(browser.contexts().map((context) => context.close()));
    idle = setTimeout(() => {
      shared = undefined;
      void close();
    }, IDLE_MS);
  };
  return browser;
}

/** Opens the app as `chasqui desktop` does: by its address with the token. */
export async function openApp(
  browser: Browser,
  app: RunningDesktop,
  options: BrowserContextOptions = {},
): Promise<OpenPage> {
  const opened = await newPage(browser, app.url, options);
  await opened.page.goto(`${app.url}/?token=${app.token}`);
  await opened.page.getByRole('heading', { level: 1 }).waitFor().catch(describing(opened));
  return opened;
}

/** Adds the state of the page to an error. */
function describing({ page, complaints, unanswered }: OpenPage): (error: Error) => Promise<never> {
  return async (error) => {
    const text = await page.locator('body').innerText({ timeout: 5000 }).catch(String);
    throw new Error(`${error.message}\n${page.url()}: ${text}\nErrors: ${complaints}\nWithout reply: ${unanswered()}`);
  };
}

/** Opens a stored chat. Until it is shown, the page still has the message box of another one. */
export async function openStoredChat(page: Page, id: string): Promise<void> {
  await page.evaluate(`location.hash = '#/chat/${id}'`);
  await page.locator(`[data-chat="${id}"]`).waitFor();
  await page.getByRole('textbox', { name: 'Message' }).waitFor();
}

/** An empty page that records complaints, and requests to addresses that do not begin with `origin`. */
export async function newPage(
  browser: Browser,
  origin: string,
  options: BrowserContextOptions = {},
): Promise<OpenPage> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, ...options });
  await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  const waiting = new Set<Request>();
  const settled = () => until(() => waiting.size === 0, 'the replies to all requests');
  const unanswered = () => [...waiting].map((request) => request.url());
  const opened: OpenPage = { page, complaints: [], foreign: [], settled, unanswered };
  page.on('pageerror', (error) => opened.complaints.push(String(error)));
  page.on('console', (message) => {
    const { url } = message.location();
    // Tests name an address as the hub where there is none, unless they start one.
    if (message.type() === 'error' && !url.includes('/api/v1/hub/')) opened.complaints.push(`${message.text()} ${url}`);
  });
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(origin) && !/^(data|blob):/.test(url)) opened.foreign.push(url);
    if (!url.endsWith('/api/v1/events')) waiting.add(request);
  });
  page.on('requestfinished', (request) => waiting.delete(request));
  page.on('requestfailed', (request) => waiting.delete(request));
  return opened;
}

export const VIEWS = ['Search', 'Downloads', 'My Models', 'Chat', 'Developer', 'Settings'] as const;

export async function goTo(page: Page, view: (typeof VIEWS)[number]): Promise<void> {
  await page.getByRole('navigation').getByRole('link', { name: view }).click();
  await page.getByRole('heading', { level: 1, name: view }).waitFor();
}

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Pages that never stop changing, such as a running reply, are checked this often at most. */
const AXE_RUNS = 20;

/**
 * Problems that axe-core reports for the page in its final state. Transitions end at once while axe runs: colours in the
 * middle of one have other contrasts. axe reads styles and attributes at several moments, so it runs again if it
 * reports a problem of a page that changed meanwhile.
 */
export async function accessibilityProblems(page: Page): Promise<string[]> {
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(axeSource);
  const script = `(async () => {
    const still = new CSSStyleSheet();
    still.replaceSync('*, ::before, ::after, ::backdrop { transition: none !important; animation: none !important }');
    document.adoptedStyleSheets.push(still);
    let hasChanged;
    const observer = new MutationObserver(() => (hasChanged = true));
    observer.observe(document, { attributes: true, characterData: true, childList: true, subtree: true });
    let violations;
    for (let runs = 0; runs === 0 || (hasChanged && violations.length > 0 && runs < ${AXE_RUNS}); runs += 1) {
      hasChanged = false;
      ({ violations } = await axe.run(document, { resultTypes: ['violations'], preload: false }));
    }
    observer.disconnect();
    document.adoptedStyleSheets.pop();
    return violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html.slice(0, 200)).join(' | '));
  })()`;
  return await page.evaluate<string[]>(script);
}

/** Checks accessibility and width of the page as it is. Takes a screenshot if CHASQUI_SCREENSHOTS names a folder. */
export async function checkPage(page: Page, name: string): Promise<void> {
  await page.evaluate('document.fonts.ready');
  assert.equal(await accessibilityProblems(page), [], name);
  assert.not(await overflows(page), name);
  const { CHASQUI_SCREENSHOTS: folder } = process.env;
  if (folder) await page.screenshot({ path: `${folder}/${name}.png` });
}

/** Whether anything is wider than the window. */
export function overflows(page: Page): Promise<boolean> {
  return page.evaluate(() => {
    const { document, innerWidth } = globalThis as unknown as {
      document: {
        documentElement: { scrollWidth: number };
        querySelector(selector: string): { scrollWidth: number; clientWidth: number };
      };
      innerWidth: number;
    };
    const main = document.querySelector('main');
    return document.documentElement.scrollWidth > innerWidth || main.scrollWidth > main.clientWidth;
  });
}

/** Waits until an expression holds in the page; its policy forbids Playwright to do so there. */
export function untilIn(page: Page, expression: string): Promise<void> {
  return until(() => page.evaluate<boolean>(expression), expression, 60_000);
}

/** Pages copy asynchronously. */
export async function untilCopied(page: Page, pattern: RegExp): Promise<RegExpExecArray> {
  let found: RegExpExecArray | null = null;
  const isCopied = async () => {
    found = pattern.exec(await page.evaluate<string>('navigator.clipboard.readText()'));
    return found !== null;
  };
  await until(isCopied, `${pattern} is copied`);
  return found as unknown as RegExpExecArray;
}

/** Presses Tab, or another key, until what is focused is called so. */
export async function tabTo(page: Page, name: string, key = 'Tab'): Promise<void> {
  for (let presses = 0; presses < 90; presses += 1) {
    await page.keyboard.press(key);
    const focused = await page.evaluate<string>(
      `(document.activeElement.getAttribute('aria-label') ?? document.activeElement.labels?.[0]?.textContent ??
        document.activeElement.textContent).trim()`,
    );
    if (focused === name) return;
  }
  assert.unreachable(`${key} never came to ${name}`);
}
