/** The app's own port: pages, management API, and completions for the app's chat. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import fastifyStatic from '@fastify/static';
import { Ajv, type ErrorObject } from 'ajv';
import type { FastifyInstance } from 'fastify';
import { buildApp } from '../api/app.js';
import type { AppOptions } from '../api/context.js';
import { toValidationError } from '../http/validation-error.js';
import { FAST_SCHEMAS } from '../options/fast-schemas.js';
import { desktop } from '../profiles/desktop.js';
import { watchRoutes } from './api-document.js';
import type { RequestFields } from './desktop-log.js';
import { type AppKeys, guardApp } from './guard.js';
import { CONTENT_POLICY } from './pages.js';
import { chatsRoutes } from './routes/chats.js';
import { completionsRoutes } from './routes/completions.js';
import type { DesktopApp, SchemaTypes } from './routes/context.js';
import { downloadsRoutes } from './routes/downloads.js';
import { eventsRoute } from './routes/events.js';
import { foldersRoutes } from './routes/folders.js';
import { hubRoutes } from './routes/hub.js';
import { mcpRoutes } from './routes/mcp.js';
import { modelsRoutes } from './routes/models.js';
import { sandboxRoute } from './routes/sandbox.js';
import { serverRoutes } from './routes/server.js';
import { optionsRoute, settingsRoutes } from './routes/settings.js';
import { watchingRoutes } from './routes/watching.js';
import { sharingRoutes } from './sharing/routes.js';
import { explainUnknownPages } from './unknown-pages.js';

/** Base path of the OpenAI-compatible endpoints. */
export const COMPLETIONS_PATH = '/app';

const ROUTES = [
  serverRoutes,
  sharingRoutes,
  modelsRoutes,
  downloadsRoutes,
  hubRoutes,
  optionsRoute,
  settingsRoutes,
  watchingRoutes,
  chatsRoutes,
  foldersRoutes,
  completionsRoutes,
  mcpRoutes,
  eventsRoute,
  sandboxRoute,
];

/** Successful and cancelled requests of the pages are not logged. */
export function isRoutine({ path = '', status = 0 }: RequestFields): boolean {
  return (status < 400 || status === 499) && !path.startsWith(`${COMPLETIONS_PATH}/`);
}

export interface AppPortSettings {
  /** Folder of the bundled pages. */
  pages: string;
  keys: AppKeys;
  port(): number;
  options: AppOptions;
}

export function buildAppPort(app: DesktopApp, { pages, keys, port, options }: AppPortSettings): FastifyInstance {
  return buildApp(app.instances.pool, desktop, {
    ...options,
    basePath: COMPLETIONS_PATH,
    corsOrigins: [],
    guard: (fastify) => {
      guardApp(fastify, keys, port);
      secureHeaders(fastify);
      explainUnknownPages(fastify);
    },
    routes: (fastify) => {
      fastify.register(async (scope) => {
        readQueries(scope);
        const toDocument = watchRoutes(scope, port);
        for (const route of ROUTES) route(scope.withTypeProvider<SchemaTypes>(), app);
        const schema = { summary: 'This document', produces: { 200: ['application/json'] } };
        scope.get('/api/v1/openapi.json', { schema }, async () => toDocument());
      });
      servePages(fastify, pages);
    },
  });
}

/** Coerces strings in paths and queries. Bodies use the validator of all servers. */
function readQueries(app: FastifyInstance): void {
  const ajv = new Ajv({ ...FAST_SCHEMAS, coerceTypes: true, useDefaults: true, allowUnionTypes: true, verbose: true });
  const bodies = app.validatorCompiler;
  app.setValidatorCompiler((route) => {
    if (route.httpPart === 'body' && bodies !== undefined) return bodies(route);
    const validate = ajv.compile(route.schema as object);
    return (value: unknown) => {
      if (validate(value)) return { value };
      return { error: toValidationError((validate.errors as ErrorObject[])[0] as ErrorObject) };
    };
  });
}

function secureHeaders(app: FastifyInstance): void {
  app.addHook('onRequest', async (_request, reply) => {
    reply.headers({
      'content-security-policy': CONTENT_POLICY,
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
    });
  });
}

/** Registers one route per file, so unknown paths get the usual error. */
function servePages(app: FastifyInstance, pages: string): void {
  if (!existsSync(pages)) {
    app.get('/', (_request, reply) =>
      reply.type('text/plain').send('The pages of the app are missing. Build them: npm run build\n'),
    );
    return;
  }
  const files = { wildcard: false, preCompressed: true, cacheControl: true };
  app.register(fastifyStatic, { ...files, root: pages, maxAge: 0, globIgnore: ['assets/**', 'web-page.html*'] });
  // File names contain a hash of the content.
  const assets = { root: path.join(pages, 'assets'), prefix: '/assets/', maxAge: '365d', immutable: true };
  app.register(fastifyStatic, { ...files, ...assets, decorateReply: false });
}
