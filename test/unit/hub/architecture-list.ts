/**
 * Writes the list of the kinds of models that llama.cpp loads, from its source: `npx tsx
 * test/unit/hub/architecture-list.ts`. A test holds that the list is that of the source.
 */
import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from '../../support/places.js';

const SOURCE = path.join(root, 'vendor', 'llama.cpp', 'src', 'llama-arch.cpp');
export const LIST = path.join(root, 'ts', 'hub', 'architecture-list.ts');

/** Entries of llama.cpp's table that are no loadable models. */
const NOT_LOADED = ['clip', '(unknown)'];

export function architecturesInSource(): string[] {
  const [, table = ''] = /LLM_ARCH_NAMES = \{\n([\s\S]*?)\n\};/.exec(fs.readFileSync(SOURCE, 'utf8')) ?? [];
  const names = [...table.matchAll(/\{ LLM_ARCH_\w+,\s*"([^"]+)"\s*\}/g)].map(([, name]) => name as string);
  return names.filter((name) => !NOT_LOADED.includes(name)).sort();
}

export function listFile(): string {
  const names = architecturesInSource()
    .join(' ')
    .replace(/(.{1,118})( |$)/g, '  $1\n');
  return [
    '/** The architectures that llama.cpp loads, from its source: npx tsx test/unit/hub/architecture-list.ts. */\n',
    'const NAMES = `\n',
    names,
    '`;\n\n',
    'export const ARCHITECTURES: ReadonlySet<string> = new Set(NAMES.trim().split(/\\s+/));\n',
  ].join('');
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) fs.writeFileSync(LIST, listFile());
