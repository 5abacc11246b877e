/** Tables for terminals. */

export const WIDTH = 80;

/** Shortens the first column if a line would exceed the terminal width. */
export function textTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [header, ...rows];
  const widths = header.map((_, column) => Math.max(...all.map((row) => [...(row[column] ?? '')].length)));
  const others = widths.slice(1).reduce((sum, width) => sum + width + 2, 0);
  const first = Math.min(widths[0] ?? 0, Math.max(20, WIDTH - others));
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
  return textTable(Object.keys(columns), rows);
}

/** Cuts the middle, because names differ at their beginning and end. */
export function shorten(text: string, width: number): string {
  const signs = [...text];
  if (signs.length <= width) return text;
  const end = Math.floor((width - 1) / 2);
  return `${signs.slice(0, width - 1 - end).join('')}…${signs.slice(signs.length - end).join('')}`;
}
