/** Names of models as people write them, read as llama.cpp reads them, and which files such a name means. */
import { ChasquiError } from '../errors.js';
import type { HubFile, Quantisation } from './hub-types.js';

export interface ModelName {
  /** `user/name` */
  repo: string;
  /** A quantisation, or a file that ends in .gguf; `null`: whichever is usual. */
  tag: string | null;
}

const MAX_NAME_LENGTH = 400;
const PART = '[A-Za-z0-9](?:[A-Za-z0-9._-]{0,94}[A-Za-z0-9_-])?';
const REPO = new RegExp(`^${PART}/${PART}$`);
const TAG = /^[A-Za-z0-9_][\w. +-]*(?:\/[\w. +-]+)*$/;
/** The address of a repository or of one of its files, as it stands in a browser. */
const ADDRESS = /^(?:https?:\/\/)?(?:www\.)?(?:hf\.co|huggingface\.co)\//i;
const FILE_PAGE = /^([^/]+\/[^/]+)\/(?:resolve|blob)\/[^/]+\/(.+\.gguf)$/i;

/**
 * Reads `user/repo`, `user/repo:Q4_K_M`, `user/repo:file.gguf`, each after `hf.co/` or not, and addresses of pages.
 * @throws {ChasquiError} `invalid_model_name`
 */
export function parseModelName(text: string): ModelName {
  const name = text.trim();
  if (name.length > MAX_NAME_LENGTH) throw notAName(name);
  const rest = name
    .replace(ADDRESS, '')
    .replace(/[?#].*$/, '')
    .replace(/\/+$/, '');
  const page = FILE_PAGE.exec(rest);
  if (page !== null) return checked(page[1] as string, decode(page[2] as string), name);
  const colon = rest.indexOf(':');
  if (colon < 0) return checked(rest.replace(/\/tree\/[^/]+$/, ''), null, name);
  return checked(rest.slice(0, colon), rest.slice(colon + 1), name);
}

/** Whether it could be the name of a repository at all; names from a hub are checked with it, too. */
export function isRepoName(text: unknown): text is string {
  return typeof text === 'string' && REPO.test(text) && !text.includes('--') && !text.includes('..');
}

function checked(repo: string, tag: string | null, name: string): ModelName {
  if (!isRepoName(repo)) throw notAName(name);
  if (tag !== null && (!TAG.test(tag) || tag.split('/').includes('..'))) throw notAName(name);
  // Ollama's word for whichever is usual.
  return { repo, tag: tag?.toLowerCase() === 'latest' ? null : tag };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function notAName(name: string): ChasquiError {
  return new ChasquiError(
    'invalid_model_name',
    `\`${name.slice(0, 100)}\` is not the name of a model on the hub: write user/repo, user/repo:Q4_K_M or user/repo:file.gguf.`,
    'model',
  );
}

/** What a model is called in lists and requests: `user/repo:Q4_K_M`. */
export function modelNameOf(repo: string, { label }: { label: string }): string {
  return `${repo}:${label}`;
}

/** Those that llama.cpp takes where no tag is given, if there are any. */
const USUAL_TAGS = ['Q4_K_M', 'Q8_0'];

/**
 * The quantisation that `tag` means. As in llama.cpp v0.5.0, the tag may stand anywhere in the path of a file where `.` or
 * `-` follows; a label or file name that is exactly the tag goes before that.
 * @throws {ChasquiError} `quantisation_not_found`: the message has those that there are.
 */
export function chooseQuantisation(quantisations: readonly Quantisation[], tag: string | null): Quantisation {
  if (tag === null) {
    const usual = USUAL_TAGS.map((each) => matching(quantisations, each)).find((found) => found !== undefined);
    const chosen = usual ?? quantisations[0];
    if (chosen === undefined)
      throw new ChasquiError('quantisation_not_found', 'The repository has no GGUF model.', 'model');
    return chosen;
  }
  const chosen = exact(quantisations, tag) ?? matching(quantisations, tag);
  if (chosen !== undefined) return chosen;
  const labels = quantisations.map(({ label }) => label).slice(0, 40);
  throw new ChasquiError(
    'quantisation_not_found',
    `The repository has no \`${tag}\`. It has: ${labels.join(', ') || 'no GGUF model'}.`,
    'model',
  );
}

function exact(quantisations: readonly Quantisation[], tag: string): Quantisation | undefined {
  const wanted = tag.toLowerCase();
  const isFile = ({ path }: HubFile) => [path, baseName(path)].some((name) => name.toLowerCase() === wanted);
  return (
    quantisations.find(({ files }) => files.some(isFile)) ??
    quantisations.find(({ label }) => label.toLowerCase() === wanted)
  );
}

function matching(quantisations: readonly Quantisation[], tag: string): Quantisation | undefined {
  const wanted = tag.toLowerCase();
  return quantisations.find(({ files }) => {
    const path = files[0]?.path.toLowerCase() ?? '';
    for (let at = path.indexOf(wanted); at >= 0; at = path.indexOf(wanted, at + 1)) {
      if (['.', '-'].includes(path[at + wanted.length] ?? '')) return true;
    }
    return false;
  });
}

function baseName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
