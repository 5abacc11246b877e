/** Reads the query of a list of items: one page. */

import type { FastifyRequest } from 'fastify';
import { toPage } from '../../shared/page.js';
import type { StoredItem } from './input-schema.js';
import type { InputItemList, OutputItem } from './object-schema.js';

const DEFAULT_LENGTH = 20;
const MAX_LENGTH = 100;

/** The query parameters of `toItemPage`, for descriptions of endpoints. */
export const PAGE_QUERY =
  'In the query: `order` (`desc` is the default, or `asc`), `limit` (1 to 100, default 20) and `after` (the id of an item).';

/** Throws `invalid_value`. */
export function toItemPage(
  items: readonly (StoredItem | OutputItem)[],
  query: Readonly<Record<string, unknown>>,
): InputItemList {
  return toPage(items, query, { limit: MAX_LENGTH, length: DEFAULT_LENGTH });
}

export function toItemList(data: (StoredItem | OutputItem)[], has_more: boolean): InputItemList {
  return { object: 'list', data, first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null, has_more };
}

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
