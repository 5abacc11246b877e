/** Static files of the pages. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const FOLDER = fileURLToPath(new URL('./assets/', import.meta.url));

/** Style sheets of every page, in cascade order. */
export const STYLES: readonly string[] = [
  'colours.css',
  'base.css',
  'head.css',
  'layout.css',
  'forms.css',
  'tables.css',
  'apps.css',
  'usage.css',
  'keys.css',
  'logs.css',
];

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

/** Reads each file once. The build copies the files of uPlot. */
export class Assets {
  readonly #read = new Map<string, Asset>();

  /** Returns null for unknown names. */
  find(name: string): Asset | null {
    const type = Object.hasOwn(TYPES, name) ? TYPES[name] : undefined;
    if (type === undefined) return null;
    const known = this.#read.get(name) ?? { type, content: readAsset(name) };
    this.#read.set(name, known);
    return known;
  }
}

function readAsset(name: string): Buffer {
  try {
    return readFileSync(path.join(FOLDER, name));
  } catch (error) {
    // Running from sources, without a build.
    if (!name.startsWith('uPlot.')) throw error;
    return readFileSync(createRequire(import.meta.url).resolve(`uplot/dist/${name}`));
  }
}
