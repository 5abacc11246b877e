// Arguments mean what the options meant: the command line reads them back.
import { Command } from 'commander';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { addTableOptions, givenOptions } from '../../../../ts/cli/table-options.js';
import { toArguments } from '../../../../ts/cloud/kubernetes/arguments.js';
import { LOAD_OPTIONS } from '../../../../ts/engine/load-option-table.js';
import type { LoadOptions } from '../../../../ts/engine/load-options.js';

const test = suite('arguments of a pod');

function readBack(args: string[]): unknown {
  const command = addTableOptions(new Command('serve'), LOAD_OPTIONS).exitOverride();
  return givenOptions(LOAD_OPTIONS, command.parse(args, { from: 'user' }).opts(), {});
}

/** A value of each type that the table has, none of them a default. */
function someValue(name: string): unknown {
  const row = LOAD_OPTIONS[name as keyof typeof LOAD_OPTIONS] as never as Record<string, unknown>;
  switch (row.type) {
    case 'boolean':
      return !row.default;
    case 'integer':
    case 'number':
      return ((row.flagUnit as { size: number } | undefined)?.size ?? 1) * Math.max(1, Number(row.min));
    case 'choice':
      return (row.choices as string[]).at(-1);
    case 'names':
      return ['first', 'second'];
    case 'paths':
      return ['/one.gguf', '/two.gguf'];
    case 'texts':
      return textsFor(row.pattern as RegExp | undefined);
    case 'shares':
      return [1, 2.5];
    default:
      return '/a/path';
  }
}

const textsFor = (pattern = /./) => ['key=int:1', 'exps=CPU', ', '].filter((text) => pattern.test(text));

test('every option that has a flag is read back as it was', () => {
  const named = Object.entries(LOAD_OPTIONS).filter(([, row]) => row.flag !== null && !('each' in row));
  assert.ok(named.length > 20);
  for (const [name] of named) {
    const options = { [name]: someValue(name) } as LoadOptions;
    assert.equal(readBack(toArguments(options)), options, name);
  }
});

test('what is switched off is said', () => {
  assert.equal(readBack(toArguments({ mmproj: null })), { mmproj: null });
});

test('an option without a flag is refused', () => {
  assert.throws(() => toArguments({ nothing: 1 } as LoadOptions), /no flag/);
});

test.run();
