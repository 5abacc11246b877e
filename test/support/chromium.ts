/** Pages of the dashboard in Chromium. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Browser, Page } from 'playwright-core';

/** Generous for busy machines. The timeout of the tier ends a test that hangs. */
const PATIENCE_MS = 60_000;

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export interface OpenedPage {
  page: Page;
  /** Exceptions, console errors and content-security-policy violations of the page. */
  problems: string[];
}

export async function openPage(
  browser: Browser,
  { width = 1280, height = 900, dark = false }: { width?: number; height?: number; dark?: boolean } = {},
): Promise<OpenedPage> {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: dark ? 'dark' : 'light',
    reducedMotion: 'reduce',
  });
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  const problems: string[] = [];
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('console', (message) => {
    // A form that is refused is loaded with its status, which is not the page's error.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      problems.push(message.text());
  });
  return { page, problems };
}

/** `colors` are the rules that depend on the colour scheme. */
export type AxeRules = keyof typeof AXE_RULES;

const AXE_RULES = {
  all: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
  colors: ['color-contrast', 'link-in-text-block'],
};

/** For `axeViolations`: once for each document. */
export async function loadAxe(page: Page): Promise<void> {
  // Pages forbid scripts of others, so it is evaluated by the debugger instead of being put into the page.
  await page.evaluate(axeSource);
}

/** Breaches of WCAG 2.2 A and AA and of good practice, as `rule: selector`. */
export async function axeViolations(page: Page, rules: AxeRules = 'all'): Promise<string[]> {
  const options = { runOnly: AXE_RULES[rules], resultTypes: ['violations'], preload: false };
  const results = await page.evaluate(`axe.run(document, ${JSON.stringify(options)})`);
  const { violations } = results as {
    violations: { id: string; nodes: { target: string[]; failureSummary: string }[] }[];
  };
  return violations.flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id}: ${target.join(' ')}`));
}
