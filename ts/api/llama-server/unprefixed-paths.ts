/** Further paths of llama-server for endpoints that local modes have: without `/v1`, and in the plural. */
import type { FastifyInstance } from 'fastify';
import { errorHandler } from '../../http/error-handler.js';
import { requestNameOf } from '../../http/openapi/operation.js';
import type { AppContext } from '../context.js';
import { nativeErrorSchema, toNativeError } from './native-errors.js';

const PATHS: Readonly<Record<string, string>> = {
  '/v1/audio/transcriptions': '/audio/transcriptions',
  '/v1/chat/completions': '/chat/completions',
  '/v1/chat/completions/input_tokens': '/chat/completions/input_tokens',
  '/v1/models': '/models',
  '/v1/responses': '/responses',
  '/v1/responses/input_tokens': '/responses/input_tokens',
  '/embedding': '/embeddings',
  '/completion': '/completions',
};

/** Registers the other path of each route of this scope that has one. Call it before the routes. */
export function addUnprefixedPaths(scope: FastifyInstance, { options }: AppContext): void {
  const nativeErrors = errorHandler(options, toNativeError);
  // `this` is the scope of the route, which may have a parser of its own.
  scope.addHook('onRoute', function (route) {
    const { config } = route;
    const url = PATHS[route.url];
    // Fastify adds HEAD itself.
    if (url === undefined || config?.operation === undefined || route.method === 'HEAD' || 'wsHandler' in route) return;
    const { errorBody = nativeErrorSchema } = config.operation;
    const operation = {
      ...config.operation,
      errorBody,
      id: `${config.operation.id}Unprefixed`,
      tag: 'llama-server' as const,
      summary: `Same as \`${route.url}\` (llama-server).`,
      requestName: requestNameOf(config.operation),
    };
    this.route({ errorHandler: nativeErrors, ...route, url, config: { ...config, operation } });
  });
}
