/** The names that secrets may have, which become variables of the environment that runners are started with. */

const NAME = /^[A-Z_][A-Z0-9_]{0,99}$/;
/**
 * By these, whoever may deploy one app could have Node, the loader of programs, a library or a driver run their own code
 * in the account of the cloud and of all other apps.
 */
const PREFIXES = 'LD|DYLD|NODE|OPENSSL|GLIBC|MALLOC|GCONV|GGML|VK|CUDA|XDG|CHASQUI';
const OF_PROGRAMS = new RegExp(`^(?:(?:${PREFIXES})_|(?:PATH|HOME|TMPDIR|LOCPATH)$)`);

/** To follow "must be". */
export const WANTED_SECRET =
  'a name of capital letters, digits and _, and none that programs look for by themselves, such as PATH, LD_PRELOAD or ' +
  'NODE_OPTIONS';

export function isSecretName(name: unknown): name is string {
  return typeof name === 'string' && NAME.test(name) && !OF_PROGRAMS.test(name);
}
