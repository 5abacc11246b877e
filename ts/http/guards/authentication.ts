/**
 * A private deployment requires the header `Authorization: Key <API_KEY>` with a valid key. A local server with keys
 * accepts the headers of common clients: `Authorization: Bearer <API_KEY>`, or `X-Api-Key: <API_KEY>`.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ChasquiError } from '../../errors.js';
import type { Profile } from '../../profiles/profile.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** The valid key of the request, if the server accepts it in more than one header. */
    apiKey?: string;
  }
}

/**
 * Whether a key is currently valid for this server. Called for every request, so a revocation takes effect at once.
 */
export type KeyCheck = (key: string) => boolean;

export interface KeyRule {
  scheme: Exclude<Profile['authentication'], 'none'>;
  opens: KeyCheck;
  /** The routes that need no key. */
  openUrls: readonly string[];
}

/** A client without a key gets its 401 before any of its body is read. */
export function requireApiKey(app: FastifyInstance, { scheme, opens, openUrls }: KeyRule): void {
  const { problemWith, advice, name } = SCHEMES[scheme];
  app.addHook('onRequest', async (request, reply) => {
    if (openUrls.includes(request.routeOptions.url ?? '')) return;
    const problem = problemWith(request, opens);
    if (problem === null) return;
    reply.header('www-authenticate', name);
    if (hasMuchToSend(request)) reply.header('connection', 'close');
    throw new ChasquiError('invalid_api_key', `${problem} ${advice}`);
  });
}

interface Scheme {
  name: string;
  advice: string;
  problemWith(request: FastifyRequest, opens: KeyCheck): string | null;
}

const SCHEMES: Readonly<Record<KeyRule['scheme'], Scheme>> = {
  key: {
    name: 'Key',
    advice:
      'This deployment is private: every request must carry the header `Authorization: Key <API_KEY>`, with one space, ' +
      'where the key is the `<id>:<secret>` that `chasqui keys create` showed.',
    problemWith: ({ headers }, opens) => problemWithKey(headers.authorization, opens),
  },
  bearer: {
    name: 'Bearer',
    advice: 'Send one of the keys of this server as `Authorization: Bearer <API_KEY>` or as `X-Api-Key: <API_KEY>`.',
    problemWith: (request, opens) => {
      const { method, headers } = request;
      // Browsers send preflights without credentials. Allowed origins were answered before; others get a 405.
      if (method === 'OPTIONS' && headers['access-control-request-method'] !== undefined) return null;
      // Anthropic's clients send the second.
      const given = [/^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1], headers['x-api-key']];
      const keys = given.filter((key) => typeof key === 'string');
      if (keys.length === 0) return 'The request has no API key.';
      const valid = keys.find((key) => opens(key));
      if (valid === undefined) return 'The API key is not one of this server.';
      request.apiKey = valid;
      return null;
    },
  },
};

function problemWithKey(authorization: string | undefined, opens: KeyCheck): string | null {
  if (authorization === undefined) return 'The request has no Authorization header.';
  const [, key] = /^Key (\S+)$/.exec(authorization) ?? [];
  if (key === undefined) return problemWithForm(authorization);
  return opens(key) ? null : 'The API key is unknown or was revoked.';
}

/** The message never quotes a part of the header that may be secret. */
function problemWithForm(authorization: string): string {
  const [, scheme = ''] = /^(\w{1,20})(?:\s|$)/.exec(authorization) ?? [];
  if (scheme === 'Key') return 'After `Key` the Authorization header must have one space and the key.';
  if (scheme.toLowerCase() === 'key') return `The Authorization header begins with \`${scheme}\` instead of \`Key\`.`;
  if (scheme.toLowerCase() === 'bearer') {
    return 'The scheme `Bearer` is not accepted here; a client that sends it by itself can be given a header of its own.';
  }
  return 'The Authorization header does not begin with `Key`.';
}

const SMALL_BODY = 64 * 1024;

/**
 * Node reads a refused request to its end, so that the connection can be used again. For a large body that costs too
 * much.
 */
function hasMuchToSend({ headers }: FastifyRequest): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > SMALL_BODY;
}
