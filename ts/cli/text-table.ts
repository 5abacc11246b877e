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

/** Cuts the middle, because names differ at their beginning and end. */
export function shorten(text: string, width: number): string {
  const signs = [...text];
  if (signs.length <= width) return text;
  const end = Math.floor((width - 1) / 2);
  return `${signs.slice(0, width - 1 - end).join('')}…${signs.slice(signs.length - end).join('')}`;
}

/** Such as `8.0B`. */
export function inBillions(parameters: number | null): string {
  if (parameters === null) return '-';
  return parameters >= 1e9 ? `${(parameters / 1e9).toFixed(1)}B` : `${Math.round(parameters / 1e6)}M`;
}

/** Such as `1.2M`. */
export function inThousands(count: number): string {
  if (count >= 999_500) return `${(count / 1e6).toFixed(1)}M`;
  return count >= 1000 ? `${Math.round(count / 1000)}k` : String(count);
}
