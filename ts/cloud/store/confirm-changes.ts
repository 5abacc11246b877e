/** Replies to changes wait for the disk: a confirmed change survives a power failure. */
import type { FastifyInstance } from 'fastify';

interface Store {
  synced(): Promise<void>;
}

/** Call it before the routes are added. */
export function confirmChanges(api: FastifyInstance, stores: readonly Store[]): void {
  api.addHook('onSend', async ({ method }, { statusCode }) => {
    if (method !== 'GET' && statusCode < 400) await Promise.all(stores.map((store) => store.synced()));
  });
}
