/** Why a command failed, in one line that says what to do. */
import { ChasquiError } from '../errors.js';
import { withFlags } from './option-names.js';

export function explainFailure(error: unknown, { host, port }: { host?: string; port?: number } = {}): string {
  // What a script says has the names that scripts have for it.
  if (isAboutScript(error)) return toOneLine(error.message);
  if (error instanceof ChasquiError) return toOneLine(withFlags(error.message));
  if (!(error instanceof Error)) return toOneLine(String(error));
  switch ((error as NodeJS.ErrnoException).code) {
    case 'EADDRINUSE':
      return `port ${port} at ${host} is in use; stop what uses it, or choose another with --port`;
    case 'EACCES':
      return `port ${port} may not be used by this account; choose one above 1023 with --port`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `${host} is not an address of this machine; choose one with --host, such as 127.0.0.1 or 0.0.0.0`;
    default:
      return toOneLine(process.env.CHASQUI_DEBUG ? (error.stack ?? error.message) : unexpected(error));
  }
}

export function isAboutScript(error: unknown): error is ChasquiError {
  return error instanceof ChasquiError && error.code === 'script_invalid';
}

function unexpected(error: Error): string {
  return `it failed: ${error.message} (CHASQUI_DEBUG=1 shows where it failed)`;
}

function toOneLine(text: string): string {
  return process.env.CHASQUI_DEBUG ? text : text.replace(/\s*\n\s*/g, ' ');
}
