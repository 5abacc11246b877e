/** Parses model names as llama.cpp does, and resolves them to files. */
import { existsSync } from 'node:fs';
import { ChasquiError } from '../errors.js';
import type { HubFile, Quantisation } from './hub-types.js';
import { expandShortName, isShortName } from './short-names.js';

export interface ModelName {
  /** `user/name` */
  repo: string;
  /** A quantisation, or a file name that ends in .gguf; `null`: the default. */
  tag: string | null;
}

const MAX_NAME_LENGTH = 400;
const PART = '[A-Za-z0-9](?:[A-Za-z0-9._-]{0,94}[A-Za-z0-9_-])?';
const REPO = new RegExp(`^${PART}/${PART}$`);
const TAG = /^[A-Za-z0-9_][\w. +-]*(?:\/[\w. +-]+)*$/;
/** Begins the URL of a repository or of one of its files, or an explicit name. */
const ADDRESS = /^(?:hf:|(?:https?:\/\/)?(?:www\.)?(?:hf\.co|huggingface\.co)\/)/i;
const FILE_PAGE = /^([^/]+\/[^/]+)\/(?:resolve|blob)\/[^/]+\/(.+\.gguf)$/i;

/**
 * Parses `user/repo`, `user/repo:Q4_K_M` and `user/repo:file.gguf`, each optionally after `hf:` or `hf.co/`, URLs, and
 * short names.
 * @throws {ChasquiError} `invalid_model_name`
 */
export function parseModelName(text: string): ModelName {
  const name = text.trim();
  if (name.length > MAX_NAME_LENGTH) throw notAName(name);
  const short = expandShortName(name.replace(/^hf:/i, ''));
  if (short !== null) return short;
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

/** Whether a name is `user/repo[:tag]`, a short name, or the address of its page, and no file. */
export function isHubName(name: string): boolean {
  if (isShortName(name)) return !existsSync(name);
  const isName = /^[\w.-]+\/[\w.:-]+$/.test(name.replace(ADDRESS, ''));
  return isHubAddress(name) ? isName : isName && !/^\.|\.gguf$/i.test(name) && !existsSync(name);
}

/** The name of a file in a repository; a quantization in `hf` is ignored. */
export function hubFileName(hf: string, file: string): string {
  return `${hf.replace(/:.*/, '')}:${file}`;
}

/** Whether a name begins with `hf:` or the address of the hub. */
export function isHubAddress(name: string): boolean {
  return ADDRESS.test(name);
}

/** Checks the syntax of a repository name. Also applied to names from a hub. */
export function isRepoName(text: unknown): text is string {
  return typeof text === 'string' && REPO.test(text) && !text.includes('--') && !text.includes('..');
}

function checked(repo: string, tag: string | null, name: string): ModelName {
  if (!isRepoName(repo)) throw notAName(name);
  if (tag !== null && (!TAG.test(tag) || tag.split('/').includes('..'))) throw notAName(name);
  // Ollama's tag for the default.
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
    `\`${name.slice(0, 100)}\` is not a model name. Use user/repo, user/repo:Q4_K_M or user/repo:file.gguf.`,
    'model',
  );
}

/** The name in lists and requests: `user/repo:Q4_K_M`. */
export function modelNameOf(repo: string, { label }: { label: string }): string {
  return `${repo}:${label}`;
}

/** llama.cpp's preferences if no tag is given. */
const USUAL_TAGS = ['Q4_K_M', 'Q8_0'];

/**
 * Resolves a tag to a quantisation. As in llama.cpp v0.5.0, the tag may occur anywhere in a file's path if `.` or `-`
 * follows; an exact label or file name takes precedence.
 * @throws {ChasquiError} `quantisation_not_found`, with the available labels in the message.
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
    `The repository has no \`${tag}\`. Available: ${labels.join(', ') || 'no GGUF model'}.`,
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
