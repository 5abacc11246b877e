/**
 * Pages that lead a browser to the app with a code. Every account of the machine can read the command line of a browser,
 * and whoever uses the code first is let in, so that line has no more than the name of such a page, which only this
 * account can read.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/** Returns the page's file. `url` is that of the app's port. */
export function writeOpeningPage(folder: string, url: string, code: string): string {
  mkdirSync(folderOf(folder), { recursive: true, mode: 0o700 });
  const file = fileOf(folder, code);
  // A refresh leaves nothing in the history that leads back to a code which is used up.
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

/** Those of an app that was killed as well. */
export function removeOpeningPages(folder: string): void {
  rmSync(folderOf(folder), { recursive: true, force: true });
}

function folderOf(folder: string): string {
  return path.join(folder, 'opening');
}

/** The name tells nothing of the code. */
function fileOf(folder: string, code: string): string {
  return path.join(folderOf(folder), `${createHash('sha256').update(code).digest('hex').slice(0, 32)}.html`);
}
