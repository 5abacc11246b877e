/**
 * Checks that come before a request's body is read, in this order: headers that let a browser show an error to its
 * page, whether the caller may use the server at all, whether the path exists.
 */

import { isIP } from 'node:net';
import cors from '@fastify/cors';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import ipaddr from 'ipaddr.js';
import { ChasquiError, invalidOptions } from '../../errors.js';
import type { HttpContext, HttpOptions } from '../context.js';
import { IGNORED_HEADER } from '../read-fields.js';
import { shuttingDown } from '../running-replies.js';
import { type KeyRule, requireApiKey } from './authentication.js';
import { Endpoints } from './endpoints.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the route replies as usual while the server stops, because it reports the server's state. */
    repliesWhileStopping?: boolean;
  }
}

/**
 * Call it before the first route. `openUrls`: routes that need no key in any mode. Returns the registry of endpoints,
 * which refuses unsupported methods once all routes are registered.
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
    if (running.stopping.aborted && !routeOptions.config.repliesWhileStopping) throw shuttingDown();
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
  if (access === undefined) throw invalidOptions('The option `access` is missing: say who may use this deployment.');
  if (access !== 'public') requireApiKey(app, { scheme, opens: access, openUrls });
}

/**
 * Values of `corsOrigins` for every page and for every page of this machine, beside origins in the form of browsers
 * (`https://host:port`).
 */
export const ANY_ORIGIN = '*';
/** The second name is that of llama-server. */
const LOCAL_ORIGINS = ['local', 'localhost'];

/** Methods of the endpoints for clients; DELETE is not a default of the plugin. */
const METHODS = ['GET', 'HEAD', 'POST', 'DELETE'];
const EXPOSED_HEADERS = ['x-request-id', IGNORED_HEADER, 'retry-after', 'www-authenticate'];
const PREFLIGHT_CACHE_SECONDS = 600;

/** Without any allowed origin replies have no CORS headers, and a preflight gets the 405 of any other OPTIONS. */
export function allowOrigins(app: FastifyInstance, origins: readonly string[]): void {
  if (origins.length === 0) return;
  // The plugin does not know private network access: a public page asks whether it may reach a private address.
  app.addHook('onRequest', async ({ method, headers }, reply) => {
    const { origin, 'access-control-request-private-network': asked } = headers;
    if (method !== 'OPTIONS' || asked !== 'true' || origin === undefined || !isAllowed(origin, origins)) return;
    reply.header('access-control-allow-private-network', 'true');
  });
  app.register(cors, {
    origin: (origin, decide) => decide(null, origin !== undefined && isAllowed(origin, origins)),
    // The plugin's reply to an OPTIONS that is not a preflight would not have our envelope.
    strictPreflight: false,
    methods: METHODS,
    exposedHeaders: EXPOSED_HEADERS,
    maxAge: PREFLIGHT_CACHE_SECONDS,
    // As in llama-server.
    optionsSuccessStatus: 200,
  });
}

function isAllowed(origin: string, origins: readonly string[]): boolean {
  if (origins.includes(ANY_ORIGIN) || origins.includes(origin)) return true;
  return LOCAL_ORIGINS.some((name) => origins.includes(name)) && isLocal(origin);
}

/** The scheme does not matter, because desktop shells give their pages origins like `tauri://localhost`. */
function isLocal(origin: string): boolean {
  if (!URL.canParse(origin)) return false;
  const { hostname } = new URL(origin);
  return /^(.+\.)?localhost$/.test(hostname) || /^127(\.\d+){3}$/.test(hostname) || hostname === '[::1]';
}

export const ANY_HOST = '*';

export interface HostNames {
  /** Accepted host names, or `ANY_HOST`; default none. */
  names?: readonly string[];
  /** Whether any name without a dot is accepted, as in container and home networks; default false. */
  withoutDots?: boolean;
}

/** Accepts `localhost`, addresses, names of private networks, and the given names. */
export function checkHostHeader(app: FastifyInstance, { names = [], withoutDots = false }: HostNames): void {
  if (names.includes(ANY_HOST)) return;
  const known = new Set(names.map(normalize));
  app.addHook('onRequest', async ({ headers }) => {
    if (headers.host === undefined) return;
    const name = normalize(headers.host.replace(/:\d*$/, ''));
    if (known.has(name) || isUnmistakable(name) || (withoutDots && /^[a-z0-9_-]+$/.test(name))) return;
    const shown = name.slice(0, 100);
    const error = new ChasquiError(
      'host_not_allowed',
      `This server does not go by the name \`${shown}\`, which the Host header gives. Use its address, or add the name ` +
        'to `allowedHosts` if it should.',
    );
    error.option = 'allowedHosts';
    throw error;
  });
}

function normalize(name: string): string {
  return name.toLowerCase().replace(/\.$/, '');
}

/**
 * Names that a DNS rebinding attack cannot use: `localhost`, addresses, and names that end in `.internal`, which cannot
 * be registered because they are reserved for private networks (`host.docker.internal`).
 */
function isUnmistakable(name: string): boolean {
  return (
    name === '' ||
    /^([^.]+\.)*localhost$/.test(name) ||
    /^([^.]+\.)+internal$/.test(name) ||
    isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0
  );
}

/** Headers of proxies: behind a proxy on this machine, every request has a local address. */
const FORWARDING = ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via'];

export function isFromThisMachine({ headers, socket: { remoteAddress } }: FastifyRequest): boolean {
  if (FORWARDING.some((name) => headers[name] !== undefined)) return false;
  // A Unix socket has no addresses.
  return remoteAddress === undefined || ipaddr.process(remoteAddress).range() === 'loopback';
}
