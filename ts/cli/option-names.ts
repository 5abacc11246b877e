/** Options as the command line calls them. The floors below know them by their names in the tables only. */
import { LOAD_OPTIONS } from '../options/load-option-table.js';
import type { OptionRow } from '../options/option-row.js';
import { HOSTING_OPTIONS } from './hosting-option-table.js';

const ROWS: Readonly<Record<string, OptionRow>> = { ...HOSTING_OPTIONS, ...LOAD_OPTIONS };

/** The flag of each option that errors may name. */
export const OPTION_NAMES: Readonly<Record<string, string>> = {
  ...Object.fromEntries(Object.entries(ROWS).flatMap(([name, { flag }]) => (flag === null ? [] : [[name, flag]]))),
  imageHosts: HOSTING_OPTIONS.allowPrivateImageHosts.flag,
};

/** Puts flags in place of the names that a text has in backticks: --ctx-size for `contextSize`. */
export function withFlags(text: string): string {
  return text.replace(
    /`([a-z]+)`/gi,
    (quoted, name) => (Object.hasOwn(OPTION_NAMES, name) ? OPTION_NAMES[name] : null) ?? quoted,
  );
}
