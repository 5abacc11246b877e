/** Limits of open files and connections, of a process (EMFILE) or a machine (ENFILE). */
import type { ChildProcess } from 'node:child_process';
import { ChasquiError } from '../errors.js';

export function isOutOfFiles(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code, cause } = error as NodeJS.ErrnoException;
  return code === 'EMFILE' || code === 'ENFILE' || code === 'too_many_open_files' || isOutOfFiles(cause);
}

/** `what` begins the sentence: `The file cannot be read`. */
export function outOfFiles(what: string, cause?: unknown): ChasquiError {
  return new ChasquiError(
    'too_many_open_files',
    `${what}: the server, or its machine, has as many files and connections open as it may (ulimit -n). Try again in a moment.`,
    null,
    { cause },
  );
}

/**
 * Returns `child`, which was just started, if it has its pipes. Despite its types, Node returns a child without pipes when file
 * descriptors run out, and emits an `error` event, which ends this process unless it has a listener.
 * @throws {ChasquiError} `too_many_open_files`
 */
export function withPipes<Child extends ChildProcess>(child: Child, program: string): Child {
  if ((child.stdio as unknown) !== undefined) return child;
  child.on('error', () => {});
  throw outOfFiles(`${program} could not be started`, Object.assign(new Error('no pipes'), { code: 'EMFILE' }));
}
