/** Tables for terminals. */
import { printable } from './log-output.js';

/** Columns of a terminal; unlimited if the output is not a terminal, unless the variable COLUMNS is set. */
export function widthOf(stream: NodeJS.WriteStream): number {
  const columns = Number(process.env.COLUMNS ?? stream.columns);
  return columns > 0 ? columns : Number.POSITIVE_INFINITY;
}

/**
 * Aligns columns. Shortens the first one if a line would exceed the width of standard output, to 20 characters at least.
 * Replaces control characters, because names and messages come from others.
 */
export function textTable(rows: readonly (readonly string[])[]): string {
  const all = rows.map((row) => row.map(printable));
  const widths = (all[0] ?? []).map((_, column) => Math.max(...all.map((row) => [...(row[column] ?? '')].length)));
  const others = widths.slice(1).reduce((sum, width) => sum + width + 2, 0);
  const first = Math.min(widths[0] ?? 0, Math.max(20, widthOf(process.stdout) - others));
  return all
    .map(([name = '', ...cells]) => {
      const rest = cells.map((cell, column) => cell.padEnd(widths[column + 1] ?? 0));
      return [shorten(name, first).padEnd(first), ...rest].join('  ').trimEnd();
    })
    .join('\n');
}

/** Maps each column heading to the cell of a row. */
export type Columns<Row> = Readonly<Record<string, (row: Row) => string | number | undefined>>;

export function toTable<Row>(columns: Columns<Row>, shown: readonly Row[]): string {
  const rows = shown.map((row) => Object.values(columns).map((cell) => `${cell(row) ?? '-'}`));
  return textTable([Object.keys(columns), ...rows]);
}

/** Cuts the middle, because names differ at their beginning and end. */
export function shorten(text: string, width: number): string {
  const signs = [...text];
  if (signs.length <= width) return text;
  const end = Math.floor((width - 1) / 2);
  return `${signs.slice(0, width - 1 - end).join('')}…${signs.slice(signs.length - end).join('')}`;
}
