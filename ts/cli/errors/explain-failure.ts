/** Explains the failure of a command, with a remedy, in one line. */
import { ChasquiError } from '../../errors.js';
import { withFlags } from '../options/option-names.js';

/** The address of the failed server. */
interface ListenPlace {
  host?: string;
  port?: number;
  portFlag?: string;
}

export function explainFailure(error: unknown, place: ListenPlace = {}): string {
  // Errors in scripts keep the option names of scripts.
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
  { code, syscall, address }: NodeJS.ErrnoException & { address?: string },
  { host, port, portFlag = '--port' }: ListenPlace,
): string | undefined {
  if (host === undefined) return undefined;
  if (syscall === 'listen' && code === 'EADDRINUSE')
    return `port ${port} at ${host} is in use; stop the process that uses it, or choose another port with ${portFlag}`;
  if (syscall === 'listen' && code === 'EACCES')
    return `this account may not use port ${port}; choose one above 1023 with ${portFlag}`;
  if (['EADDRNOTAVAIL', 'ENOTFOUND', 'EAI_AGAIN'].includes(code ?? ''))
    return `${address ?? host} is not an address of this machine; choose one with --host, such as 127.0.0.1 or 0.0.0.0`;
  return undefined;
}

function ofFile({ code, path }: NodeJS.ErrnoException): string | undefined {
  if (path === undefined || !['EACCES', 'EPERM', 'EROFS'].includes(code ?? '')) return undefined;
  return `this account may not access ${path}; grant it permission, or choose another path`;
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
