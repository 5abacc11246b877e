// docs/commands.md, generated from the help of the command line: npx tsx test/house/command-page.ts
import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Command } from 'commander';
import { allCommands } from '../../ts/cli/program.ts';
import { root } from './source-tree.ts';

export const COMMANDS_PAGE = 'docs/commands.md';
const WIDTH = 100;
/** Commands with more options than this have a page for them. */
const MAX_OPTIONS = 40;
const OPTIONS_PAGE = '../ts/cli/README.md';

export function commandPage(): string {
  const sections = leavesOf(allCommands()).map(sectionOf);
  return `# Commands\n\nGenerated from \`chasqui help\`: \`npx tsx test/house/command-page.ts\`.\n\n${sections.join('\n')}`;
}

/** Commands without commands of their own, such as `keys create`. */
export function leavesOf(command: Command): Command[] {
  return command.commands.length === 0 ? [command] : command.commands.flatMap(leavesOf);
}

/** The words that call the command, without `chasqui`. */
export function nameOf(command: Command): string {
  const { parent } = command;
  return parent?.parent ? `${nameOf(parent)} ${command.name()}` : command.name();
}

function sectionOf(command: Command): string {
  command.configureOutput({ getOutHelpWidth: () => WIDTH });
  command.configureHelp({ ...command.configureHelp(), helpWidth: WIDTH });
  const help = command.helpInformation().trimEnd();
  const isLong = command.options.length > MAX_OPTIONS;
  const [usage = '', description = ''] = help.split('\n\n');
  const text = isLong ? `${usage}\n\n${description}` : help;
  const more = isLong ? `\n[Options](${OPTIONS_PAGE}), or \`chasqui ${nameOf(command)} --help\`.\n` : '';
  return `## ${nameOf(command)}\n\n\`\`\`text\n${text}\n\`\`\`\n${more}`;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  fs.writeFileSync(path.join(root, COMMANDS_PAGE), commandPage());
}
