/** An option as data: its type, check, default, flag, environment variable and help derive from one row. */

type Flag = `--${string}`;

interface CommonFields {
  /** On the command line; by default the name of the option. `null` for options of the library alone. */
  readonly flag: Flag | null;
  /** A one-letter flag. */
  readonly short?: `-${string}`;
  /** Further flags, hidden in the help: names in earlier versions and in llama.cpp. */
  readonly aliases?: readonly `-${string}`[];
  /** The text that means the default on the command line and in variables, as in llama.cpp. */
  readonly unset?: string;
  /** Short flags for the negation, as in llama.cpp. */
  readonly noAliases?: readonly `-${string}`[];
  /** The environment variable, if it does not derive from the flag. */
  readonly variable?: string;
  /** Values of the environment variable that other programs set, and that are ignored. */
  readonly foreign?: RegExp;
  /** Options that conflict with this one. */
  readonly excludes?: readonly string[];
  /** Replaces type and unit as the placeholder of the value in the help. */
  readonly placeholder?: string;
  /** The heading in help and forms. */
  readonly group: string;
  /** Help text, without a full stop. Other options are named in backticks, by their keys. */
  readonly help: string;
  /** Describes the default, if there is no `default` or if that is not enough. */
  readonly otherwise?: string;
}

/** The limit of options without one of their own: native code counts in 32 bits. */
export const MAX_COUNT = 2 ** 31 - 1;

type Unit = 'tokens' | 'MiB' | 'ms' | 's';

interface NumberFields {
  readonly min: number;
  readonly max: number;
  readonly unit?: Unit;
  /** A larger unit on the command line, and its size in `unit`. */
  readonly flagUnit?: { readonly unit: Unit; readonly size: number };
  /** Words accepted instead of a number. */
  readonly words?: readonly string[];
  readonly default?: number | string;
}

type TypeFields =
  | { readonly type: 'boolean'; readonly default: boolean }
  | ({ readonly type: 'integer' | 'number' } & NumberFields)
  | {
      readonly type: 'string' | 'path';
      readonly default?: string /** Whether `null` is accepted. */;
      readonly nullable?: true;
    }
  | { readonly type: 'choice'; readonly choices: readonly string[]; readonly default?: string }
  | {
      /** A list of strings, or one string with commas. */
      readonly type: 'names';
      /** The pattern for each element, and its description. */
      readonly each?: { readonly pattern: RegExp; readonly says: string };
    }
  /** A list of paths, with a flag for each. */
  | { readonly type: 'paths' }
  /** A list of strings, with a flag for each. The environment variable holds one. */
  | {
      readonly type: 'texts';
      readonly max: number;
      readonly maxLength: number;
      /** The pattern for each element, and its description. */
      readonly pattern?: RegExp;
      readonly says?: string;
    }
  /** A list of proportions. */
  | { readonly type: 'shares' };

export type OptionRow = CommonFields & TypeFields;
export type NumberRow = Extract<OptionRow, { type: 'integer' | 'number' }>;
export type OptionRows = Readonly<Record<string, OptionRow>>;

type Ungrouped<Row> = Row extends OptionRow ? Omit<Row, 'group' | 'flag'> & Partial<Pick<Row, 'flag'>> : never;
export type UngroupedRows = Readonly<Record<string, Ungrouped<OptionRow>>>;

/** Fields that many rows share. */
export const off = { type: 'boolean', default: false } as const;
export const on = { type: 'boolean', default: true } as const;

export function integer(min: number, max = MAX_COUNT) {
  return { type: 'integer', min, max } as const;
}

export function number(min: number, max: number) {
  return { type: 'number', min, max } as const;
}

export function choice<const Choices extends readonly string[]>(...choices: Choices) {
  return { type: 'choice', choices } as const;
}

export function text(placeholder: string) {
  return { type: 'string', placeholder } as const;
}

type Grouped<Row> = Row & { readonly group: string } & (Row extends { flag: null } ? unknown : { readonly flag: Flag });

/** Adds a heading to all rows, and the flags that derive from the names: `--cache-ram` for `cacheRamMiB`. */
export function inGroup<Rows extends UngroupedRows>(
  group: string,
  rows: Rows,
): { readonly [Name in keyof Rows]: Grouped<Rows[Name]> } {
  const grouped = Object.entries(rows).map(([name, row]) => [name, { flag: flagOf(name), ...row, group }]);
  return Object.fromEntries(grouped);
}

/** Units are no part of flags. */
function flagOf(name: string): string {
  const words = name.replace(/(MiB|Ms)$/, '').replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  return `--${words}`;
}

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

/** The type of an option's values. */
export type ValueOf<Row> =
  | ValueOfType<Row>
  | (Row extends { words: readonly (infer Word)[] } ? Word : never)
  | (Row extends { nullable: true } ? null : never);

export type OptionsOf<Rows> = { -readonly [Name in keyof Rows]?: ValueOf<Rows[Name]> };

export type CompleteOptionsOf<Rows> = {
  -readonly [Name in keyof Rows]: ValueOf<Rows[Name]> | (Rows[Name] extends { default: unknown } ? never : undefined);
};

export function isNullable(row: OptionRow): boolean {
  return 'nullable' in row && row.nullable === true;
}

/** Whether the option accepts a value. */
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

function isNumberFor({ type, min, max }: NumberRow, value: unknown): boolean {
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

/** llama.cpp stores shares in single precision. */
function isShare(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && Number.isFinite(Math.fround(value));
}

function haveSum(shares: readonly number[]): boolean {
  const sum = shares.reduce((all, share) => Math.fround(all + share), 0);
  return sum > 0 && Number.isFinite(sum);
}

/** Describes the accepted values, to follow "must be". `inText`: as written on a command line. */
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

/** The help, the accepted values and the default in one paragraph. */
export function described(row: OptionRow): string {
  const fallback = row.otherwise ?? String(('default' in row ? row.default : undefined) ?? 'none');
  const must = row.type === 'boolean' ? '' : ` Must be ${wanted(row).replace(` to ${MAX_COUNT}`, ' up')}.`;
  return `${row.help}.${must} Default: ${fallback}.`;
}

function wantedOfTexts({ says, maxLength }: Extract<OptionRow, { type: 'texts' }>): string {
  return says ?? `a text of 1 to ${maxLength} characters`;
}

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
