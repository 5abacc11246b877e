/** Finds misspelt `CHASQUI_*` variables in the environment. */
import { LOAD_OPTIONS } from '../../options/load-option-table.js';
import type { OptionRow } from '../../options/option-row.js';
import { BENCH_OPTIONS } from '../bench/option-table.js';
import { CLOUD_START_OPTIONS } from '../cloud/option-table.js';
import { nearestNames } from '../errors/nearest-names.js';
import { DESKTOP_OPTIONS } from './desktop-option-table.js';
import { variableOf } from './environment.js';
import { HOSTING_OPTIONS } from './hosting-option-table.js';

const PREFIX = 'CHASQUI_';
const TABLES = [LOAD_OPTIONS, HOSTING_OPTIONS, DESKTOP_OPTIONS, BENCH_OPTIONS, CLOUD_START_OPTIONS];
const ROWS = TABLES.flatMap((rows): OptionRow[] => Object.values(rows));
const OTHERS = ['API_KEY', 'BACKGROUND_LOG', 'DEBUG', 'LLAMA_DIR', 'MODULES', 'OIDC_SECRET', 'SMTP_PASSWORD'].map(
  (name) => PREFIX + name,
);

/** Ignores unknown variables that resemble no known one: other programs may use them. */
export function warnOfMisspelt(environment: NodeJS.ProcessEnv): void {
  const known = [...ROWS.flatMap((row) => variableOf(row) ?? []), ...OTHERS];
  for (const variable of Object.keys(environment)) {
    if (!variable.startsWith(PREFIX) || known.includes(variable)) continue;
    const [nearest] = nearestNames(toFlag(variable), known.map(toFlag));
    if (nearest !== undefined)
      console.error(
        `chasqui: unknown variable ${variable}; did you mean ${known.find((name) => toFlag(name) === nearest)}?`,
      );
  }
}

/** `nearestNames` compares parts of names between dashes. */
function toFlag(variable: string): string {
  return variable.slice(PREFIX.length).replaceAll('_', '-');
}
