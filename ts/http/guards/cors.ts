/** Decides which web pages a browser lets use the server. */
import cors from '@fastify/cors';
import type { FastifyInstance } from 'fastify';
import { IGNORED_HEADER } from '../read-fields.js';

/**
 * Stand for every page and for every page of this machine, beside origins as a browser sends them
 * (`https://host:port`).
 */
export const ANY_ORIGIN = '*';
export const LOCAL_ORIGINS = 'local';

/** Those of the endpoints for clients; the plugin has no DELETE unless it is told so. */
const METHODS = ['GET', 'HEAD', 'POST', 'DELETE'];
const EXPOSED_HEADERS = ['x-request-id', IGNORED_HEADER, 'retry-after', 'www-authenticate'];
const PREFLIGHT_CACHE_SECONDS = 600;

/** Without any allowed origin replies have no CORS headers, and a preflight gets the 405 of any other OPTIONS. */
export function allowOrigins(app: FastifyInstance, origins: readonly string[]): void {
  if (origins.length === 0) return;
  app.register(cors, {
    origin: (origin, decide) => decide(null, origin !== undefined && isAllowed(origin, origins)),
    // The plugin's reply to an OPTIONS that is no preflight would not have our envelope.
    strictPreflight: false,
    methods: METHODS,
    exposedHeaders: EXPOSED_HEADERS,
    maxAge: PREFLIGHT_CACHE_SECONDS,
  });
}

function isAllowed(origin: string, origins: readonly string[]): boolean {
  if (origins.includes(ANY_ORIGIN) || origins.includes(origin)) return true;
  return origins.includes(LOCAL_ORIGINS) && isLocal(origin);
}

/** The scheme does not matter, because desktop shells give their pages origins like `tauri://localhost`. */
function isLocal(origin: string): boolean {
  if (!URL.canParse(origin)) return false;
  const { hostname } = new URL(origin);
  return /^(.+\.)?localhost$/.test(hostname) || /^127(\.\d+){3}$/.test(hostname) || hostname === '[::1]';
}
