/** How the bodies of all requests are read: within the limits of their routes, and of all requests together. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Profile } from '../../profiles/profile.js';
import { BodyBudget, type Share } from './budget.js';
import { parseJsonBody } from './json-body.js';
import { readBody, refuseCompressed } from './read-body.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Keys of lists in the route's body that hold images, as data URIs or in base64: these count as such, not as text. */
    imageLists?: readonly string[];
  }
}

export interface BodyOptions {
  /** The largest limit that any route has, in bytes. */
  maxBytes: number;
  /** Default 20 s. */
  maxSilenceMs: number | undefined;
}

/**
 * A web page of another origin cannot send the content type of JSON without a preflight. Where that type is demanded, a
 * page therefore cannot secretly use a person's local server.
 */
export function readBodies(app: FastifyInstance, profile: Profile, options: BodyOptions): void {
  const budget = BodyBudget.forBodiesOf(options.maxBytes);
  const { maxSilenceMs } = options;
  const replies = new WeakMap<IncomingMessage, ServerResponse>();
  app.addHook('onRequest', async (request, reply) => {
    replies.set(request.raw, reply.raw);
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', async (request: FastifyRequest, payload: IncomingMessage) => {
    refuseCompressed(request.headers);
    const { bodyLimit: maxBytes = 0, config, schema } = request.routeOptions;
    const openShare = (makeWay: () => void) => holdFor(replies.get(request.raw), budget.open(makeWay));
    const bytes = await readBody(payload, announcedLength(request), { maxBytes, maxSilenceMs }, openShare);
    // Some clients send the content type with every request, also where there is nothing to send.
    if (bytes.length === 0 && schema?.body === undefined) return undefined;
    return parseJsonBody(bytes, config.imageLists);
  });
  if (profile.demandsJsonContentType) return;
  app.addHook('onRequest', async ({ headers }) => {
    headers['content-type'] = 'application/json';
  });
}

/** Holds the share until the reply is over, because values made from the body are needed until then. */
function holdFor(reply: ServerResponse | undefined, share: Share): Share {
  reply?.once('close', () => share.release());
  return {
    ...share,
    complete: () => {
      share.complete();
      // The reply has emitted `close` before, so the listener above will not be called.
      if (reply?.destroyed) share.release();
    },
  };
}

function announcedLength({ headers }: FastifyRequest): number | null {
  return headers['content-length'] === undefined ? null : Number(headers['content-length']);
}
