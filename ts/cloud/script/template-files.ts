/** Chat templates in files beside a script become part of what it says: no other machine has those files. */
import path from 'node:path';
import { templateOf } from '../../engine/template-option-table.js';
import { ChasquiError } from '../../errors.js';
import type { Json } from './canonical-json.js';
import { invalid } from './explain.js';

type Options = { readonly [name: string]: Json };

/**
 * The same options with `chatTemplate` in place of `chatTemplateFile`, of the app and of each of its models. They need
 * not have been checked. `folder`: what relative paths begin at; `name`: what messages call the app.
 * @throws {ChasquiError} `script_invalid`, when a file cannot be read or is no template
 */
export function withTemplates(options: Json, folder: string, name: string): Json {
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
  if (rest.chatTemplate !== undefined) throw refused('and `chatTemplate` exclude each other: leave out one of them');
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
