/** Exit codes of the commands. */
import { CommanderError } from 'commander';
import { ChasquiError, type ErrorCode } from '../../errors.js';
import { explainFailure } from './explain-failure.js';

/** Exit codes of all commands, documented in ts/cli/README.md. */
export const EXIT = { failed: 1, usage: 2, unreachable: 3, notReady: 4, notFound: 5, interrupted: 130 } as const;

/** A failure with an explicit exit code. */
export class CommandFailed extends Error {
  constructor(
    readonly exitCode: number,
    message: string,
  ) {
    super(message);
  }
}

const USAGE: readonly ErrorCode[] = [
  'script_invalid',
  'invalid_value',
  'invalid_type',
  'invalid_options',
  'invalid_model_name',
  'deployment_refused',
];
const UNREACHABLE: readonly ErrorCode[] = ['invalid_api_key', 'permission_denied', 'hub_unreachable', 'cluster_failed'];
const NOT_FOUND: readonly ErrorCode[] = [
  'app_not_found',
  'hub_model_not_found',
  'key_not_found',
  'local_model_not_found',
  'model_not_found',
  'quantisation_not_found',
  'response_not_found',
];

/**
 * Runs a command. An error becomes one line on standard error and an exit code.
 * @param explain returns the message of errors other than `CommandFailed`
 */
export async function withExitCode(
  action: () => Promise<void>,
  explain: (error: unknown) => string = explainFailure,
): Promise<void> {
  try {
    await action();
  } catch (error) {
    if (error instanceof CommanderError) throw error;
    console.error(`chasqui: ${error instanceof CommandFailed ? error.message : explain(error)}`);
    process.exitCode = exitCodeOf(error);
  }
}

export function exitCodeOf(error: unknown): number {
  if (error instanceof CommandFailed) return error.exitCode;
  if (!(error instanceof ChasquiError)) return EXIT.failed;
  if (USAGE.includes(error.code)) return EXIT.usage;
  if (UNREACHABLE.includes(error.code)) return EXIT.unreachable;
  return NOT_FOUND.includes(error.code) ? EXIT.notFound : EXIT.failed;
}
