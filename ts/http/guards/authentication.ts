/** A private deployment may be used with the header `Authorization: Key <API_KEY>` and a key that is valid now. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ChasquiError } from '../../errors.js';

/**
 * Whether a key opens this deployment at this moment. It is called for every request, so revoking a key acts at once.
 */
export type KeyCheck = (key: string) => boolean;

/** A client without a key gets its 401 before any of its body is read. `openUrls` are the routes that need none. */
export function requireApiKey(app: FastifyInstance, opens: KeyCheck, openUrls: readonly string[]): void {
  app.addHook('onRequest', async (request, reply) => {
    if (openUrls.includes(request.routeOptions.url ?? '')) return;
    const problem = problemWith(request.headers.authorization, opens);
    if (problem === null) return;
    reply.header('www-authenticate', 'Key');
    if (hasMuchToSend(request)) reply.header('connection', 'close');
    throw new ChasquiError('invalid_api_key', `${problem} ${ADVICE}`);
  });
}

const ADVICE =
  'This deployment is private: every request must carry the header `Authorization: Key <API_KEY>`, with one space, ' +
  'where the key is the `<id>:<secret>` that `chasqui keys create` showed.';

function problemWith(authorization: string | undefined, opens: KeyCheck): string | null {
  if (authorization === undefined) return 'The request has no Authorization header.';
  const [, key] = /^Key (\S+)$/.exec(authorization) ?? [];
  if (key === undefined) return problemWithForm(authorization);
  return opens(key) ? null : 'The API key is unknown or was revoked.';
}

/** The message never repeats a part of the header that may be a secret. */
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
