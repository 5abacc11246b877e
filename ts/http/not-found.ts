/** Paths that lead nowhere, and paths that do but not by this method. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ChasquiError } from '../errors.js';

const ENDPOINTS = 'POST /v1/chat/completions, GET /v1/models, GET /v1/models/{id} and GET /health';

export function unknownUrl(request: FastifyRequest): ChasquiError {
  const path = request.url.split('?', 1)[0] ?? '';
  return new ChasquiError('unknown_url', `There is no \`${request.method} ${path}\` here. ${adviceFor(path)}`);
}

/** A client's base URL with `/v1` forgotten or said twice is the usual reason. */
function adviceFor(path: string): string {
  const rest = path.replace(/^\/+((v1)(\/+|$))*/, '').replace(/\/+$/, '');
  const meant = `/v1/${rest}`;
  if (path === meant || !/^(chat\/completions|models(\/.*)?)$/.test(rest)) return `There are ${ENDPOINTS}.`;
  if (/^\/+v1\/+v1/.test(path))
    return `Did you mean \`${meant}\`? The base URL of your client already ends in \`/v1\`.`;
  if (!/^\/+v1\//.test(path)) return `Did you mean \`${meant}\`? The base URL of a client must end in \`/v1\`.`;
  return `Did you mean \`${meant}\`?`;
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/** Answers 405 to the methods that `url` does not have. Before the body is read: what it holds does not matter. */
export function refuseOtherMethods(app: FastifyInstance, url: string, allowed: readonly string[]): void {
  app.route({
    method: METHODS.filter((method) => !allowed.includes(method)),
    url,
    onRequest: async (request, reply) => {
      reply.header('allow', allowed.join(', '));
      throw new ChasquiError(
        'method_not_allowed',
        `\`${url}\` takes ${allowed.join(' or ')}, but this request is a ${request.method}.`,
      );
    },
    handler: () => undefined,
  });
}
