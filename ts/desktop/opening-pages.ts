/**
 * Pages that redirect a browser to the app with a code. Other accounts can read a browser's command line and could use
 * a code first, so the command line contains only the path of such a page, which only this account can read.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/** Returns the path of the page. `url`: base URL of the app's port. */
export function writeOpeningPage(folder: string, url: string, code: string): string {
  mkdirSync(folderOf(folder), { recursive: true, mode: 0o700 });
  const file = fileOf(folder, code);
  // A refresh leaves no entry with a used code in the history.
  const tags = [
    '<meta charset="utf-8">',
    '<meta name="referrer" content="no-referrer">',
    `<meta http-equiv="refresh" content="0;url=${url}/?code=${code}">`,
    '<title>chasqui</title>',
  ];
  writeFileSync(file, `<!doctype html>\n${tags.join('\n')}\n`, { mode: 0o600 });
  return file;
}

export function removeOpeningPage(folder: string, code: string): void {
  rmSync(fileOf(folder, code), { force: true });
}

/** Also removes pages of killed processes. */
export function removeOpeningPages(folder: string): void {
  rmSync(folderOf(folder), { recursive: true, force: true });
}

function folderOf(folder: string): string {
  return path.join(folder, 'opening');
}

/** The file name does not reveal the code. */
function fileOf(folder: string, code: string): string {
  return path.join(folderOf(folder), `${createHash('sha256').update(code).digest('hex').slice(0, 32)}.html`);
}
