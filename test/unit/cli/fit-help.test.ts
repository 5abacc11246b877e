import type { Command } from 'commander';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { firstSteps } from '../../../ts/cli/first-steps.js';
import { helpWidth } from '../../../ts/cli/output/fit-help.js';
import { allCommands } from '../../../ts/cli/program.js';
import { runCli } from '../../support/child.js';

const test = suite('unit: help in narrow terminals');
const { COLUMNS } = process.env;

test.after(() => setColumns(COLUMNS));

function setColumns(value: string | undefined): void {
  if (value === undefined) delete process.env.COLUMNS;
  else process.env.COLUMNS = value;
}

function commandsOf(command: Command): Command[] {
  return [command, ...command.commands.flatMap(commandsOf)];
}

/** Wrapped when the help is written. */
function isHeading(line: string): boolean {
  return /^\S.*:$/.test(line);
}

/** Lines of more than one word that are too long. */
function longLines(text: string, width: number): string[] {
  return text.split('\n').filter((line) => [...line].length > width && /\S\s+\S/.test(line) && !isHeading(line));
}

for (const width of [40, 60, 80, 120]) {
  test(`the help of all commands fits ${width} columns`, () => {
    setColumns(String(width));
    const all = commandsOf(allCommands());
    assert.ok(all.length > 40);
    for (const command of all) assert.equal(longLines(command.helpInformation(), width), [], command.name());
    assert.equal(longLines(firstSteps('0.1.0', 'npx chasqui'), width), []);
  });
}

test('without a terminal and COLUMNS the help has 80 columns', () => {
  setColumns(undefined);
  assert.is(helpWidth({ columns: undefined } as unknown as NodeJS.WriteStream), 80);
  assert.is(helpWidth({ columns: 50 } as NodeJS.WriteStream), 50);
});

test('the texts after the options fit, too', async () => {
  for (const command of [['serve'], ['chat'], ['get'], ['keys', 'create']]) {
    const { stdout } = await runCli([...command, '--help'], { COLUMNS: '40' });
    assert.equal(longLines(stdout, 40), []);
  }
});

test.run();
