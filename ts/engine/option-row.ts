/**
 * An option as data: its row says everything about it, and whatever needs to know reads the row. The command line makes
 * flags, environment variables and help from rows; `loadModel` checks values by them and fills in the defaults.
 */

interface CommonFields {
  /** On the command line. `null`: only the library has this option. */
  readonly flag: `--${string}` | null;
  /** One letter that means the same. */
  readonly short?: `-${string}`;
  /** Other names that the command line takes and help does not show: those of earlier versions and of llama.cpp. */
  readonly aliases?: readonly `-${string}`[];
  /** Short names for the opposite of a flag, as llama.cpp has them. */
  readonly noAliases?: readonly `-${string}`[];
  /** The environment variable, where it does not follow from the flag. */
  readonly variable?: string;
  /** Values of the environment variable that come from elsewhere and are passed over. */
  readonly foreign?: RegExp;
  /** The options that cannot be given beside this one. */
  readonly excludes?: readonly string[];
  /** What stands for the value in help, where the type and the unit say too little. */
  readonly placeholder?: string;
  /** The heading that the option stands under in help and in forms. */
  readonly group: string;
  /** What the option says, without a full stop. Other options go by their names in backticks. */
  readonly help: string;
  /** In words, what holds when the option is not given: for options without a default, or whose default says too little. */
  readonly otherwise?: string;
}

/** The greatest number that native code counts to, for options that have no limit of their own. */
export const MAX_COUNT = 2 ** 31 - 1;

type Unit = 'tokens' | 'MiB' | 'ms' | 's';

interface NumberFields {
  readonly min: number;
  readonly max: number;
  readonly unit?: Unit;
  /** The unit on the command line and how many of `unit` it has, where people count in larger ones. */
  readonly flagUnit?: { readonly unit: Unit; readonly size: number };
  /** Words that are taken in place of a number. */
  readonly words?: readonly string[];
  readonly default?: number | string;
}

type TypeFields =
  | { readonly type: 'boolean'; readonly default: boolean }
  | ({ readonly type: 'integer' | 'number' } & NumberFields)
  | {
      readonly type: 'string' | 'path';
      readonly default?: string /** Whether `null` is taken. */;
      readonly nullable?: true;
    }
  | { readonly type: 'choice'; readonly choices: readonly string[]; readonly default?: string }
  | {
      /** A list of texts, or one text with commas. */
      readonly type: 'names';
      /** What each of them must match, and how to say that in words. */
      readonly each?: { readonly pattern: RegExp; readonly says: string };
    }
  /** A list of paths, each of which is given by a flag of its own. */
  | { readonly type: 'paths' }
  /** The same of texts. The environment gives one of them. */
  | {
      readonly type: 'texts';
      readonly max: number;
      readonly maxLength: number;
      /** What each of them must match, and how to say that in words. */
      readonly pattern?: RegExp;
      readonly says?: string;
    }
  /** A list of numbers that only mean something in proportion to each other. */
  | { readonly type: 'shares' };

export type OptionRow = CommonFields & TypeFields;
export type OptionRows = Readonly<Record<string, OptionRow>>;

type ValueOfType<Row> = Row extends { type: 'boolean' }
  ? boolean
  : Row extends { type: 'integer' | 'number' }
    ? number
    : Row extends { type: 'choice'; choices: readonly (infer Choice)[] }
      ? Choice
      : Row extends { type: 'names' }
        ? string | readonly string[]
        : Row extends { type: 'paths' | 'texts' }
          ? readonly string[]
          : Row extends { type: 'shares' }
            ? readonly number[]
            : string;

/** The values that an option takes. */
export type ValueOf<Row> =
  | ValueOfType<Row>
  | (Row extends { words: readonly (infer Word)[] } ? Word : never)
  | (Row extends { nullable: true } ? null : never);

/** An object of options, each of which may be left out. */
export type OptionsOf<Rows> = { -readonly [Name in keyof Rows]?: ValueOf<Rows[Name]> };

/** The same with the defaults filled in. */
export type CompleteOptionsOf<Rows> = {
  -readonly [Name in keyof Rows]: ValueOf<Rows[Name]> | (Rows[Name] extends { default: unknown } ? never : undefined);
};

export function isNullable(row: OptionRow): boolean {
  return 'nullable' in row && row.nullable === true;
}

/** Whether a value is one that the option takes. */
export function fits(row: OptionRow, value: unknown): boolean {
  switch (row.type) {
    case 'boolean':
      return typeof value === 'boolean';
    case 'integer':
    case 'number':
      return row.words?.includes(value as string) || isNumberFor(row, value);
    case 'string':
    case 'path':
      return (typeof value === 'string' && value !== '') || (value === null && isNullable(row));
    case 'choice':
      return row.choices.includes(value as string);
    case 'names': {
      const names = typeof value === 'string' ? value.split(',') : value;
      return Array.isArray(names) && names.length > 0 && names.every((name) => isNameFor(row, name));
    }
    case 'paths':
      return Array.isArray(value) && value.length > 0 && value.every((path) => typeof path === 'string' && path !== '');
    case 'texts':
      return Array.isArray(value) && value.length <= row.max && value.every((text) => isTextFor(row, text));
    case 'shares':
      return Array.isArray(value) && value.every(isShare) && (value.length === 0 || haveSum(value));
  }
}

function isNumberFor({ type, min, max }: NumberFields & { type: 'integer' | 'number' }, value: unknown): boolean {
  if (typeof value !== 'number' || (type === 'integer' && !Number.isInteger(value))) return false;
  return value >= min && value <= max;
}

function isTextFor({ maxLength, pattern }: Extract<OptionRow, { type: 'texts' }>, text: unknown): boolean {
  if (typeof text !== 'string' || text === '' || text.length > maxLength) return false;
  return pattern === undefined || pattern.test(text);
}

function isNameFor({ each }: Extract<OptionRow, { type: 'names' }>, name: unknown): boolean {
  return typeof name === 'string' && name !== '' && (each === undefined || each.pattern.test(name));
}

/** llama.cpp counts shares in single precision. */
function isShare(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && Number.isFinite(Math.fround(value));
}

function haveSum(shares: readonly number[]): boolean {
  const sum = shares.reduce((all, share) => Math.fround(all + share), 0);
  return sum > 0 && Number.isFinite(sum);
}

/** What the option takes, to follow "must be". `inText`: as it is written on a command line. */
export function wanted(row: OptionRow, { inText = false } = {}): string {
  switch (row.type) {
    case 'boolean':
      return inText ? '1, 0, true or false' : 'true or false';
    case 'integer':
    case 'number':
      return inWords([wantedNumber(inText ? inFlagUnit(row) : row), ...(row.words ?? [])]);
    case 'string':
    case 'path': {
      const text = row.type === 'path' ? 'a path' : 'a text that is not empty';
      return inWords([text, ...(isNullable(row) ? [inText ? 'none' : 'null'] : [])]);
    }
    case 'choice':
      return inWords(row.choices);
    case 'names':
      return listOf(row.each?.says ?? 'names', inText);
    case 'paths':
      return inText ? 'a path' : 'a list of paths';
    case 'texts':
      return inText ? wantedOfTexts(row) : `a list of at most ${row.max}, each ${wantedOfTexts(row)}`;
    case 'shares':
      return `${listOf('numbers', inText)}, of at least 0 and not all 0`;
  }
}

function wantedOfTexts({ says, maxLength }: Extract<OptionRow, { type: 'texts' }>): string {
  return says ?? `a text of 1 to ${maxLength} characters`;
}

type NumberRow = Extract<OptionRow, { type: 'integer' | 'number' }>;

const UNIT_NAMES: Record<Unit, string> = { tokens: 'tokens', MiB: 'MiB', ms: 'milliseconds', s: 'seconds' };

function wantedNumber({ type, min, max, unit }: NumberRow): string {
  const number = type === 'integer' ? 'a whole number' : 'a number';
  return `${number}${unit === undefined ? '' : ` of ${UNIT_NAMES[unit]}`} from ${min} to ${max}`;
}

/** The row of a number as the command line takes it. */
export function inFlagUnit(row: NumberRow): NumberRow {
  if (row.flagUnit === undefined) return row;
  const { unit, size } = row.flagUnit;
  return { ...row, unit, min: Math.ceil(row.min / size), max: Math.floor(row.max / size) };
}

function listOf(items: string, inText: boolean): string {
  return inText ? `${items} separated by commas` : `a list of ${items}`;
}

/** `a`; `a or b`; `a, b or c`. */
function inWords(alternatives: readonly string[]): string {
  const last = alternatives.at(-1) ?? '';
  return alternatives.length < 2 ? last : `${alternatives.slice(0, -1).join(', ')} or ${last}`;
}
