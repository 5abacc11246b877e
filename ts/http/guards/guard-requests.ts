/**
 * Checks that come before a request's body is read, in this order: headers that let a browser show an error to its
 * page, whether the caller may use the server at all, whether the path exists.
 */
import type { FastifyInstance } from 'fastify';
import { ChasquiError } from '../../errors.js';
import type { HttpContext, HttpOptions } from '../context.js';
import { shuttingDown } from '../running-replies.js';
import { type KeyRule, requireApiKey } from './authentication.js';
import { allowOrigins } from './cors.js';
import { Endpoints } from './endpoints.js';
import { checkHostHeader } from './host-header.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the route replies as usual while the server stops, because it reports the server's state. */
    repliesWhileStopping?: boolean;
  }
}

/**
 * To be called before the first route. `openUrls` are those of routes that need no key in any mode. Returns what is
 * known of the endpoints, so that their other methods can be refused when all routes are there.
 */
export function guardRequests(
  app: FastifyInstance,
  { profile, running, basePath }: HttpContext,
  options: HttpOptions,
  openUrls: readonly string[],
): Endpoints {
  const endpoints = new Endpoints(app, basePath);
  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id);
  });
  options.guard?.(app);
  allowOrigins(app, options.corsOrigins ?? profile.corsOrigins);
  if (profile.checksHostHeader) {
    checkHostHeader(app, { names: options.allowedHosts ?? [], withoutDots: options.allowsDotlessHosts ?? false });
  }
  app.addHook('onRequest', async ({ routeOptions }) => {
    if (running.draining && !routeOptions.config.repliesWhileStopping) throw shuttingDown();
  });
  if (profile.authentication !== 'none') guardAccess(app, profile.authentication, options.access, openUrls);
  app.addHook('onRequest', async (request, reply) => {
    if (request.is404) throw endpoints.refusal(request, reply);
  });
  app.setNotFoundHandler((request, reply) => {
    throw endpoints.refusal(request, reply);
  });
  return endpoints;
}

function guardAccess(
  app: FastifyInstance,
  scheme: KeyRule['scheme'],
  access: HttpOptions['access'],
  openUrls: readonly string[],
): void {
  if (access === undefined)
    throw new ChasquiError('invalid_options', 'The option `access` is missing: say who may use this deployment.');
  if (access !== 'public') requireApiKey(app, { scheme, opens: access, openUrls });
}
