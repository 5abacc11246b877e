/** Hub, token and cache folder, from the same environment variables as other clients of the hub. */
import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { invalidOptions } from '../errors.js';

export const HUGGING_FACE = 'https://huggingface.co';
const MAX_TOKEN_LENGTH = 512;

export interface HubSettings {
  /** Without a trailing slash. */
  endpoint: string;
  token: string | null;
  /** The shared model folder, with one subfolder per repository. */
  cacheFolder: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

export function hubSettings(environment: Environment, given: Partial<HubSettings> = {}): HubSettings {
  const endpoint = checkEndpoint(given.endpoint ?? (environment.HF_ENDPOINT || HUGGING_FACE));
  const token = given.token ?? tokenOf(environment, endpoint);
  if (token !== null) checkToken(token);
  return { endpoint, token, cacheFolder: given.cacheFolder ?? cacheFolderOf(environment) };
}

/** @throws {ChasquiError} `invalid_options` */
export function checkEndpoint(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isPlain = url && !url.username && !url.password && !url.search && !url.hash;
  if (!isPlain || !['http:', 'https:'].includes(url.protocol)) {
    const shown = text.replace(/\/\/[^/]*@/, '//…@').slice(0, 100);
    throw invalidOptions(
      `The hub's address (HF_ENDPOINT) is ${shown}, but must start with https:// or http:// and have neither credentials nor a query.`,
    );
  }
  return url.href.replace(/\/+$/, '');
}

export function checkToken(token: string): void {
  if (/^[\x21-\x7e]+$/.test(token) && token.length <= MAX_TOKEN_LENGTH) return;
  throw invalidOptions(
    `The hub's token (HF_TOKEN) must be at most ${MAX_TOKEN_LENGTH} printable characters without spaces.`,
  );
}

/** A token file is for Hugging Face only. A token in a variable is for the configured hub. */
function tokenOf(environment: Environment, endpoint: string): string | null {
  const variable = environment.HF_TOKEN || environment.HUGGING_FACE_HUB_TOKEN;
  if (variable) return variable.trim();
  if (endpoint !== HUGGING_FACE || environment.HF_HUB_DISABLE_IMPLICIT_TOKEN === '1') return null;
  try {
    const file = environment.HF_TOKEN_PATH || path.join(homeOf(environment), 'token');
    return (
      readFileSync(file, 'utf8')
        .slice(0, MAX_TOKEN_LENGTH + 2)
        .trim() || null
    );
  } catch {
    return null;
  }
}

function homeOf(environment: Environment): string {
  if (environment.HF_HOME) return environment.HF_HOME;
  return path.join(environment.XDG_CACHE_HOME || path.join(homedir(), '.cache'), 'huggingface');
}

/** In the order of llama.cpp's `common/hf-cache.cpp`. */
function cacheFolderOf(environment: Environment): string {
  const named = environment.LLAMA_CACHE || environment.HF_HUB_CACHE || environment.HUGGINGFACE_HUB_CACHE;
  return path.resolve(named || path.join(homeOf(environment), 'hub'));
}
