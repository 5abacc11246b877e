/**
 * Whether values that go before those in a model's file fit it. llama.cpp passes over one of another type, with a line in
 * its log, and some others end its process.
 */
import { ChasquiError } from '../errors.js';
import { loadAddon } from '../native/load-addon.js';
import type { OpenRequest } from '../native/open-request.js';
import { runFit } from '../native/run-fit.js';
import { readGgufTypes } from './gguf-sizes.js';
import { LIST, TEXT } from './gguf-values.js';

/** The types of a GGUF file's values that llama.cpp takes a value of each of its own types for. */
const TAKEN_AS: Readonly<Record<string, readonly number[]>> = {
  int: [0, 1, 2, 3, 4, 5, 10, 11],
  float: [6, 12],
  bool: [7],
  str: [TEXT],
};
/** What llama.cpp reads numbers of files as. */
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
  // What is wrong with such a file is said when it is loaded.
  if (types.size === 0) return;
  const rooms = new Set([...types.keys()].map(roomOf));
  for (const entry of entries) {
    const [, key = '', type = '', value = ''] = /^([^=]+)=(\w+):(.*)$/s.exec(entry) ?? [];
    if (!rooms.has(roomOf(key))) {
      throw refused(entry, `the model has no values whose names begin with ${roomOf(key)}, but ${list(rooms)}`);
    }
    const has = types.get(key);
    if (has !== undefined && !TAKEN_AS[type]?.includes(has)) {
      throw refused(entry, has === LIST ? 'the model has a list there' : `the model has ${wordOf(has)} there`);
    }
    const isNegative = has !== undefined && UNSIGNED.includes(has) && value.startsWith('-');
    if (type === 'int' && (isNegative || Math.abs(Number(value)) > MAX_INTEGER)) {
      throw refused(entry, `it must be a whole number from ${isNegative ? 0 : -MAX_INTEGER} to ${MAX_INTEGER}`);
    }
  }
}

/**
 * Has llama.cpp set the model up without its weights, in a process of its own.
 * @throws {ChasquiError} `invalid_options`: that process ended.
 */
export async function tryMetadata(request: OpenRequest, signal?: AbortSignal): Promise<void> {
  const { metadata } = request.options.offload;
  if (metadata.length === 0) return;
  const task = { request: { ...request, verbose: false }, spareBytes: 0, contexts: [SHORT_CONTEXT] };
  const tried = await runFit(loadAddon().path, task, { signal });
  signal?.throwIfAborted();
  // Any other failure is told, and in better words, when the model is loaded.
  if (tried.ended !== 'crashed') return;
  throw refused(metadata.join(', '), `llama.cpp fails with it: ${tried.reason}`);
}

const UNSIGNED: readonly number[] = [0, 2, 4, 10];

function roomOf(key: string): string {
  return key.slice(0, key.indexOf('.') + 1 || undefined);
}

function wordOf(type: number): string {
  const word = Object.keys(TAKEN_AS).find((each) => TAKEN_AS[each]?.includes(type));
  return `a value of the type ${word ?? type}`;
}

function list(names: Iterable<string>): string {
  return [...names].join(', ');
}

function refused(entry: string, why: string): ChasquiError {
  return new ChasquiError(
    'invalid_options',
    `\`overrideKv\` is ${entry}, which does not fit the model's file: ${why}.`,
  );
}
