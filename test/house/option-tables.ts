// The tables of ts/cli/README.md, made from the rows of the options. `npx tsx test/house/option-tables.ts` writes them anew.
import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { variableOf } from '../../ts/cli/environment.ts';
import { HOSTING_OPTIONS } from '../../ts/cli/hosting-option-table.ts';
import { withFlags } from '../../ts/cli/option-names.ts';
import { wantedText } from '../../ts/cli/parse-option.ts';
import { defaultText } from '../../ts/cli/table-options.ts';
import { LOAD_OPTIONS } from '../../ts/engine/load-option-table.ts';
import type { OptionRow } from '../../ts/engine/option-row.ts';
import { read, root } from './source-tree.ts';

export const PAGE = 'ts/cli/README.md';
const BEGIN = '<!-- The tables below are made by test/house/option-tables.ts. -->\n';
const HEADINGS = ['flag', 'variable', 'in `loadModel`', 'takes', 'default', 'meaning'];

/** Returns the page with its tables replaced by those of the option rows. */
export function pageWithTables(): string {
  const [before] = read(PAGE).split(BEGIN);
  return `${before}${BEGIN}\n${optionTables()}`;
}

function optionTables(): string {
  const rows: [name: string, row: OptionRow][] = [...Object.entries(HOSTING_OPTIONS), ...Object.entries(LOAD_OPTIONS)];
  const groups = [...new Set(rows.map(([, { group }]) => group))];
  return groups
    .map((group) => {
      const lines = rows.filter(([, row]) => row.group === group).map(([name, row]) => toLine(cells(name, row)));
      return [`## ${group}`, '', toLine(HEADINGS), toLine(HEADINGS.map(() => '---')), ...lines, ''].join('\n');
    })
    .join('\n');
}

function cells(name: string, row: OptionRow): string[] {
  const { flag, short, aliases = [] } = row;
  const names = [flag, short, ...aliases].filter((each) => each !== null && each !== undefined);
  const variable = variableOf(row);
  return [
    names.map((each) => `\`${each}\``).join(', '),
    variable === null ? '' : `\`${variable}\``,
    name in LOAD_OPTIONS ? `\`${name}\`` : '',
    prose(wantedText(row)),
    prose(defaultText(row)),
    prose(row.help),
  ];
}

/** Text as Markdown shows it; flags in code spans. */
function prose(text: string): string {
  const escaped = withFlags(text).replaceAll(/[|<*]/g, (character) => `\\${character}`);
  return escaped.replaceAll(/(?<![\w-])--[a-z][a-z-]*/g, (flag) => `\`${flag}\``);
}

function toLine(texts: readonly string[]): string {
  return `| ${texts.join(' | ')} |`;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  fs.writeFileSync(path.join(root, PAGE), pageWithTables());
}
