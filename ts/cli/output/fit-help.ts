/** Help in the width of the terminal, narrow ones included, or of the variable COLUMNS. */
import { type Command, Help } from 'commander';
import { widthOf } from './table.js';

const DEFAULT_WIDTH = 80;
/** A narrower description follows its term on lines of its own. */
const MIN_DESCRIPTION = 24;
const USAGE = 'Usage: '.length;
const INDENT = 6;

export function fitHelp(command: Command): Command {
  command
    .configureOutput({
      getOutHelpWidth: () => helpWidth(process.stdout),
      getErrHelpWidth: () => helpWidth(process.stderr),
      // Texts after the options have lines of up to 80 columns.
      writeOut: (text) => void process.stdout.write(helpOf(0).boxWrap(text, helpWidth(process.stdout))),
    })
    .configureHelp({ minWidthToWrap: MIN_DESCRIPTION, commandUsage, formatItem });
  for (const each of command.commands) fitHelp(each);
  return command;
}

/** Formats terms and paragraphs like the help of a command. */
export function helpOf(width: number): Help {
  return Object.assign(new Help(), { helpWidth: width, minWidthToWrap: MIN_DESCRIPTION, formatItem });
}

export function helpWidth(stream: NodeJS.WriteStream): number {
  const width = widthOf(stream);
  return Number.isFinite(width) ? Math.max(width, MIN_DESCRIPTION + INDENT) : DEFAULT_WIDTH;
}

function commandUsage(this: Help, command: Command): string {
  const usage = Help.prototype.commandUsage.call(this, command);
  return indented(this.boxWrap(usage, (this.helpWidth ?? DEFAULT_WIDTH) - USAGE), USAGE);
}

function formatItem(this: Help, term: string, termWidth: number, description: string, helper: Help): string {
  const width = this.helpWidth ?? DEFAULT_WIDTH;
  if (!description || width - termWidth - 4 >= MIN_DESCRIPTION) {
    return Help.prototype.formatItem.call(this, term, termWidth, description, helper);
  }
  return indented(`  ${term}\n${helper.boxWrap(description, width - INDENT)}`, INDENT);
}

function indented(text: string, by: number): string {
  return text.replaceAll('\n', `\n${' '.repeat(by)}`);
}
