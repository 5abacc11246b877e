/** Tables for terminals. */
import { printable } from './log-output.js';

/** Columns of a terminal; unlimited if the output is not a terminal, unless the variable COLUMNS is set. */
export function widthOf(stream: NodeJS.WriteStream): number {
  const columns = Number(process.env.COLUMNS ?? stream.columns);
  return columns > 0 ? columns : Number.POSITIVE_INFINITY;
}

/** Minimum width of a shortened first column while others can be shortened, of one after that, and of others. */
const FIRST_WIDTH = 20;
const LAST_RESORT = 8;
const TEXT_WIDTH = 5;
const GAP = 2;

/**
 * Aligns columns. If a line would exceed the width of standard output, shortens the first column, then the widest of the
 * others. Figures stay whole. Replaces control characters, because names and messages come from others.
 */
export function textTable(rows: readonly (readonly string[])[]): string {
  const all = rows.map((row) => row.map(printable));
  const widths = fitWidths(all, widthOf(process.stdout));
  return all
    .map((row) =>
      row
        .map((cell, column) => shorten(cell, widths[column] ?? 0).padEnd(widths[column] ?? 0))
        .join(' '.repeat(GAP))
        .trimEnd(),
    )
    .join('\n');
}

function fitWidths(rows: readonly (readonly string[])[], available: number): number[] {
  const cellsOf = (column: number) => rows.map((row) => row[column] ?? '');
  const widths = (rows[0] ?? []).map((_, column) => widest(cellsOf(column)));
  const least = widths.map((width, column) => {
    const cells = cellsOf(column).slice(1);
    return Math.min(width, cells.every((cell) => /^[\d-]/.test(cell)) ? Math.max(1, widest(cells)) : TEXT_WIDTH);
  });
  const excess = () => widths.reduce((sum, width) => sum + width + GAP, -GAP) - available;
  const narrow = (column: number, to: number) => {
    const width = widths[column] ?? 0;
    widths[column] = Math.min(width, Math.max(to, width - excess()));
  };
  narrow(0, FIRST_WIDTH);
  while (excess() > 0) {
    const spare = widths.flatMap((width, column) => (column > 0 && width > (least[column] ?? 0) ? [column] : []));
    if (spare.length === 0) break;
    const column = spare.reduce((one, other) => ((widths[other] ?? 0) > (widths[one] ?? 0) ? other : one));
    widths[column] = (widths[column] ?? 0) - 1;
  }
  if (excess() > 0) narrow(0, LAST_RESORT);
  return widths;
}

function widest(cells: readonly string[]): number {
  return Math.max(0, ...cells.map((cell) => [...cell].length));
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
