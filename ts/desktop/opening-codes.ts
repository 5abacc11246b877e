/**
 * Single-use codes that open the app, valid for a minute. They replace the token in URLs, so that a browser's history
 * contains no valid credential.
 */
import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const VALID_MS = 60_000;

export class OpeningCodes {
  /** Expiry times. */
  readonly #validUntil = new Map<string, number>();

  /** `onSpent` is called for each used or expired code. */
  constructor(
    private readonly onSpent: (code: string) => void,
    private readonly now: () => number = () => performance.now(),
  ) {}

  make(): string {
    this.#forgetOld();
    const code = randomBytes(24).toString('base64url');
    this.#validUntil.set(code, this.now() + VALID_MS);
    setTimeout(() => this.#forget(code), VALID_MS).unref();
    return code;
  }

  /** Whether the code is valid; invalidates it. */
  use(code: string): boolean {
    this.#forgetOld();
    return this.#forget(code);
  }

  #forget(code: string): boolean {
    const isKnown = this.#validUntil.delete(code);
    if (isKnown) this.onSpent(code);
    return isKnown;
  }

  #forgetOld(): void {
    const now = this.now();
    for (const [code, until] of this.#validUntil) if (until <= now) this.#forget(code);
  }
}

/**
 * Writes a page that redirects a browser to the app with a code, and returns its path. Other accounts can read a browser's
 * command line and could use a code first, so the command line contains only this path. `url`: base URL of the app's port.
 */
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
