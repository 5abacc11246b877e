/** The latest version of this package in an npm registry. */
import { createPublicKey, verify } from 'node:crypto';
import { EnvHttpProxyAgent, request } from 'undici';
import type { PACKAGE } from '../version.js';

type Package = typeof PACKAGE;

export interface PublishedVersion {
  version: string;
  /** Whether npm's signature is valid. False if the registry serves no signature of a known key. */
  isSigned: boolean;
}

/** Keys by their id. */
export type RegistryKeys = Readonly<Record<string, string>>;

/** The key of https://registry.npmjs.org/-/npm/v1/keys as it is in npm's own copy (`@sigstore/tuf`); SPKI in base64. */
export const NPM_KEYS: RegistryKeys = {
  'SHA256:DhQ8wR5APBvFHLF/+Tc+AYvPOdTpcIDqOhxsBHRwC7U':
    'MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEY6Ya7W++7aUPzvMTrezH6Ycx3c+HOKYCcNGybJZSCJq/fd7Qa8uuAKtdIkUQtQiEKERhAmE5lMMJhP8OkDOa2g==',
};

const TIMEOUT_MS = 5000;
const MAX_BYTES = 2 ** 18;
const RELEASE = /^\d{1,6}\.\d{1,6}\.\d{1,6}$/;

/**
 * Returns null if the package there cannot be shown to be this one: its `repository` is another or none, or its signature
 * is invalid. Rejects on network errors.
 */
export async function publishedVersion(
  own: Package,
  registry: URL,
  keys: RegistryKeys = NPM_KEYS,
): Promise<PublishedVersion | null> {
  const url = new URL(`${encodeURIComponent(own.name)}/latest`, registry.href.replace(/\/?$/, '/'));
  const found = await fetchJson(url);
  const { name, version, repository, dist } = (found ?? {}) as Partial<Package & { dist: Dist }>;
  if (name !== own.name || typeof version !== 'string' || !RELEASE.test(version)) return null;
  const source = sourceOf(own.repository);
  if (source === null || sourceOf(repository) !== source) return null;
  const state = signatureState(`${name}@${version}:${dist?.integrity}`, dist?.signatures, keys);
  return state === 'invalid' ? null : { version, isSigned: state === 'valid' };
}

interface Dist {
  integrity?: unknown;
  signatures?: unknown;
}

function signatureState(text: string, signatures: unknown, keys: RegistryKeys): 'valid' | 'invalid' | 'none' {
  if (!Array.isArray(signatures)) return 'none';
  const known = signatures.filter(({ keyid } = {}) => typeof keyid === 'string' && Object.hasOwn(keys, keyid));
  if (known.length === 0) return 'none';
  const isValid = known.every(({ keyid, sig }) => {
    const key = createPublicKey({ key: Buffer.from(keys[keyid] as string, 'base64'), format: 'der', type: 'spki' });
    return verify('sha256', Buffer.from(text), key, Buffer.from(String(sig), 'base64'));
  });
  return isValid ? 'valid' : 'invalid';
}

/** `https://github.com/a/b.git`, `git+ssh://git@github.com/a/b` and `github:a/b` are the same source. */
export function sourceOf(repository: unknown): string | null {
  const url = typeof repository === 'string' ? repository : (repository as { url?: unknown } | null | undefined)?.url;
  if (typeof url !== 'string') return null;
  const [, host, path] =
    /^(?:git\+)?(?:https?|ssh|git):\/\/(?:[^@/]*@)?([^/:]+)[/:](.+?)(?:\.git)?\/?$/.exec(url) ?? [];
  if (host !== undefined) return `${host}/${path}`.toLowerCase();
  const [, short] = /^(?:github:)?([\w.-]+\/[\w.-]+)$/.exec(url) ?? [];
  return short === undefined ? null : `github.com/${short}`.toLowerCase();
}

/** Sends neither credentials nor cookies, and follows no redirects. Returns undefined for other replies than JSON. */
async function fetchJson(url: URL): Promise<unknown> {
  const dispatcher = new EnvHttpProxyAgent();
  try {
    const headers = { accept: 'application/json' };
    const reply = await request(url, { dispatcher, headers, signal: AbortSignal.timeout(TIMEOUT_MS) });
    if (reply.statusCode !== 200) return undefined;
    let text = '';
    for await (const bytes of reply.body.setEncoding('utf8')) {
      text += bytes;
      if (text.length > MAX_BYTES) return undefined;
    }
    return JSON.parse(text);
  } finally {
    await dispatcher.destroy();
  }
}
