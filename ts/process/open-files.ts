/** A process may have so many files and connections open, and a machine so many of all its processes. */
import type { ChildProcess } from 'node:child_process';
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

/**
 * Returns the child that was just started, which has its pipes. Whatever the types say, Node leaves it without any where
 * there are no files left for them, and tells of that by an event that ends this process where nobody listens.
 * @throws {ChasquiError} `too_many_open_files`
 */
export function withPipes<Child extends ChildProcess>(child: Child, program: string): Child {
  if ((child.stdio as unknown) !== undefined) return child;
  child.on('error', () => {});
  throw outOfFiles(`${program} could not be started`, Object.assign(new Error('no pipes'), { code: 'EMFILE' }));
}
