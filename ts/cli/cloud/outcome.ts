/** Output of the cloud commands. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { withExitCode } from '../errors/exit-codes.js';
import { explainFailure, isAboutScript } from '../errors/explain-failure.js';
import { givenOptions } from '../options/table-options.js';
import { toJson } from '../output/json.js';
import { CLOUD_OPTIONS, FOLLOW_OPTION } from './option-table.js';

/** Runs the action of a cloud command. Errors about options name the flags. */
export function ended(action: () => Promise<void>): Promise<void> {
  return withExitCode(action, (error) =>
    isAboutScript(error) ? explainFailure(error) : withCloudFlags(explainFailure(error)),
  );
}

export function printJson(value: unknown): void {
  console.log(toJson(value));
}

export function print(json: boolean, value: unknown, text: string): void {
  if (json) printJson(value);
  else console.log(text);
}

/** Calls `read` once, or with `--follow` every `ms` milliseconds. */
export async function repeat(
  parsed: Readonly<Record<string, unknown>>,
  ms: number,
  read: (follow: boolean) => Promise<void>,
): Promise<void> {
  const { follow = false } = givenOptions(FOLLOW_OPTION, parsed, {});
  for (;;) {
    await read(follow);
    if (!follow) return;
    await sleep(ms);
  }
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
