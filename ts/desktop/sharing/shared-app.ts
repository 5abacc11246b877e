/** The application that other devices reach. */
import type { FastifyInstance } from 'fastify';
import { buildApp } from '../../api/app.js';
import type { AppOptions } from '../../api/context.js';
import { type KeyCheck, requireApiKey } from '../../http/guards/authentication.js';
import type { ModelPool } from '../../models/pool.js';
import { desktop } from '../../profiles/desktop.js';
import { ownNames, reachableAt } from '../../server/start.js';
import { webPage } from '../web-page.js';

const ANY_ADDRESS = '0.0.0.0';

/**
 * Unlike the server at `localhost`, it does not let clients download and delete models, and probes and metrics need the key.
 * The chat page needs none: it contains nothing about this computer.
 */
export function buildSharedApp(
  pool: ModelPool,
  opens: KeyCheck,
  { library: _, ...options }: AppOptions,
): FastifyInstance {
  return buildApp(
    pool,
    { ...desktop, authentication: 'bearer', corsOrigins: [] },
    {
      ...options,
      ...reachableAt(ANY_ADDRESS),
      allowedHosts: ownNames(ANY_ADDRESS),
      access: opens,
      guard: (app) => {
        webPage(app);
        requireApiKey(app, { scheme: 'bearer', opens, openUrls: [] });
      },
    },
  );
}
