/** Durations and sizes with their units, as scripts have them. */

const MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
const BYTES: Readonly<Record<string, number>> = { Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40 };

/** As many as fit into a timer of milliseconds. */
export const MAX_DURATION_MS = 2 ** 31 - 1;

/** Milliseconds; null: the text is no duration. */
export function readDuration(text: string): number | null {
  return read(text, MS, MAX_DURATION_MS);
}

/** Bytes; null: the text is no size. */
export function readSize(text: string): number | null {
  return read(text, BYTES, Number.MAX_SAFE_INTEGER);
}

function read(text: string, units: Readonly<Record<string, number>>, max: number): number | null {
  const [, digits = '', unit = ''] = /^(\d{1,12}(?:\.\d{1,6})?)([A-Za-z]{1,2})$/.exec(text) ?? [];
  const size = units[unit];
  const value = size === undefined ? Number.NaN : Math.round(Number(digits) * size);
  return value <= max ? value : null;
}
