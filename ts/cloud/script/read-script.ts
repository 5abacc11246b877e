/** From `app.ts::chat` on a command line to an app that can be deployed. */
import path from 'node:path';
import { ChasquiError } from '../../errors.js';
import type { Json } from './canonical-json.js';
import { type ExportedApp, evaluateScript } from './evaluate.js';
import { fileFieldsOf, withField } from './file-fields.js';
import { type Manifest, toManifest } from './manifest.js';
import { withTemplates } from './template-files.js';

export interface ScriptedApp {
  /** What the app is called where nobody says otherwise: the export in kebab case. */
  name: string;
  /** What the script says, models by their absolute paths and templates by their text. */
  options: Options;
  manifest: Manifest;
}

type Options = { readonly [name: string]: Json };

/**
 * `entry`: a file, and after `::` which of its exports; without that, its only one.
 * @throws {ChasquiError} `script_invalid`
 */
export async function readScript(entry: string, limitMs?: number): Promise<ScriptedApp> {
  const [, file = entry, wanted] = /^(.+?)(?:::(.*))?$/s.exec(entry) ?? [];
  const found = choose(await evaluateScript(file, limitMs), file, wanted);
  const folder = path.dirname(path.resolve(file));
  const given = withTemplates(found.options, folder, found.name);
  toManifest(given, found.name);
  const options = withAbsolutePaths(given as Options, folder);
  return { name: nameOf(found, file), options, manifest: toManifest(options, found.name) };
}

function choose(apps: readonly ExportedApp[], file: string, wanted: string | undefined): ExportedApp {
  const names = apps.map(({ name }) => name).join(', ');
  const exports = apps.length === 0 ? 'it exports no app() of chasqui/cloud' : `it exports ${names}`;
  if (wanted !== undefined) {
    const found = apps.find(({ name }) => name === wanted);
    if (found !== undefined) return found;
    throw new ChasquiError('script_invalid', `The script ${file} has no app called ${wanted}: ${exports}.`);
  }
  const found = apps.length === 1 ? apps[0] : apps.find(({ name }) => name === 'default');
  if (found !== undefined) return found;
  const advice = apps.length === 0 ? '' : `; say which, such as ${file}::${apps[0]?.name}`;
  throw new ChasquiError('script_invalid', `The script ${file} does not say which app: ${exports}${advice}.`);
}

/** `chatLarge` becomes `chat-large`; a default export is called as its file. */
function nameOf({ name }: ExportedApp, file: string): string {
  const base = name === 'default' ? path.basename(file).replace(/\.[cm]?[jt]s$/, '') : name;
  return base
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1-$2')
    .replaceAll(/[^A-Za-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '')
    .toLowerCase();
}

function withAbsolutePaths(options: Options, folder: string): Options {
  return fileFieldsOf(options).reduce((changed, { at, text }) => {
    if (!text.startsWith('file:')) return changed;
    const file = path.resolve(folder, text.slice('file:'.length).replace(/^\/\/\//, '/'));
    return withField(changed, at, `file:${file}`);
  }, options);
}
