/** The options of `loadModel`: plain data, and separately its callback and abort signal. */
import { basename } from 'node:path';
import { invalidOptions } from '../errors.js';
import type { DescribedLoadOptions } from '../options/described-load-options.js';
import { LOAD_OPTIONS } from '../options/load-option-table.js';
import { type CompleteOptionsOf, fits, type OptionRow, wanted } from '../options/option-row.js';

export interface LoadOptions extends DescribedLoadOptions {}
export interface CompleteLoadOptions extends CompleteOptionsOf<typeof LOAD_OPTIONS> {}

/** Options that cannot be sent to another process. */
export interface LoadHooks {
  /** Called with the fraction loaded, 0 to 1. If it throws, the load rejects with that exception. */
  onProgress?: ((fraction: number) => void) | undefined;
  signal?: AbortSignal | undefined;
}

/** The model's name in requests, also before it is loaded. */
export function modelIdOf(path: string, options: LoadOptions): string {
  return aliasesOf(options)[0] ?? basename(path).replace(/(-00001-of-\d{5})?\.gguf$/i, '');
}

/** All names that a model is given; the first is the one that replies have. */
export function aliasesOf({ alias }: Pick<LoadOptions, 'alias'>): readonly string[] {
  return namesOf(alias);
}

export function namesOf(names: string | readonly string[] = []): readonly string[] {
  return typeof names === 'string' ? names.split(',') : names;
}

/** Users of the library may pass both in one object. `hooks` takes precedence over `given`. */
export function splitHooks(
  { onProgress, signal, ...options }: LoadOptions & LoadHooks,
  hooks: LoadHooks = {},
): { options: LoadOptions; hooks: LoadHooks } {
  return { options, hooks: { onProgress: hooks.onProgress ?? onProgress, signal: hooks.signal ?? signal } };
}

/**
 * The options with the defaults of those that were not given.
 * @throws {ChasquiError} `invalid_options`: an option that does not exist, or with a value that it does not take.
 */
export function completeLoadOptions(given: LoadOptions): CompleteLoadOptions {
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(LOAD_OPTIONS, name));
  if (unknown !== undefined) {
    throw invalidOptions(`\`${unknown.slice(0, 100)}\` is not an option of \`loadModel\`.`);
  }
  const complete = Object.entries(LOAD_OPTIONS).map(([name, row]) => [
    name,
    valueOrDefault(name, row, given[name as keyof LoadOptions]),
  ]);
  return Object.fromEntries(complete) as CompleteLoadOptions;
}

function valueOrDefault(name: string, row: OptionRow, value: unknown): unknown {
  if (value === undefined) return 'default' in row ? row.default : undefined;
  if (fits(row, value)) return value;
  throw invalidOptions(`\`${name}\` is ${shown(value)}, but must be ${wanted(row)}.`);
}

/** As it may be shown in a message, whatever it is. */
export function shown(value: unknown): string {
  if (typeof value === 'number' || typeof value === 'bigint') return String(value);
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch {
    // It has a cycle, or a value that JSON cannot represent.
  }
  if (text === undefined) return `of type ${typeof value}`;
  return text.length > 100 ? `${text.slice(0, 100)}...` : text;
}
