/** Values of script options: model references, durations, sizes and names of secrets. */

export type ModelReference =
  | { readonly kind: 'demo' }
  /** `read-script.ts` makes `path` absolute. */
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'url'; readonly url: string }
  | { readonly kind: 'hub'; readonly repository: string; readonly variant: string | null };

const MAX_LENGTH = 4096;

/** Completes "must be". */
export const WANTED_MODEL =
  'demo, hf:<org>/<repository>, hf:<org>/<repository>:<quantisation>, a URL such as https://host/model.gguf, or ' +
  'file:<path> with a path that ends in .gguf';

export function readModelReference(text: string): ModelReference | null {
  if (text.length > MAX_LENGTH) return null;
  if (text === 'demo') return { kind: 'demo' };
  const [, scheme = '', rest = ''] = /^([a-z]+):(.*)$/s.exec(text) ?? [];
  switch (scheme) {
    case 'file':
      return /\.gguf$/i.test(rest) && !rest.includes('\0')
        ? { kind: 'file', path: rest.replace(/^\/\/\//, '/') }
        : null;
    case 'http':
    case 'https':
      return readUrl(text);
    case 'hf':
      return readHub(rest);
    default:
      return null;
  }
}

function readUrl(text: string): ModelReference | null {
  if (!URL.canParse(text)) return null;
  const { pathname, username } = new URL(text);
  return pathname.endsWith('.gguf') && username === '' && isDecodable(pathname) ? { kind: 'url', url: text } : null;
}

/** Required because the model's name is derived from it. */
function isDecodable(pathname: string): boolean {
  try {
    decodeURIComponent(pathname);
    return true;
  } catch {
    return false;
  }
}

function readHub(text: string): ModelReference | null {
  const [, repository, variant = null] = /^([\w.-]{1,96}\/[\w.-]{1,96})(?::([\w.-]{1,96}))?$/.exec(text) ?? [];
  return repository === undefined ? null : { kind: 'hub', repository, variant };
}

const MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
const BYTES: Readonly<Record<string, number>> = { Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40 };

/** Maximum delay of `setTimeout`. */
export const MAX_DURATION_MS = 2 ** 31 - 1;

/** Returns milliseconds, or null for an invalid duration. */
export function readDuration(text: string): number | null {
  return read(text, MS, MAX_DURATION_MS);
}

/** Returns bytes, or null for an invalid size. */
export function readSize(text: string): number | null {
  return read(text, BYTES, Number.MAX_SAFE_INTEGER);
}

function read(text: string, units: Readonly<Record<string, number>>, max: number): number | null {
  const [, digits = '', unit = ''] = /^(\d{1,12}(?:\.\d{1,6})?)([A-Za-z]{1,2})$/.exec(text) ?? [];
  const size = units[unit];
  const value = size === undefined ? Number.NaN : Math.round(Number(digits) * size);
  return value <= max ? value : null;
}

const SECRET_NAME = /^[A-Z_][A-Z0-9_]{0,99}$/;
/**
 * With these variables a deployer could make Node, the dynamic linker, a library, a driver or a tool run code in the
 * account of the cloud. The list cannot be complete. It is a second line of defence: uploads must be models, so no
 * library can be uploaded.
 */
const PREFIXES = [
  'LD|DYLD|GLIBC|MALLOC|GCONV|XDG|BASH|_',
  'NODE|OPENSSL|JITI|CHASQUI|GGML|OMP',
  'VK|MESA|GALLIUM|LIBGL|GBM|LIBVA|OCL|OPENCL',
  'CUDA|NVTX|CUPTI|HSA|HIP|ROCM|ROCR|ROCP|ROCPROFILER|ZE',
].join('|');
const EXACT = 'PATH|HOME|TMPDIR|LOCPATH|NLSPATH|GETCONF_DIR|ENV';
// The loader of native addons loads the package X from the folder in X_PREBUILD.
const RESERVED = new RegExp(`^(?:(?:${PREFIXES})_|(?:${EXACT})$|.*_PREBUILD$)`);

/** Completes "must be". */
export const WANTED_SECRET =
  'a name of capital letters, digits and _ that does not configure other programs, as PATH, LD_PRELOAD or ' +
  'NODE_OPTIONS do';

export function isSecretName(name: unknown): name is string {
  return typeof name === 'string' && SECRET_NAME.test(name) && !RESERVED.test(name);
}
