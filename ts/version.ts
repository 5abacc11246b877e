import { readFileSync } from 'node:fs';

/** The manifest of this package. */
export const PACKAGE = readManifest<{ name: string; version: string; repository?: string | { url?: string } }>(
  'package.json',
);

export const VERSION = PACKAGE.version;

/** The release of the vendored llama.cpp, such as `v0.5.0`. */
export function llamaRelease(): string {
  return readManifest<{ release: string }>('vendor/llama.json').release;
}

/** @param file relative to the package */
function readManifest<T>(file: string): T {
  return JSON.parse(readFileSync(new URL(`../${file}`, import.meta.url), 'utf8')) as T;
}
