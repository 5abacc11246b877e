/** Until when a key is good that ends on a date. */

/** The last second of a date such as 2030-12-31, in Greenwich, in Unix seconds; NaN for what is no day of the calendar. */
export function endOfDate(date: string): number {
  const at = Date.parse(`${date}T23:59:59Z`);
  // JavaScript takes the 30th of February for a day of March.
  const isDay = !Number.isNaN(at) && new Date(at).toISOString().startsWith(`${date}T`);
  return isDay ? Math.floor(at / 1000) : Number.NaN;
}
