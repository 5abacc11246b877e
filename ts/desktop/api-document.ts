/** The management API as an OpenAPI document, generated from the schemas of its routes. */
import type { FastifyInstance, RouteOptions } from 'fastify';
import { ERRORS, type ErrorCode } from '../errors.js';
import { errorBodySchema } from '../http/error-body.js';
import { VERSION } from '../version.js';
import { cookieName } from './guard.js';

declare module 'fastify' {
  interface FastifySchema {
    summary?: string;
    /** Media types of replies without a schema, by status; empty for replies without a body. */
    produces?: Readonly<Record<string, readonly string[]>>;
  }
}

const ERROR_TYPES = [...new Set(Object.values(ERRORS).map(({ type }) => type))];

type Schema = Readonly<Record<string, unknown>>;

interface RouteSchema {
  summary?: string;
  body?: Schema;
  params?: ObjectSchema;
  querystring?: ObjectSchema;
  response?: Readonly<Record<string, Schema>>;
  produces?: Readonly<Record<string, readonly string[]>>;
}

interface ObjectSchema {
  properties?: Readonly<Record<string, Schema>>;
  required?: readonly string[];
}

const DESCRIPTION = `API of the chasqui desktop app, for its pages and commands, at the app's own port. Programs send the token of
\`desktop.json\` as \`Authorization: Bearer <token>\`. \`GET /api/v1/events\` sends changes as server-sent events.`;

/** Call before adding routes. Returns a function that builds the document. */
export function watchRoutes(app: FastifyInstance, port: () => number): () => object {
  const paths: Record<string, Record<string, object>> = {};
  app.addHook('onRoute', ({ method, url, schema }: RouteOptions) => {
    for (const each of [method].flat().filter((name) => name !== 'HEAD' && name !== 'OPTIONS')) {
      const path = url.replace(/:(\w+)/g, '{$1}');
      paths[path] = { ...paths[path], [each.toLowerCase()]: toOperation((schema ?? {}) as RouteSchema) };
    }
  });
  return () => ({
    openapi: '3.1.1',
    info: { title: 'chasqui, the desktop app', version: VERSION, description: DESCRIPTION },
    servers: [{ url: '/' }],
    security: [{ token: [] }, { page: [] }],
    paths,
    components: {
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer' },
        page: { type: 'apiKey', in: 'cookie', name: cookieName(port()) },
      },
      schemas: { Error: errorBodySchema(ERROR_TYPES, Object.keys(ERRORS) as ErrorCode[]) },
    },
  });
}

function toOperation({ summary = '', body, params, querystring, response, produces }: RouteSchema): object {
  const parameters = [...toParameters(params, 'path'), ...toParameters(querystring, 'query')];
  return {
    summary,
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: { required: true, content: { 'application/json': { schema: body } } } }),
    responses: {
      ...(response === undefined && produces === undefined && { 200: { description: summary } }),
      ...toReplies(summary, response ?? {}),
      ...toOtherReplies(summary, produces ?? {}),
      default: {
        description: 'An error',
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
      },
    },
  };
}

function toParameters(schema: ObjectSchema | undefined, where: 'path' | 'query'): object[] {
  return Object.entries(schema?.properties ?? {}).map(([name, each]) => ({
    name,
    in: where,
    required: where === 'path' || (schema?.required?.includes(name) === true && !('default' in each)),
    schema: each,
  }));
}

function toReplies(summary: string, response: Readonly<Record<string, Schema>>): object {
  return Object.fromEntries(
    Object.entries(response).map(([status, schema]) => [
      status,
      { description: summary, content: { 'application/json': { schema } } },
    ]),
  );
}

function toOtherReplies(summary: string, produces: Readonly<Record<string, readonly string[]>>): object {
  return Object.fromEntries(
    Object.entries(produces).map(([status, types]) => [
      status,
      { description: summary, content: Object.fromEntries(types.map((type) => [type, { schema: {} }])) },
    ]),
  );
}
