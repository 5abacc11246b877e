/** Replies to changes wait for the disk: a confirmed change survives a power failure. */
import type { FastifyInstance } from 'fastify';
import type { Database } from './database.js';

/** Call it before the routes are added. */
export function confirmChanges(api: FastifyInstance, database: Pick<Database, 'synced'>): void {
  api.addHook('onSend', async ({ method }, { statusCode }) => {
    if (method !== 'GET' && statusCode < 400) await database.synced();
  });
}
