/** Static files of the pages. */
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const FOLDER = fileURLToPath(new URL('./assets/', import.meta.url));
/** Only in a source tree: the build copies these files to `assets/`. */
const SHARED = fileURLToPath(new URL('../../styles/', import.meta.url));

/** Style sheets of every page, in cascade order. The first two are shared with the desktop app. */
export const STYLES: readonly string[] = ['base.css', 'controls.css', 'frame.css', 'content.css', 'pages.css'];

const TYPES: Readonly<Record<string, string>> = {
  ...Object.fromEntries(STYLES.map((name) => [name, 'text/css; charset=utf-8'])),
  'dashboard.js': 'text/javascript; charset=utf-8',
  'usage.js': 'text/javascript; charset=utf-8',
  'icon.svg': 'image/svg+xml',
  'uPlot.min.css': 'text/css; charset=utf-8',
  'uPlot.iife.min.js': 'text/javascript; charset=utf-8',
};

export interface Asset {
  type: string;
  content: Buffer;
}

/** Reads each file once. */
export class Assets {
  readonly #read = new Map<string, Asset>();

  find(name: string): Asset | null {
    const type = Object.hasOwn(TYPES, name) ? TYPES[name] : undefined;
    if (type === undefined) return null;
    const known = this.#read.get(name) ?? { type, content: readAsset(name) };
    this.#read.set(name, known);
    return known;
  }
}

function readAsset(name: string): Buffer {
  const places = [path.join(FOLDER, name), path.join(SHARED, name)];
  const file = places.find((place) => existsSync(place));
  return readFileSync(file ?? createRequire(import.meta.url).resolve(`uplot/dist/${name}`));
}
