/** Allowlists of the headers between client and runner. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { OWNER_HEADER, ownerOfKey } from '../../http/owner-header.js';
import { IGNORED_HEADER } from '../../http/read-fields.js';
import type { ReplyHead } from './reply-reader.js';
import { ASK_FOR_REPORT } from './usage.js';

/**
 * Request headers for the runner. All others are dropped: the key, cookies, hop-by-hop headers, and headers that claim
 * facts about the client.
 */
const PASSED_TO_RUNNER = [
  'accept',
  'accept-language',
  'anthropic-beta',
  'anthropic-version',
  'traceparent',
  'tracestate',
  'user-agent',
];

/**
 * The content type is always JSON: a cloud accepts any, but a runner may not. `keyId`: owner of stored responses; null:
 * nothing is stored.
 */
export function toRunnerHeaders(
  headers: IncomingHttpHeaders,
  requestId: string,
  keyId: string | null,
): [string, string][] {
  const passed = PASSED_TO_RUNNER.flatMap((name): [string, string][] => {
    const value = headers[name];
    return typeof value === 'string' ? [[name, value]] : [];
  });
  const owner: [string, string][] = keyId === null ? [] : [[OWNER_HEADER, ownerOfKey(keyId)]];
  return [...passed, ...owner, ['content-type', 'application/json'], ['x-request-id', requestId], [...ASK_FOR_REPORT]];
}

/**
 * Reply headers for the client. All others are dropped: hop-by-hop headers, those the gateway sets itself, and those
 * that a compromised runner could use against this origin.
 */
const PASSED_TO_CLIENT: readonly string[] = [
  'allow',
  'cache-control',
  'content-length',
  'content-type',
  'request-id',
  'retry-after',
  'x-accel-buffering',
  IGNORED_HEADER,
];

export function toClientHead({ status, headers }: ReplyHead): ReplyHead {
  return { status, headers: headers.filter(([name]) => PASSED_TO_CLIENT.includes(name)) };
}

/** Replies share the origin of the dashboard. These headers keep browsers from running a reply as a page or script. */
export const DATA_HEADERS: readonly (readonly [string, string])[] = [
  ['content-security-policy', "sandbox; default-src 'none'"],
  ['x-content-type-options', 'nosniff'],
];

/** Pages of any origin may call an app. That is safe because browsers never send a key on their own. */
export const CORS_HEADERS: readonly (readonly [string, string])[] = [
  ['access-control-allow-origin', '*'],
  [
    'access-control-expose-headers',
    'x-request-id, retry-after, www-authenticate, x-chasqui-ignored, x-chasqui-runner, x-chasqui-cold-start-ms, ' +
      'x-chasqui-queue-ms, x-ratelimit-limit-requests, x-ratelimit-remaining-requests, x-ratelimit-reset-requests, ' +
      'x-ratelimit-limit-tokens, x-ratelimit-remaining-tokens, x-ratelimit-reset-tokens',
  ],
];

/** Preflights need no key, because browsers send none, and reveal no app: they are the same for all paths. */
export function preflightHeaders(asked: string | undefined): [string, string][] {
  const names = asked !== undefined && /^[\w\-, ]{1,1000}$/.test(asked) ? asked : 'authorization, content-type';
  return [
    ['access-control-allow-methods', 'GET, HEAD, POST, DELETE'],
    ['access-control-allow-headers', names],
    ['access-control-max-age', '600'],
  ];
}

export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}
