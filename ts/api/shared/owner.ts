/** The owner of stored data: all requests with the same API key. */
import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { OWNER_HEADER, readOwner } from '../../http/owner-header.js';

export type Caller = Pick<FastifyRequest, 'headers' | 'apiKey'>;

/**
 * The hash of the request's valid API key, or of its headers if the server does not check keys. Behind a gateway, the owner
 * that the gateway names, or null if it names none.
 */
export function ownerOf({ headers, apiKey }: Caller, isBehindGateway: boolean): string | null {
  if (isBehindGateway) return readOwner(headers[OWNER_HEADER]);
  const header = headers.authorization ?? headers['x-api-key'] ?? '';
  return createHash('sha256')
    .update(String(apiKey === undefined ? header : `Bearer ${apiKey}`))
    .digest('hex');
}

/**
 * Behind a gateway, owners share no cached prefixes: `cached_tokens` would reveal the prompts of other keys. The salt
 * of a caller without a key differs from that of every owner.
 */
export function separateCaches(app: FastifyInstance, { isBehindGateway }: { isBehindGateway: boolean }): void {
  if (!isBehindGateway) return;
  app.addHook('preHandler', async (request) => {
    const { body } = request as { body?: { cache_salt?: string } | null };
    if (typeof body !== 'object' || body === null) return;
    body.cache_salt = `${ownerOf(request, true) ?? ''} ${body.cache_salt ?? ''}`;
  });
}
