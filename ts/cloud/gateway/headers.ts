/** Which headers pass between a client and a runner. */
import type { IncomingHttpHeaders } from 'node:http';
import { OWNER_HEADER, ownerOfKey } from '../../http/owner-header.js';
import { IGNORED_HEADER } from '../../http/read-fields.js';
import type { ReplyHead } from './reply-reader.js';
import { ASK_FOR_REPORT } from './usage-report.js';

/**
 * What a runner reads of a request. All others stay here: the client's key, cookies, whatever is between this client and
 * this gateway only, and what would make the runner believe something of the client.
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
 * A cloud takes JSON whatever its content type says, and a runner may be one that looks. `keyId` is the key's that the
 * request came with, or null: then nothing is kept of it.
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
 * What a runner says of its reply that is for clients. All others stay here: what is between the runner and this gateway,
 * what the gateway sets itself, and what a runner that is in a stranger's hands would tell a browser about this origin.
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

/**
 * The dashboard is of the same origin, and a browser that opens a reply may be its owner's. A reply is data: whatever a
 * runner says that it is, no script of it runs, and it is no page of this origin.
 */
export const DATA_HEADERS: readonly (readonly [string, string])[] = [
  ['content-security-policy', "sandbox; default-src 'none'"],
  ['x-content-type-options', 'nosniff'],
];

/** Pages of any origin may call an app: a key opens it, and no browser sends one by itself. */
export const CORS_HEADERS: readonly (readonly [string, string])[] = [
  ['access-control-allow-origin', '*'],
  [
    'access-control-expose-headers',
    'x-request-id, retry-after, www-authenticate, x-chasqui-ignored, x-chasqui-runner, x-chasqui-cold-start-ms, ' +
      'x-chasqui-queue-ms, x-ratelimit-limit-requests, x-ratelimit-remaining-requests, x-ratelimit-reset-requests, ' +
      'x-ratelimit-limit-tokens, x-ratelimit-remaining-tokens, x-ratelimit-reset-tokens',
  ],
];

/** A preflight is the same for apps that do not exist, and asks for no key, which browsers do not send with it. */
export function preflightHeaders(asked: string | undefined): [string, string][] {
  const names = asked !== undefined && /^[\w\-, ]{1,1000}$/.test(asked) ? asked : 'authorization, content-type';
  return [
    ['access-control-allow-methods', 'GET, HEAD, POST, DELETE'],
    ['access-control-allow-headers', names],
    ['access-control-max-age', '600'],
  ];
}
