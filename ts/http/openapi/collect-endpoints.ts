/** The endpoints of an application, collected while its routes are registered. */
import type { FastifyInstance } from 'fastify';
import type { JsonSchema } from '../schema/json-schema.js';
import type { Operation } from './operation.js';

export interface Endpoint {
  method: string;
  /** Below the base path, as OpenAPI writes it: `/v1/models/{id}`. */
  path: string;
  body: JsonSchema | undefined;
  operation: Operation;
}

/** Returns a list that grows with every route with an `Operation`. Call it before the first route. */
export function collectEndpoints(app: FastifyInstance, basePath: string): readonly Endpoint[] {
  const endpoints: Endpoint[] = [];
  app.addHook('onRoute', ({ method, path, schema, config }) => {
    // Fastify adds a HEAD route to each GET route, with the same settings.
    if (config?.operation === undefined || method === 'HEAD') return;
    endpoints.push({
      method: String(method).toLowerCase(),
      path: toTemplate(path.slice(basePath.length)) || '/',
      body: schema?.body as JsonSchema | undefined,
      operation: config.operation,
    });
  });
  return endpoints;
}

/** `/v1/models/*` and `/things/:name` as OpenAPI writes them. */
function toTemplate(path: string): string {
  return path.replace('*', '{id}').replace(/:(\w+)/g, '{$1}');
}
