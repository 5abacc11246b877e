// The documented options equal the option tables, and code below the command line does not know flags.
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { BENCH_OPTIONS } from '../../ts/cli/bench/option-table.ts';
import { CLOUD_OPTIONS } from '../../ts/cli/cloud/option-table.ts';
import { DESKTOP_OPTIONS } from '../../ts/cli/options/desktop-option-table.ts';
import { HOSTING_OPTIONS } from '../../ts/cli/options/hosting-option-table.ts';
import { CREATE_OPTIONS } from '../../ts/cli/options/key-options.ts';
import { LOAD_OPTIONS } from '../../ts/options/load-option-table.ts';
import type { OptionRow, OptionRows } from '../../ts/options/option-row.ts';
import { files, offences, read } from './source-tree.ts';
import { generatedFiles } from './tables.ts';

const tables: OptionRows[] = [
  ...[HOSTING_OPTIONS, LOAD_OPTIONS, DESKTOP_OPTIONS],
  ...[CLOUD_OPTIONS, CREATE_OPTIONS, BENCH_OPTIONS],
];
const rows: OptionRow[] = tables.flatMap((table) => Object.values(table));
const flags = new Set<string>(
  rows.flatMap(({ flag, aliases = [], type }) => {
    const names = [...(flag ? [flag] : []), ...aliases];
    return type === 'boolean' ? [...names, ...names.map((name) => name.replace('--', '--no-'))] : names;
  }),
);
/** Of other commands, and of Node. */
const others = ['--help', '--import'];

for (const [file, text] of generatedFiles()) {
  test(`${file} matches the tables of the code: npx tsx test/house/tables.ts writes it`, () => {
    assert.is(read(file), text);
  });
}

const pages = ['README.md', ...files('ts', /\/README\.md$/)];

test('the pages name only flags that there are, by their present names', () => {
  const named = pages.flatMap((page) => [...read(page).matchAll(/(?<![\w-])--[a-z][a-z-]+/g)].map(([flag]) => flag));
  assert.ok(pages.length > 5 && new Set(named).size > 30);
  assert.equal(
    [...new Set(named)].filter((flag) => !flags.has(flag) && !others.includes(flag)),
    [],
  );
});

const FLAG = /(?<![\w-])--[a-z][a-z-]*/;
/** Files that start other programs, with the flags of those; pods are started by a command line, too. */
const starters = /^ts\/(desktop\/(window|awake)\.ts|cloud\/(kubernetes|runners)\/)/;
const lower = files('ts', /\.ts$/).filter((file) => !/^ts\/(cli[/.]|options\/)/.test(file) && !starters.test(file));
const native = files('native', /\.(h|cpp)$/);

/** How a script's memory is limited. */
const NODE_FLAG = '--max-old-space-size=';

/** Exceptions: hints to run a command, and Node's own flags. */
function mayNameFlags(line: string): boolean {
  return line.includes('ownCall()') || line.includes(NODE_FLAG);
}

function namesFlag(line: string): boolean {
  const code = line.replace(/^\s*(\/\/|\*|\/\*).*/, '');
  const texts = code.match(/"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`?/g) ?? [];
  return texts.some((text) => FLAG.test(text)) && !mayNameFlags(line);
}

test('options go by their names below the command line, not by their flags', () => {
  assert.ok(lower.length > 50 && native.length > 50);
  assert.equal(
    offences(lower, (line) => namesFlag(line)),
    [],
  );
  const inText = (line: string) => (line.match(/"(?:[^"\\]|\\.)*"/g) ?? []).some((text) => FLAG.test(text));
  assert.equal(offences(native, inText), []);
});

test.run();
