import { readFileSync } from 'node:fs';

export const VERSION = readManifest<{ version: string }>('package.json').version;

/** The release of the vendored llama.cpp, such as `v0.5.0`. */
export function llamaRelease(): string {
  return readManifest<{ release: string }>('vendor/llama.json').release;
}

/** @param file relative to the package */
function readManifest<T>(file: string): T {
  return JSON.parse(readFileSync(new URL(`../${file}`, import.meta.url), 'utf8')) as T;
}
