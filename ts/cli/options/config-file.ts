/** Options of `chasqui serve` in a YAML file, named as their flags: `ctx-size: 8192`. */
import { readFileSync, statSync } from 'node:fs';
import { parseDocument, stringify } from 'yaml';
import { type ChasquiError, invalidOptions } from '../../errors.js';
import { fits, isNullable, type OptionRow, type OptionRows } from '../../options/option-row.js';
import { nearestNames } from '../errors/nearest-names.js';
import { CALL_OPTIONS } from './call-option-table.js';
import { variableOf } from './environment.js';
import { parseOption, wantedText } from './parse-option.js';
import { defaultText } from './table-options.js';

type Options = Readonly<Record<string, unknown>>;

const MAX_BYTES = 2 ** 20;
const OWN = Object.keys(CALL_OPTIONS);

/**
 * Adds the options of the file to those of the command line, which take precedence, as do environment variables.
 * @throws {ChasquiError} `invalid_options`, with the file and the key
 */
export function withConfigFile(
  file: string,
  parsed: Options,
  rows: OptionRows,
  environment: NodeJS.ProcessEnv,
): Options {
  const isSet = (name: string) => {
    const variable = rows[name] && variableOf(rows[name]);
    return parsed[name] !== undefined || Boolean(variable && environment[variable]);
  };
  const names = new Map(Object.entries(rows).flatMap(([name, row]) => namesOf(row).map((flag) => [flag, name])));
  const options: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(readYaml(file))) {
    const name = names.get(key);
    const row = name === undefined || OWN.includes(name) ? undefined : rows[name];
    if (name === undefined || row === undefined) throw wrong(file, unknownKey(key, [...names.keys()]));
    const other = row.excludes?.find((each) => options[each] !== undefined);
    if (other !== undefined) throw wrong(file, `'${key}' and '${flagOf(rows[other])}' exclude each other`);
    if (!isSet(name) && !row.excludes?.some(isSet)) options[name] = toValue(file, key, row, value);
  }
  return { ...options, ...parsed };
}

/** Writes all options as such a file. Those with their defaults are comments, and so are API keys. */
export function toConfigFile(options: Options, rows: OptionRows): string {
  const lines = Object.entries(rows).flatMap(([name, row]) => {
    if (row.flag === null || OWN.includes(name)) return [];
    const value = options[name];
    const isSecret = name === 'apiKey';
    if (value === undefined || isSecret)
      return [`# ${flagOf(row)}: ${isSecret && value ? '(hidden)' : defaultText(row)}`];
    return [stringify({ [flagOf(row)]: toFileValue(row, value) }).trimEnd()];
  });
  return `# Options of chasqui serve --config. Those in comments have their defaults.\n${lines.join('\n')}`;
}

function namesOf({ flag, aliases = [] }: OptionRow): string[] {
  return flag === null ? [] : [flag, ...aliases].map((each) => each.replace(/^--?/, ''));
}

function flagOf(row: OptionRow | undefined): string {
  return row?.flag?.slice(2) ?? '';
}

function readYaml(file: string): Options {
  let text: string;
  try {
    if (statSync(file).size > MAX_BYTES) throw new Error(`it has more than ${MAX_BYTES} bytes`);
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw wrong(file, `it cannot be read: ${(error as Error).message}`);
  }
  const document = parseDocument(text);
  const [error] = document.errors;
  if (error !== undefined) throw wrong(file, error.message.split('\n')[0]?.replace(/[.:]$/, '') ?? 'it is not YAML');
  const value: unknown = document.toJS({ maxAliasCount: 0 }) ?? {};
  if (typeof value === 'object' && !Array.isArray(value)) return value as Options;
  throw wrong(file, 'it must have lines such as ctx-size: 8192');
}

/** `undefined`: the default. */
function toValue(file: string, key: string, row: OptionRow, given: unknown): unknown {
  if (given === null) return isNullable(row) ? null : undefined;
  if (String(given) === row.unset) return undefined;
  const isList = Array.isArray(given) && fits(row, given);
  const value = isList
    ? given
    : ['string', 'number', 'boolean'].includes(typeof given)
      ? parseOption(row, String(given))
      : undefined;
  if (value === undefined) throw wrong(file, `'${key}' must be ${wantedText(row)}`);
  return value;
}

function toFileValue(row: OptionRow, value: unknown): unknown {
  if (value === null) return 'none';
  const unit = 'flagUnit' in row ? row.flagUnit?.size : undefined;
  return typeof value === 'number' && unit !== undefined ? value / unit : value;
}

function unknownKey(key: string, names: readonly string[]): string {
  const [near] = nearestNames(key, names);
  return `'${key.slice(0, 100)}' is not an option${near === undefined ? '' : `; did you mean '${near}'?`}`;
}

function wrong(file: string, what: string): ChasquiError {
  return invalidOptions(`The file ${file} (--config): ${what}${what.endsWith('?') ? '' : '.'}`);
}
