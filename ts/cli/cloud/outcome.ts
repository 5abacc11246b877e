/** Output and exit codes of the cloud commands. */
import { type Command, CommanderError } from 'commander';
import { ChasquiError, type ErrorCode } from '../../errors.js';
import { explainFailure, isAboutScript } from '../errors/explain-failure.js';
import { CLOUD_OPTIONS } from './option-table.js';

/** Exit codes, documented in ts/cloud/README.md. */
export const EXIT = { failed: 1, refused: 2, noCloud: 3, notReady: 4, notFound: 5 } as const;

/** A failure with an explicit exit code. */
export class CommandFailed extends Error {
  constructor(
    readonly exitCode: number,
    message: string,
  ) {
    super(message);
  }
}

const REFUSED: readonly ErrorCode[] = ['script_invalid', 'invalid_value', 'invalid_type', 'invalid_options'];

/** Runs `action`. Errors become a line on standard error and an exit code. */
export async function ended(action: () => Promise<void>): Promise<void> {
  try {
    await action();
  } catch (error) {
    if (error instanceof CommanderError) throw error;
    const message = error instanceof CommandFailed ? error.message : explainFailure(error);
    console.error(`chasqui: ${isAboutScript(error) ? message : withCloudFlags(message)}`);
    process.exitCode = exitCodeOf(error);
  }
}

export function printJson(value: unknown): void {
  // JSON.stringify does not escape C1 control characters, which some terminals interpret.
  const escaped = (character: string) => `\\u00${character.charCodeAt(0).toString(16)}`;
  console.log(JSON.stringify(value).replaceAll(/[\u007f-\u009f]/g, escaped));
}

/** Aligns columns under their headings; the last one is not padded. */
export function toTable(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  const lines = rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '));
  return lines.map((line) => line.trimEnd()).join('\n');
}

export function toDate(milliseconds: number): string {
  return new Date(milliseconds).toISOString().slice(0, 19).replace('T', ' ');
}

export function withHelp(command: Command): Command {
  return command.helpOption('-h, --help', 'Show help');
}

function exitCodeOf(error: unknown): number {
  if (error instanceof CommandFailed) return error.exitCode;
  if (!(error instanceof ChasquiError)) return EXIT.failed;
  if (error.code === 'app_not_found') return EXIT.notFound;
  if (error.code === 'invalid_api_key' || error.code === 'permission_denied') return EXIT.noCloud;
  return REFUSED.includes(error.code) || error.code === 'deployment_refused' ? EXIT.refused : EXIT.failed;
}

function withCloudFlags(text: string): string {
  return text.replace(/`([a-z]+)`/gi, (quoted, name) => CLOUD_OPTIONS[name]?.flag ?? quoted);
}
