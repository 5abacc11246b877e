/** Opens the app in a browser window without an address bar, or else in a browser tab. */
import { spawn } from 'node:child_process';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { Launcher } from 'chrome-launcher';
import open from 'open';

/** Time for a browser to fail: without a display it exits at once. */
const FAILS_WITHIN_MS = 1500;

/** Opens a page from a file. Resolves with whether it worked. */
export async function openWindow(page: string, folder: string): Promise<boolean> {
  return (await openAppWindow(page, folder)) || (await openPlace(page));
}

/**
 * Uses its own profile, because a running browser would open the page as a tab. chrome-launcher only finds the browser:
 * starting with it would open a debugging port.
 */
async function openAppWindow(page: string, folder: string): Promise<boolean> {
  const browser = findBrowser();
  if (browser === null) return false;
  const flags = [
    `--app=${pathToFileURL(page).href}`,
    `--user-data-dir=${path.join(folder, 'window')}`,
    '--no-first-run',
    '--no-default-browser-check',
  ];
  const child = spawn(browser, flags, { detached: true, stdio: 'ignore' });
  child.unref();
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, FAILS_WITHIN_MS, true);
    child.once('error', () => settle(false));
    // If a window of this profile is open, that window shows the page, and this process exits with 0.
    child.once('exit', (code) => settle(code === 0));
    const settle = (isOpen: boolean) => {
      clearTimeout(timer);
      resolve(isOpen);
    };
  });
}

function findBrowser(): string | null {
  try {
    return Launcher.getInstallations()[0] ?? null;
  } catch {
    return null;
  }
}

/** Opens a page or folder with the system's default program. Resolves with whether it worked. */
export async function openPlace(place: string): Promise<boolean> {
  try {
    const child = await open(place);
    return await new Promise((resolve) => {
      const timer = setTimeout(resolve, FAILS_WITHIN_MS, true);
      child.once('error', () => resolve(false));
      child.once('exit', (code) => {
        clearTimeout(timer);
        resolve(code === 0);
      });
    });
  } catch {
    return false;
  }
}
