/** Formats rows in columns. */

/** Maps each column heading to the cell text of a row. */
export type Columns<Row> = Readonly<Record<string, (row: Row) => string | number | undefined>>;

export function toTable<Row>(columns: Columns<Row>, shown: readonly Row[]): string {
  const rows = [
    Object.keys(columns),
    ...shown.map((row) => Object.values(columns).map((cell) => `${cell(row) ?? '-'}`)),
  ];
  const widths = Object.keys(columns).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] as number))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
