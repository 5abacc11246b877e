/** Describes all endpoints, for programs as OpenAPI and for people as a page. */
import type { FastifyInstance } from 'fastify';
import { ERRORS } from '../../../errors.js';
import { errorBodySchema } from '../../../http/error-body.js';
import { collectEndpoints } from '../../../http/openapi/collect-endpoints.js';
import { type OpenApiDocument, toDocument } from '../../../http/openapi/document.js';
import type { Operation } from '../../../http/openapi/operation.js';
import { toPage } from '../../../http/openapi/page.js';
import { anyOf } from '../../../http/schema/json-schema.js';
import { VERSION } from '../../../version.js';
import type { AppContext } from '../../context.js';
import { anthropicErrorSchema } from '../../shared/anthropic-error-schema.js';
import { defaultOf } from '../../shared/chat/field-defaults.js';

/** Call it before the routes to describe. */
export function documentationRoutes(app: FastifyInstance, { pool, profile, basePath }: AppContext): void {
  const endpoints = collectEndpoints(app, basePath);
  let document: OpenApiDocument | undefined;
  const types = [ERRORS.unknown_url.type];
  const codes = ['unknown_url'] as const;
  const describe = (): OpenApiDocument => {
    document ??= toDocument(endpoints, {
      profile,
      basePath,
      model: pool.list()[0]?.id ?? 'model',
      version: VERSION,
      defaultOf: (field, schema) => defaultOf(field, schema, profile),
      unknownPath: anyOf(errorBodySchema(types, codes), anthropicErrorSchema(types, codes)),
    });
    return document;
  };

  app.get('/openapi.json', { config: { operation: showDocument } }, async () => describe());
  app.get('/docs', { config: { operation: showPage } }, async (_request, reply) => {
    reply.header('content-security-policy', "default-src 'none'; style-src 'unsafe-inline'");
    return reply.type('text/html; charset=utf-8').send(toPage(describe()));
  });
}

const showDocument: Operation = {
  id: 'showOpenApi',
  tag: 'Server',
  summary: 'This API as an OpenAPI 3.1 document.',
  reply: { json: { name: 'OpenApi', schema: { type: 'object' } } },
};

const showPage: Operation = {
  id: 'showDocs',
  tag: 'Server',
  summary: 'The OpenAPI document as a web page.',
  reply: { text: 'text/html' },
};
