/** Further paths of llama-server for endpoints that local modes have: without `/v1`, and in the plural. */
import type { FastifyInstance } from 'fastify';
import { requestNameOf } from '../../http/openapi/operation.js';

const PATHS: Readonly<Record<string, string>> = {
  '/v1/chat/completions': '/chat/completions',
  '/v1/chat/completions/input_tokens': '/chat/completions/input_tokens',
  '/v1/models': '/models',
  '/v1/responses': '/responses',
  '/v1/responses/input_tokens': '/responses/input_tokens',
  '/embedding': '/embeddings',
  '/completion': '/completions',
};

/** Registers the other path of each route of this scope that has one. Call it before the routes. */
export function addUnprefixedPaths(scope: FastifyInstance): void {
  scope.addHook('onRoute', (route) => {
    const { config } = route;
    const url = PATHS[route.url];
    // Fastify adds HEAD itself.
    if (url === undefined || config?.operation === undefined || route.method === 'HEAD' || 'wsHandler' in route) return;
    const operation = {
      ...config.operation,
      id: `${config.operation.id}Unprefixed`,
      tag: 'llama-server' as const,
      summary: `Same as \`${route.url}\` (llama-server).`,
      requestName: requestNameOf(config.operation),
    };
    scope.route({ ...route, url, config: { ...config, operation } });
  });
}
