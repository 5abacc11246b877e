/** Options from environment variables: each flag has one, `CHASQUI_CTX_SIZE` for `--ctx-size`. */

import { invalidOptions } from '../../errors.js';
import type { OptionRow, OptionRows, OptionsOf } from '../../options/option-row.js';
import { parseOption, wantedText } from './parse-option.js';

/** Returns `null` for options of the library alone. */
export function variableOf({ flag, variable }: OptionRow): string | null {
  if (flag === null) return null;
  return variable ?? `CHASQUI_${flag.slice(2).replaceAll('-', '_').toUpperCase()}`;
}

/**
 * Returns the options set in the environment but not in `given`, the command line. An empty variable counts as unset.
 * @throws {ChasquiError} `invalid_options`, with the variable's name
 */
export function optionsOfEnvironment<Rows extends OptionRows>(
  rows: Rows,
  given: OptionsOf<Rows>,
  environment: NodeJS.ProcessEnv,
): OptionsOf<Rows> {
  const byFlag: Readonly<Record<string, unknown>> = given;
  const options: Record<string, unknown> = {};
  for (const [name, row] of Object.entries(rows)) {
    const variable = variableOf(row);
    const text = variable === null ? undefined : environment[variable];
    if (variable === null || !text || text === row.unset || row.foreign?.test(text)) continue;
    if (byFlag[name] !== undefined || row.excludes?.some((other) => byFlag[other] !== undefined)) continue;
    options[name] = parseVariable(variable, row, text);
  }
  refuseExclusive(rows, options);
  return options as OptionsOf<Rows>;
}

function refuseExclusive(rows: OptionRows, options: Readonly<Record<string, unknown>>): void {
  for (const [name, row] of Object.entries(rows)) {
    const other = row.excludes?.find((each) => options[each] !== undefined);
    if (options[name] === undefined || other === undefined) continue;
    const variables = [row, rows[other]].map((each) => each && variableOf(each)).join(' and ');
    throw invalidOptions(`The environment variables ${variables} exclude each other: set one.`);
  }
}

function parseVariable(variable: string, row: OptionRow, text: string): unknown {
  const value = parseOption(row, text);
  if (value !== undefined) return value;
  const shown = text.length > 100 ? `${text.slice(0, 100)}...` : text;
  throw invalidOptions(`The environment variable ${variable} is '${shown}', but must be ${wantedText(row)}.`);
}
