/** Before validation: an item without a `type` is a message, or refers to one by its id; schemas tell items apart by it. */
import type { FastifyRequest } from 'fastify';

/** `field` is the field of the body that holds items. */
export function nameItems(field: 'input' | 'items') {
  return async ({ body }: FastifyRequest): Promise<void> => {
    const items = ((body ?? {}) as Record<string, unknown>)[field];
    if (!Array.isArray(items)) return;
    for (const item of items) {
      if (typeof item !== 'object' || item === null || item.type != null) continue;
      if ('role' in item) item.type = 'message';
      else if ('id' in item) item.type = 'item_reference';
    }
  };
}
