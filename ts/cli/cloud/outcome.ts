/** Output of the cloud commands. */
import type { Command } from 'commander';
import { withExitCode } from '../errors/exit-codes.js';
import { explainFailure, isAboutScript } from '../errors/explain-failure.js';
import { toJson } from '../output/json.js';
import { CLOUD_OPTIONS } from './option-table.js';

/** Runs the action of a cloud command. Errors about options name the flags. */
export function ended(action: () => Promise<void>): Promise<void> {
  return withExitCode(action, (error) =>
    isAboutScript(error) ? explainFailure(error) : withCloudFlags(explainFailure(error)),
  );
}

export function printJson(value: unknown): void {
  console.log(toJson(value));
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
