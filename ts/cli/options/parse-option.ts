/** Parses the text of a flag or environment variable to the value of an option. */
import { fits, inFlagUnit, isNullable, type OptionRow, wanted } from '../../options/option-row.js';

const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ['1', true],
  ['true', true],
  ['0', false],
  ['false', false],
]);

/** Returns `undefined` for an invalid text; `wantedText` describes the valid ones. */
export function parseOption(row: OptionRow, text: string): unknown {
  const value = toValue(row, text);
  return fits(row, value) ? value : undefined;
}

/** To follow "must be". */
export function wantedText(row: OptionRow): string {
  return wanted(row, { inText: true });
}

/** Returns `undefined` if the text is not a value of the row's type. */
function toValue(row: OptionRow, text: string): unknown {
  switch (row.type) {
    case 'boolean':
      return BOOLEANS.get(text);
    case 'integer':
    case 'number':
      return row.words?.includes(text) ? text : toNumber(row, text);
    case 'names':
      return text.split(/[,;]/);
    case 'shares':
      return text.split(',').map((share) => decimal(share));
    case 'paths':
    case 'texts':
      return [text];
    case 'path':
    case 'string':
      return isNullable(row) && text === 'none' ? null : text;
    case 'choice':
      return text;
  }
}

function toNumber(row: Extract<OptionRow, { type: 'integer' | 'number' }>, text: string): number | undefined {
  const { min, max } = inFlagUnit(row);
  const [sign, digits] = min < 0 && text.startsWith('-') ? [-1, text.slice(1)] : [1, text];
  const size = row.type === 'number' ? decimal(digits) : /^\d{1,15}$/.test(digits) ? Number(digits) : undefined;
  const number = size === undefined ? undefined : sign * size;
  if (number === undefined || number < min || number > max) return undefined;
  return number * (row.flagUnit?.size ?? 1);
}

/** Digits with or without a point; no sign, no exponent. */
function decimal(text: string): number | undefined {
  return /^(\d+\.?\d*|\.\d+)$/.test(text) ? Number(text) : undefined;
}
