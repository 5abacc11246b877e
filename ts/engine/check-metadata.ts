/**
 * Checks that the values of `overrideKv` fit the model's file. llama.cpp ignores a value of another type, with a line in its
 * log, and some values crash it.
 */
import { type ChasquiError, invalidOptions } from '../errors.js';
import { loadAddon } from '../native/load-addon.js';
import type { OpenRequest } from '../native/native-options.js';
import { runFit } from '../native/run-fit.js';
import { LIST, readGgufTypes, TEXT } from './gguf-header.js';

/** The GGUF types that each type of llama.cpp's option may override. */
const TAKEN_AS: Readonly<Record<string, readonly number[]>> = {
  int: [0, 1, 2, 3, 4, 5, 10, 11],
  float: [6, 12],
  bool: [7],
  str: [TEXT],
};
/** llama.cpp reads numbers of files as 32 bits. */
const MAX_INTEGER = 2 ** 32 - 1;

/** Tokens, for a trial. */
const SHORT_CONTEXT = 256;

/**
 * Checks names, types and ranges by the file.
 * @throws {ChasquiError} `invalid_options`
 */
export function checkMetadata(path: string, entries: readonly string[]): void {
  if (entries.length === 0) return;
  const types = readGgufTypes(path);
  // Loading reports what is wrong with the file.
  if (types.size === 0) return;
  const prefixes = new Set([...types.keys()].map(prefixOf));
  for (const entry of entries) {
    const [, key = '', type = '', value = ''] = /^([^=]+)=(\w+):(.*)$/s.exec(entry) ?? [];
    if (!prefixes.has(prefixOf(key))) {
      throw refused(
        entry,
        `the names of the model's values begin with ${[...prefixes].join(', ')}, but not with ${prefixOf(key)}`,
      );
    }
    const has = types.get(key);
    if (has !== undefined && !TAKEN_AS[type]?.includes(has)) {
      throw refused(entry, has === LIST ? 'the model has a list there' : `the model has ${nameOfType(has)} there`);
    }
    const isNegative = has !== undefined && UNSIGNED.includes(has) && value.startsWith('-');
    if (type === 'int' && (isNegative || Math.abs(Number(value)) > MAX_INTEGER)) {
      throw refused(entry, `it must be a whole number from ${isNegative ? 0 : -MAX_INTEGER} to ${MAX_INTEGER}`);
    }
  }
}

/**
 * Sets the model up without its weights, in another process.
 * @throws {ChasquiError} `invalid_options`: that process crashed.
 */
export async function tryMetadata(request: OpenRequest, signal?: AbortSignal): Promise<void> {
  const { overrideKv: metadata = [] } = request.options;
  if (metadata.length === 0) return;
  const task = { request: { ...request, verbose: false }, spareBytes: 0, contexts: [SHORT_CONTEXT] };
  const tried = await runFit(loadAddon().path, task, { signal });
  signal?.throwIfAborted();
  // Loading reports other failures, with better messages.
  if (tried.ended !== 'crashed') return;
  throw refused(metadata.join(', '), `llama.cpp fails with it: ${tried.reason}`);
}

const UNSIGNED: readonly number[] = [0, 2, 4, 10];

function prefixOf(key: string): string {
  return key.slice(0, key.indexOf('.') + 1 || undefined);
}

function nameOfType(type: number): string {
  const name = Object.keys(TAKEN_AS).find((each) => TAKEN_AS[each]?.includes(type));
  return `a value of the type ${name ?? type}`;
}

function refused(entry: string, why: string): ChasquiError {
  return invalidOptions(`\`overrideKv\` is ${entry}, which does not fit the model's file: ${why}.`);
}
