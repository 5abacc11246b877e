/** Where a model comes from, as scripts give it. */

export type ModelReference =
  | { readonly kind: 'demo' }
  /** `path` is absolute once the script's folder is known. */
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'url'; readonly url: string }
  | { readonly kind: 'hub'; readonly repository: string; readonly variant: string | null };

const MAX_LENGTH = 4096;

/** To follow "must be". */
export const WANTED_MODEL =
  'demo, hf:<org>/<repository> or hf:<org>/<repository>:<quantisation>, an address such as https://host/model.gguf, or ' +
  'file:<path> of a file that ends in .gguf';

/** Null: the text names no model. */
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

/** The model gets its name from there. */
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
