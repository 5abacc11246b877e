/** A window for the app: that of a browser without its address bar where there is one, or else a page of the browser. */
import { spawn } from 'node:child_process';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { Launcher } from 'chrome-launcher';
import open from 'open';

/** How long a browser may take to fail: one that cannot show windows ends at once. */
const FAILS_WITHIN_MS = 1500;

/** Shows a page that is a file. Resolves with whether a window was opened. */
export async function openWindow(page: string, folder: string): Promise<boolean> {
  return (await openAppWindow(page, folder)) || (await openPlace(page));
}

/**
 * The profile of its own keeps a browser that runs already from taking the page in as one more of its tabs.
 * chrome-launcher finds browsers; it does not start this one, because that would open a port for debugging.
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
    // It ends well at once where a window of this profile is open already, which shows the page then.
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

/** Has the system show a page or a folder. Resolves with whether it does. */
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
