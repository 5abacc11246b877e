/** One page of a list of items, as the query of a request asks for it. */

import type { FastifyRequest } from 'fastify';
import { ChasquiError } from '../../../errors.js';
import type { StoredItem } from './input-schema.js';
import type { InputItemList, OutputItem } from './object-schema.js';

const DEFAULT_LENGTH = 20;
const MAX_LENGTH = 100;

/** What `toItemPage` reads, for descriptions of endpoints. */
export const PAGE_QUERY =
  'In the query: `order` (`desc` is the default, or `asc`), `limit` (1 to 100, default 20) and `after` (the id of an item).';

/** Throws `invalid_value`. */
export function toItemPage(
  items: readonly (StoredItem | OutputItem)[],
  query: Readonly<Record<string, unknown>>,
): InputItemList {
  const { order = 'desc', limit = String(DEFAULT_LENGTH), after } = query;
  if (order !== 'asc' && order !== 'desc') throw wrongQuery('order', '"asc" or "desc"');
  const count = /^\d{1,3}$/.test(String(limit)) ? Number(limit) : 0;
  if (count < 1 || count > MAX_LENGTH) throw wrongQuery('limit', `a whole number from 1 to ${MAX_LENGTH}`);
  const sorted = order === 'asc' ? items : [...items].reverse();
  const begin = after === undefined ? 0 : sorted.findIndex(({ id }) => id === after) + 1;
  if (after !== undefined && begin === 0) throw wrongQuery('after', 'the id of an item of this list');
  return toItemList(sorted.slice(begin, begin + count), begin + count < sorted.length);
}

export function toItemList(data: (StoredItem | OutputItem)[], has_more: boolean): InputItemList {
  return { object: 'list', data, first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null, has_more };
}

export function wrongQuery(name: string, expected: string): ChasquiError {
  return new ChasquiError('invalid_value', `\`${name}\` must be ${expected}.`, name);
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
