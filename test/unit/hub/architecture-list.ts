/**
 * Writes the list of the architectures that the engine loads, from llama.cpp's source and ours: `npx tsx
 * test/unit/hub/architecture-list.ts`. A test holds that the list is that of the sources.
 */
import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from '../../support/places.js';

const read = (...names: string[]) => fs.readFileSync(path.join(root, ...names), 'utf8');
const upstream = (name: string) => read('vendor', 'llama.cpp', 'src', name);
export const LIST = path.join(root, 'ts', 'hub', 'architecture-list.ts');

/** Entries of llama.cpp's table that are no loadable models: projectors, a name without code, a part of another model. */
const NOT_LOADED = ['clip', '(unknown)', 'gptj', 'gemma4-assistant'];

export function architecturesInSource(): string[] {
  const table = upstream('llama-arch.cpp');
  const [, rows = ''] = /LLM_ARCH_NAMES = \{\n([\s\S]*?)\n\};/.exec(table) ?? [];
  const refused = new Set([
    ...casesOf('llama_model_has_encoder', upstream('llama-model.cpp')),
    ...casesOf('llm_arch_is_diffusion', table),
  ]);
  const namesOfOwn = read('native', 'llama', 'model', 'model.cpp').matchAll(/architecture\(\) == "([^"]+)"/g);
  const notLoaded = new Set([...NOT_LOADED, ...[...namesOfOwn].map(([, name]) => name)]);
  return [...rows.matchAll(/\{ (LLM_ARCH_\w+),\s*"([^"]+)"\s*\}/g)]
    .flatMap(([, constant = '', name = '']) => (refused.has(constant) || notLoaded.has(name) ? [] : [name]))
    .sort();
}

/** The architectures that a function of llama.cpp lists. The engine refuses their models. */
function casesOf(name: string, source: string): string[] {
  const [, body = ''] = new RegExp(`bool ${name}\\(.*\\n([\\s\\S]*?)\\n\\}`).exec(source) ?? [];
  return [...body.matchAll(/case (LLM_ARCH_\w+):/g)].map(([, constant = '']) => constant);
}

export function listFile(): string {
  const names = architecturesInSource()
    .join(' ')
    .replace(/(.{1,118})( |$)/g, '  $1\n');
  return [
    '/** The architectures that the engine loads, from the sources: npx tsx test/unit/hub/architecture-list.ts. */\n',
    'const NAMES = `\n',
    names,
    '`;\n\n',
    'export const ARCHITECTURES: ReadonlySet<string> = new Set(NAMES.trim().split(/\\s+/));\n',
  ].join('');
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) fs.writeFileSync(LIST, listFile());
