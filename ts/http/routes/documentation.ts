/** Describes all endpoints, for programs as OpenAPI and for people as a page. */
import type { FastifyInstance, RouteOptions } from 'fastify';
import type { JsonSchema } from '../../schemas/json-schema.js';
import { VERSION } from '../../version.js';
import type { AppContext } from '../context.js';
import { type Endpoint, type OpenApiDocument, toDocument } from '../openapi/document.js';
import { OPERATIONS } from '../openapi/operations.js';
import { toPage } from '../openapi/page.js';

/** To be called before the routes that are to be described. */
export function documentationRoutes(app: FastifyInstance, { pool, profile, basePath }: AppContext): void {
  const endpoints: Endpoint[] = [];
  app.addHook('onRoute', (route) => {
    const endpoint = toEndpoint(route, basePath);
    if (endpoint) endpoints.push(endpoint);
  });

  let document: OpenApiDocument | undefined;
  const describe = (): OpenApiDocument => {
    document ??= toDocument(endpoints, { profile, basePath, model: pool.list()[0]?.id ?? 'model', version: VERSION });
    return document;
  };

  app.get('/openapi.json', async () => describe());
  app.get('/docs', async (_request, reply) => {
    reply.header('content-security-policy', "default-src 'none'; style-src 'unsafe-inline'");
    return reply.type('text/html; charset=utf-8').send(toPage(describe()));
  });
}

function toEndpoint(route: RouteOptions & { path: string }, basePath: string): Endpoint | null {
  if (route.method === 'HEAD' || route.method === 'OPTIONS') return null;
  const path = route.path.slice(basePath.length).replace('*', '{id}') || '/';
  const operation = OPERATIONS[`${route.method} ${path}`];
  if (!operation) return null;
  const body = route.schema?.body as JsonSchema | undefined;
  return { method: String(route.method).toLowerCase() as Endpoint['method'], path, body, operation };
}
