/** The names that secrets may have, which become variables of the environment that runners are started with. */

const NAME = /^[A-Z_][A-Z0-9_]{0,99}$/;
/**
 * By these, whoever may deploy one app could have Node, the loader of programs, a library, a driver or a tool that these
 * load run code in the account of the cloud and of all other apps. The list holds what is known of them and cannot be
 * complete: it is a second fence, behind uploads that have to be models, so that no library can be sent.
 */
const PREFIXES = [
  'LD|DYLD|GLIBC|MALLOC|GCONV|XDG|BASH|_',
  'NODE|OPENSSL|JITI|CHASQUI|GGML|OMP',
  'VK|MESA|GALLIUM|LIBGL|GBM|LIBVA|OCL|OPENCL',
  'CUDA|NVTX|CUPTI|HSA|HIP|ROCM|ROCR|ROCP|ROCPROFILER|ZE',
].join('|');
const WHOLE = 'PATH|HOME|TMPDIR|LOCPATH|NLSPATH|GETCONF_DIR|ENV';
// The loader of native modules takes another folder for the package X by X_PREBUILD.
const OF_PROGRAMS = new RegExp(`^(?:(?:${PREFIXES})_|(?:${WHOLE})$|.*_PREBUILD$)`);

/** To follow "must be". */
export const WANTED_SECRET =
  'a name of capital letters, digits and _, and none that programs look for by themselves, such as PATH, LD_PRELOAD or ' +
  'NODE_OPTIONS';

export function isSecretName(name: unknown): name is string {
  return typeof name === 'string' && NAME.test(name) && !OF_PROGRAMS.test(name);
}
