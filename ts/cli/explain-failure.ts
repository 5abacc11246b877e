/** Why a command failed, in one line that says what to do. */
import { ChasquiError } from '../errors.js';
import { withFlags } from './option-names.js';

/** Where a command would listen. */
interface ListenPlace {
  host?: string;
  port?: number;
  /** What chooses another port. */
  portFlag?: string;
}

export function explainFailure(error: unknown, place: ListenPlace = {}): string {
  // What a script says has the names that scripts have for it.
  if (isAboutScript(error)) return toOneLine(error.message);
  if (error instanceof ChasquiError) return toOneLine(withFlags(error.message));
  if (!(error instanceof Error)) return toOneLine(String(error));
  return (
    ofListening(error, place) ??
    ofFile(error) ??
    toOneLine(process.env.CHASQUI_DEBUG ? (error.stack ?? error.message) : unexpected(error))
  );
}

function ofListening(
  { code, syscall }: NodeJS.ErrnoException,
  { host, port, portFlag = '--port' }: ListenPlace,
): string | undefined {
  if (host === undefined) return undefined;
  if (syscall === 'listen' && code === 'EADDRINUSE')
    return `port ${port} at ${host} is in use; stop what uses it, or choose another with ${portFlag}`;
  if (syscall === 'listen' && code === 'EACCES')
    return `port ${port} may not be used by this account; choose one above 1023 with ${portFlag}`;
  if (['EADDRNOTAVAIL', 'ENOTFOUND', 'EAI_AGAIN'].includes(code ?? ''))
    return `${host} is not an address of this machine; choose one with --host, such as 127.0.0.1 or 0.0.0.0`;
  return undefined;
}

function ofFile({ code, path }: NodeJS.ErrnoException): string | undefined {
  if (path === undefined || !['EACCES', 'EPERM', 'EROFS'].includes(code ?? '')) return undefined;
  return `${path} may not be used by this account; give it that right, or choose another place`;
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
