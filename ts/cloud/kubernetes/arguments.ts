/** From options of `loadModel` to the arguments of `chasqui serve` that say the same. */
import { LOAD_OPTIONS } from '../../engine/load-option-table.js';
import type { LoadOptions } from '../../engine/load-options.js';
import type { OptionRow } from '../../engine/option-row.js';

/** @throws {TypeError} an option has no flag; scripts that name such an option are refused before */
export function toArguments(options: LoadOptions): string[] {
  const rows: Readonly<Record<string, OptionRow>> = LOAD_OPTIONS;
  return Object.entries(options).flatMap(([name, value]) => {
    const row = rows[name];
    if (row?.flag == null) throw new TypeError(`The option ${name} has no flag.`);
    if (row.type === 'boolean') return [value ? row.flag : row.flag.replace(/^--/, '--no-')];
    const isRepeated = row.type === 'paths' || row.type === 'texts';
    if (isRepeated) return (value as string[]).flatMap((each) => [row.flag as string, each]);
    return [row.flag, text(row, value)];
  });
}

function text(row: OptionRow, value: unknown): string {
  if (value === null) return 'none';
  if (Array.isArray(value)) return value.join(',');
  if (typeof value === 'number' && 'flagUnit' in row) return String(value / (row.flagUnit?.size ?? 1));
  return String(value);
}
