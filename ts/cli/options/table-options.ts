/** Creates the flags and help of a command from an option table. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import {
  fits,
  inFlagUnit,
  isNullable,
  type OptionRow,
  type OptionRows,
  type OptionsOf,
} from '../../options/option-row.js';
import { optionsOfEnvironment } from './environment.js';
import { withFlags } from './option-names.js';
import { parseOption, wantedText } from './parse-option.js';

/** Makes commander store the value under the option's name in its table. */
class TableOption extends Option {
  constructor(
    private readonly optionName: string,
    flags: string,
    description = '',
  ) {
    super(flags, description);
  }

  override attributeName(): string {
    return this.optionName;
  }
}

export function addTableOptions(command: Command, rows: OptionRows): Command {
  for (const option of Object.entries(rows).flatMap(toOptions)) command.addOption(option);
  return command;
}

/** Options set by flag or environment variable. `parsed` is the object that commander passes to an action. */
export function givenOptions<Rows extends OptionRows>(
  rows: Rows,
  parsed: Readonly<Record<string, unknown>>,
  environment: NodeJS.ProcessEnv = process.env,
): OptionsOf<Rows> {
  const byFlag = Object.entries(rows)
    .filter(([name]) => parsed[name] !== undefined)
    // Commander returns `false` for --no-mmproj, and so does `parserOf` for `--mmproj none`.
    .map(([name, row]) => [name, isNullable(row) && parsed[name] === false ? null : parsed[name]])
    .map(([name, value]) => [name, value === DEFAULT ? undefined : value]);
  const given = Object.fromEntries(byFlag) as OptionsOf<Rows>;
  return { ...optionsOfEnvironment(rows, given, environment), ...given };
}

/**
 * Commander does not support multi-letter short flags such as llama.cpp's `-ngl`. As in llama.cpp, long flags may have
 * underscores in place of hyphens.
 */
export function expandAliases(args: readonly string[], rows: OptionRows): string[] {
  const spelled = new Map(
    Object.values(rows).flatMap(({ flag, aliases = [], noAliases = [] }) => [
      ...aliases.filter(isShort).map((alias) => [alias, flag] as const),
      ...noAliases.map((alias) => [alias, flag?.replace(/^--/, '--no-')] as const),
    ]),
  );
  const flags = new Set<string | null>(Object.values(rows).flatMap(({ flag, aliases = [] }) => [flag, ...aliases]));
  const hyphenated = (flag: string): string => {
    const other = flag.replaceAll('_', '-');
    return flags.has(other.replace(/^--no-/, '--')) || flags.has(other) ? other : flag;
  };
  return args.map((arg) => spelled.get(arg as `-${string}`) ?? arg.replace(/^--[^=]+/, hyphenated));
}

function isShort(alias: string): boolean {
  return !alias.startsWith('--');
}

function toOptions([name, row]: [string, OptionRow]): Option[] {
  const { flag, short, aliases = [], group } = row;
  if (flag === null) return [];
  const value = row.type === 'boolean' ? '' : ` <${placeholder(row)}>`;
  const shown = new TableOption(name, `${short === undefined ? '' : `${short}, `}${flag}${value}`, describe(row));
  const others = aliases.filter((alias) => !isShort(alias)).map((alias) => new TableOption(name, alias + value));
  for (const option of others) option.hideHelp();
  const options: Option[] = [shown, ...others];
  for (const option of options) option.helpGroup(`${group}:`);
  if (row.type !== 'boolean') for (const option of options) option.argParser(parserOf(row));
  if (row.excludes !== undefined) for (const option of options) option.conflicts([...row.excludes]);
  if (row.type === 'boolean' || isNullable(row)) options.push(negated(name, row, flag));
  return options;
}

/** `--no-strict` overrides the environment and is hidden; `--no-mmproj` is shown in the help. */
function negated(name: string, row: OptionRow, flag: string): Option {
  const option = new TableOption(name, flag.replace(/^--/, '--no-'), `Same as ${flag} none`);
  return option.helpGroup(`${row.group}:`).hideHelp(row.type === 'boolean');
}

/** Commander stores this for an option that returns to its default. The empty text is no value of any option. */
const DEFAULT = '';

function parserOf(row: OptionRow): (text: string, previous: unknown) => unknown {
  return (text, previous) => {
    if (text === row.unset) return DEFAULT;
    const value = parseOption(row, text);
    if (value === undefined) throw new InvalidArgumentError(`It must be ${wantedText(row)}.`);
    // Commander interprets null as a flag without a value.
    if (value === null) return false;
    // Repeated flags extend a list.
    const isList = row.type === 'names' || row.type === 'paths' || row.type === 'texts';
    if (!isList || !Array.isArray(previous)) return value;
    const all = [...previous, ...(value as string[])];
    if (!fits(row, all)) throw new InvalidArgumentError(`It must be given less often.`);
    return all;
  };
}

function placeholder(row: OptionRow): string {
  if (row.placeholder !== undefined) return row.placeholder;
  switch (row.type) {
    case 'path':
    case 'paths':
      return 'path';
    case 'names':
      return 'names';
    case 'shares':
      return 'shares';
    case 'integer':
    case 'number': {
      const { unit = 'tokens' } = inFlagUnit(row);
      return unit === 'tokens' ? 'n' : unit;
    }
    default:
      return 'text';
  }
}

function describe(row: OptionRow): string {
  const choices = row.type === 'choice' ? `choices: ${row.choices.join(', ')}; ` : '';
  return withFlags(`${row.help} (${choices}default: ${defaultText(row)})`);
}

/** Describes the default in the unit of the command line. */
export function defaultText(row: OptionRow): string {
  if (row.otherwise !== undefined) return row.otherwise;
  const value = 'default' in row ? row.default : undefined;
  if (typeof value === 'number' && 'flagUnit' in row) return String(value / (row.flagUnit?.size ?? 1));
  return value === false ? 'off' : String(value ?? 'none');
}

/** Converts the value of a `names` option to a list. */
export function toList(names: string | readonly string[]): readonly string[] {
  return typeof names === 'string' ? names.split(',') : names;
}
