/** The files that pages are made of beside their HTML. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const FOLDER = fileURLToPath(new URL('./assets/', import.meta.url));

/** The style sheets of every page, in this order: where two say something of the same element, the later one counts. */
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

/** Reads each file once. Those of uPlot are copied beside ours when the package is built. */
export class Assets {
  readonly #read = new Map<string, Asset>();

  /** Null for names that are none of ours. */
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
    // In a clone that is run from its sources.
    if (!name.startsWith('uPlot.')) throw error;
    return readFileSync(createRequire(import.meta.url).resolve(`uplot/dist/${name}`));
  }
}
