/** A process may have so many files and connections open, and a machine so many of all its processes. */
import { ChasquiError } from '../errors.js';

/** Whether that is why something failed. */
export function isOutOfFiles(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code, cause } = error as NodeJS.ErrnoException;
  return code === 'EMFILE' || code === 'ENFILE' || code === 'too_many_open_files' || isOutOfFiles(cause);
}

/** `what` could not be done, as the beginning of a sentence. */
export function outOfFiles(what: string, cause?: unknown): ChasquiError {
  return new ChasquiError(
    'too_many_open_files',
    `${what}: the server, or its machine, has as many files and connections open as it may (ulimit -n). Try again in a moment.`,
    null,
    { cause },
  );
}
