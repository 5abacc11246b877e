/** Output of the cloud commands. */
import type { Command } from 'commander';
import { withExitCode } from '../errors/exit-codes.js';
import { explainFailure, isAboutScript } from '../errors/explain-failure.js';
import { CLOUD_OPTIONS } from './option-table.js';

/** Runs the action of a cloud command. Errors about options name the flags. */
export function ended(action: () => Promise<void>): Promise<void> {
  return withExitCode(action, (error) =>
    isAboutScript(error) ? explainFailure(error) : withCloudFlags(explainFailure(error)),
  );
}

export function printJson(value: unknown): void {
  // JSON.stringify does not escape C1 control characters, which some terminals interpret.
  const escaped = (character: string) => `\\u00${character.charCodeAt(0).toString(16)}`;
  console.log(JSON.stringify(value).replaceAll(/[\u007f-\u009f]/g, escaped));
}

export function toDate(milliseconds: number): string {
  return new Date(milliseconds).toISOString().slice(0, 19).replace('T', ' ');
}

export function withHelp(command: Command): Command {
  return command.helpOption('-h, --help', 'Show help');
}

function withCloudFlags(text: string): string {
  return text.replace(/`([a-z]+)`/gi, (quoted, name) => CLOUD_OPTIONS[name]?.flag ?? quoted);
}
