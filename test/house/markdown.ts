export interface Table {
  columns: string[];
  rows: Record<string, string>[];
}

/** The tables of a Markdown page; columns are in lower case. */
export function tables(markdown: string): Table[] {
  const found: Table[] = [];
  let current: Table | undefined;
  const lines = markdown.split('\n');
  lines.forEach((line, index) => {
    if (!line.trimStart().startsWith('|')) {
      current = undefined;
    } else if (!current && /^\s*\|[\s:|-]+\|\s*$/.test(lines[index + 1] ?? '')) {
      current = { columns: cells(line).map((cell) => cell.toLowerCase()), rows: [] };
      found.push(current);
    } else if (current && !/^\s*\|[\s:|-]+\|\s*$/.test(line)) {
      const values = cells(line);
      current.rows.push(Object.fromEntries(current.columns.map((column, at) => [column, values[at] ?? ''])));
    }
  });
  return found;
}

function cells(line: string): string[] {
  const parts = line.trim().split(/(?<!\\)\|/);
  return parts.slice(1, -1).map((cell) => cell.trim());
}

/** The table that has all these columns; a test without it would check nothing. */
export function tableWith(markdown: string, ...columns: string[]): Table {
  const table = tables(markdown).find((candidate) => columns.every((column) => candidate.columns.includes(column)));
  if (!table) throw new Error(`The page has no table with the columns ${columns.join(', ')}`);
  return table;
}

/** Terms of a cell: code spans and link texts. */
export function terms(cell: string): string[] {
  const named = [...cell.matchAll(/`([^`]+)`|\[([^\]`]+)\]\(/g)].map(([, code, link]) => (code ?? link) as string);
  return [...new Set(named)];
}

/** The links of a cell, with their texts. */
export function linkedTerms(cell: string): { text: string; link: string }[] {
  return [...cell.matchAll(/\[([^\]]+)\]\(([^)\s]+)\)/g)].map(([, text = '', link = '']) => ({ text, link }));
}

/** Anchors of the headings of a page, as GitHub generates them. */
export function anchors(markdown: string): string[] {
  const headings = [...markdown.matchAll(/^#+ (.*)$/gm)].map(([, heading]) => heading as string);
  return headings.map((heading) =>
    heading
      .toLowerCase()
      .replace(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );
}

export function links(markdown: string): string[] {
  const prose = markdown.replaceAll(/```[\s\S]*?```/g, '');
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link]) => link as string);
}
