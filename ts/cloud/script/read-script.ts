/** Reads an app from a command-line entry such as `app.ts::chat`. */
import path from 'node:path';
import { templateOf } from '../../engine/chat-template.js';
import { ChasquiError } from '../../errors.js';
import type { Json } from './canonical-json.js';
import { type ExportedApp, evaluateScript } from './evaluate.js';
import { invalid } from './explain.js';
import { fileFieldsOf, withField } from './file-fields.js';
import { type Manifest, toManifest } from './manifest.js';

export interface ScriptedApp {
  /** Default name: the export in kebab case. */
  name: string;
  /** Options with absolute model paths and inlined templates. */
  options: Options;
  manifest: Manifest;
}

type Options = { readonly [name: string]: Json };

/**
 * `entry`: a file, optionally followed by `::` and the name of an export.
 *
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
  const exports = apps.length === 0 ? 'it exports no `app()` of `chasqui/cloud`' : `it exports ${names}`;
  if (wanted !== undefined) {
    const found = apps.find(({ name }) => name === wanted);
    if (found !== undefined) return found;
    throw new ChasquiError('script_invalid', `The script ${file} has no app ${wanted}: ${exports}.`);
  }
  const found = apps.length === 1 ? apps[0] : apps.find(({ name }) => name === 'default');
  if (found !== undefined) return found;
  const advice = apps.length === 0 ? '' : `. Select one, for example ${file}::${apps[0]?.name}`;
  throw new ChasquiError('script_invalid', `No app of the script ${file} is selected: ${exports}${advice}.`);
}

/** Converts `chatLarge` to `chat-large`. A default export gets the name of its file. */
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

/**
 * Replaces `chatTemplateFile` by `chatTemplate` in the app and its models. Accepts options that are not validated yet.
 * `folder`: base of relative paths; `name`: of the app, for messages.
 *
 * @throws {ChasquiError} `script_invalid` if a file cannot be read or is not a template
 */
function withTemplates(options: Json, folder: string, name: string): Json {
  if (!isObject(options)) return options;
  const own = withTemplate(options, folder, (problem) => invalid(name, 'chatTemplateFile', problem));
  if (!Array.isArray(own.models)) return own;
  const models = own.models.map((model: Json, index) => {
    if (!isObject(model)) return model;
    return withTemplate(model, folder, (problem) => invalid(name, `models[${index}].chatTemplateFile`, problem));
  });
  return { ...own, models };
}

function withTemplate(options: Options, folder: string, refused: (problem: string) => ChasquiError): Options {
  const { chatTemplateFile: file, ...rest } = options;
  if (file === undefined) return options;
  if (typeof file !== 'string' || file === '') throw refused('must be the path of a file');
  if (rest.chatTemplate !== undefined) throw refused('and `chatTemplate` exclude each other');
  try {
    return { ...rest, chatTemplate: templateOf({ chatTemplateFile: path.resolve(folder, file) }) };
  } catch (error) {
    if (!(error instanceof ChasquiError)) throw error;
    throw refused(error.message.replace(/^`chatTemplateFile` |\.$/g, ''));
  }
}

function isObject(value: Json | undefined): value is Options {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
