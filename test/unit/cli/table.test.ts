import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { textTable } from '../../../ts/cli/output/table.js';

const test = suite('cli: tables');

const ROWS = [
  ['MODEL', 'SIZE', 'PARAMETERS', 'CAN', 'FROM'],
  ['someone/a-model-with-a-long-name-GGUF:Q4_K_M', '21.0 GB', '405.0B', 'chat tools vision', 'LM Studio'],
  ['demo', '1.7 MB', '2M', 'chat', 'hub'],
];
const { COLUMNS } = process.env;
const { isTTY } = process.stdout;
test.after.each(() => setColumns(COLUMNS));

function setColumns(value: string | undefined): void {
  if (value === undefined) delete process.env.COLUMNS;
  else process.env.COLUMNS = value;
}

function linesAt(columns: number): string[] {
  setColumns(String(columns));
  return textTable(ROWS).split('\n');
}

test('a table of models fits into narrow terminals, with whole figures', () => {
  for (const columns of [40, 60, 80]) {
    const lines = linesAt(columns);
    for (const line of lines) assert.ok([...line].length <= columns, `${columns}: ${line}`);
    assert.match(lines[1] ?? '', /^some.*…\S* {2}21\.0 GB {2}405\.0B /);
    assert.match(lines[2] ?? '', /^demo .* 1\.7 MB +2M +chat/);
  }
});

test('only the name is shortened while that suffices', () => {
  assert.match(linesAt(75)[1] ?? '', /…\S+ {2}21\.0 GB {2}405\.0B +chat tools vision {2}LM Studio$/);
});

test('without a terminal names are whole', () => {
  setColumns(undefined);
  if (isTTY) return;
  assert.ok(textTable(ROWS).split('\n')[1]?.startsWith(`${ROWS[1]?.[0]}  21.0 GB`));
});

test('a heading alone is a table', () => {
  setColumns('40');
  assert.is(textTable([['MODEL', 'SIZE']]), 'MODEL  SIZE');
});

test.run();
