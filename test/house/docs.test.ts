// The pages for users name commands and options that exist, and the package contains them.
import type { Command } from 'commander';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { BENCH_OPTIONS } from '../../ts/cli/bench/option-table.ts';
import { HOSTING_OPTIONS } from '../../ts/cli/options/hosting-option-table.ts';
import { expandAliases } from '../../ts/cli/options/table-options.ts';
import { allCommands } from '../../ts/cli/program.ts';
import { LOAD_OPTIONS } from '../../ts/options/load-option-table.ts';
import { COMMANDS_PAGE, commandPage, leavesOf, nameOf } from './command-page.ts';
import { LIBRARY_PAGE, libraryPage } from './library-page.ts';
import { links } from './markdown.ts';
import { files, read } from './source-tree.ts';

const written = files('docs', /\.md$/).filter((page) => page !== COMMANDS_PAGE && page !== LIBRARY_PAGE);
const program = allCommands();
const leaves = leavesOf(program).sort((one, other) => nameOf(other).length - nameOf(one).length);

/** Commands in code blocks and code spans: `chasqui ls`, `npx chasqui serve --port 80`. */
function commandsIn(page: string): string[] {
  const text = read(page).replaceAll(/\\\n\s*/g, '');
  const blocks = [...text.matchAll(/```sh\n([\s\S]*?)```/g)].flatMap(([, block = '']) => block.split('\n'));
  const spans = [...text.matchAll(/`([^`\n]+)`/g)].map(([, span = '']) => span);
  return [...blocks, ...spans]
    .map((line) => line.replace(/\s#.*/, '').trim())
    .flatMap((line) => /(?:^|\s)(?:npx )?chasqui (.+)$/.exec(line)?.[1] ?? [])
    .filter((call) => /^[a-z]/.test(call));
}

/** With the aliases: `get` and `pull`. */
function namesOf(command: Command): string[] {
  return [command.name(), ...command.aliases()].map((name) => nameOf(command).replace(/\S+$/, name));
}

/** What is wrong with a call, or null. */
function problemOf(call: string): string | null {
  const command = leaves.find((each) => namesOf(each).some((name) => `${call} `.startsWith(`${name} `)));
  const isGroup = (each: Command) => each.name() === call;
  if (command === undefined) return program.commands.some(isGroup) ? null : `no command: ${call}`;
  const words = expandAliases(['', '', ...call.split(/\s+/)], {
    ...HOSTING_OPTIONS,
    ...LOAD_OPTIONS,
    ...BENCH_OPTIONS,
  });
  const flags = words.slice(2).filter((word) => /^--?[a-z]/.test(word) && word !== '--help');
  const known = command.options.flatMap(({ long, short }) => [long, short]);
  const unknown = flags.find((flag) => !known.includes(flag.replace(/=.*/, '')));
  return unknown === undefined ? null : `no option ${unknown}: ${call}`;
}

test('the commands in the pages exist, with their options', () => {
  const calls = ['README.md', ...written].flatMap((page) => commandsIn(page).map((call) => ({ page, call })));
  assert.ok(calls.length > 60);
  const wrong = calls.flatMap(({ page, call }) => (problemOf(call) === null ? [] : `${page}: ${problemOf(call)}`));
  assert.equal(wrong, []);
  assert.is(problemOf('serve --no-such-option'), 'no option --no-such-option: serve --no-such-option');
});

test(`${COMMANDS_PAGE} is the help of all commands: npx tsx test/house/command-page.ts writes it`, () => {
  assert.is(read(COMMANDS_PAGE), commandPage());
});

test(`${LIBRARY_PAGE} is that of the types: npx tsx test/house/library-page.ts writes it`, () => {
  const page = libraryPage();
  assert.is(read(LIBRARY_PAGE), page);
  assert.not.match(page, /^ {2}(private|readonly #|#)/m);
});

test('README.md leads to each page', () => {
  const linked = links(read('README.md'));
  assert.equal(
    [...written, COMMANDS_PAGE, LIBRARY_PAGE].filter((page) => !linked.includes(page)),
    [],
  );
});

test.run();
