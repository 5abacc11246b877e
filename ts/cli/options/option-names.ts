/** Maps option names to their flags. The layers below only know the names in the tables. */
import { LOAD_OPTIONS } from '../../options/load-option-table.js';
import type { OptionRow } from '../../options/option-row.js';
import { HOSTING_OPTIONS } from './hosting-option-table.js';

const ROWS: Readonly<Record<string, OptionRow>> = { ...HOSTING_OPTIONS, ...LOAD_OPTIONS };

/** The flag of each option that an error can name. */
export const OPTION_NAMES: Readonly<Record<string, string>> = {
  ...Object.fromEntries(Object.entries(ROWS).flatMap(([name, { flag }]) => (flag === null ? [] : [[name, flag]]))),
  imageHosts: HOSTING_OPTIONS.allowPrivateImageHosts.flag,
};

/** Replaces option names in backticks with flags: `contextSize` becomes --ctx-size. */
export function withFlags(text: string): string {
  return text.replace(
    /`([a-z]+)`/gi,
    (quoted, name) => (Object.hasOwn(OPTION_NAMES, name) ? OPTION_NAMES[name] : null) ?? quoted,
  );
}
