/** Adapter (LoRA) files in options: `name=path:scale`; name and scale are optional. */
import { basename, resolve } from 'node:path';
import { type ChasquiError, invalidOptions } from '../errors.js';
import { MAX_ADAPTER_SCALE, MAX_ADAPTERS } from '../options/model-option-table.js';

export interface AdapterFile {
  name: string;
  path: string;
  /** Default strength; 1 is as trained. */
  scale: number;
}

export type AdapterInfo = Pick<AdapterFile, 'name' | 'scale'>;

/** `adapter` is an index into the adapters of the model. */
export interface AdapterUse {
  adapter: number;
  scale: number;
}

const NAME = /^[\w.-]{1,100}$/;

/** @throws {ChasquiError} `invalid_options`: one of the texts is not of this form, or two have the same name. */
export function readAdapterFiles(texts: readonly string[] = []): AdapterFile[] {
  if (texts.length > MAX_ADAPTERS) throw refused(`has ${texts.length} adapters, but ${MAX_ADAPTERS} at most are taken`);
  const files = texts.map(readAdapterFile);
  const twice = files.find(({ name }, at) => files.findIndex((each) => each.name === name) < at);
  if (twice === undefined) return files;
  throw refused(
    `has two adapters with the name ${twice.name}: name one of them in front of its file, as in b=file.gguf`,
  );
}

function readAdapterFile(text: string): AdapterFile {
  const [, given, rest = ''] = /^(?:([\w.-]*)=)?(.*)$/s.exec(text) ?? [];
  const [, path = '', number] = /^(.*?)(?::(-?\d{1,6}(?:\.\d{1,9})?))?$/s.exec(rest) ?? [];
  const name = given ?? basename(path).replace(/\.gguf$/i, '');
  const scale = number === undefined ? 1 : Number(number);
  if (path === '') throw refused(`is ${JSON.stringify(text.slice(0, 100))}, which names no file`);
  if (!NAME.test(name)) {
    throw refused(
      `has the name ${JSON.stringify(name.slice(0, 100))}, but names consist of letters, digits, _, . and -`,
    );
  }
  if (Math.abs(scale) > MAX_ADAPTER_SCALE) {
    throw refused(`has the scale ${scale}, but must be from -${MAX_ADAPTER_SCALE} to ${MAX_ADAPTER_SCALE}`);
  }
  return { name, path: resolve(path), scale };
}

function refused(what: string): ChasquiError {
  return invalidOptions(`\`lora\` ${what}.`);
}
