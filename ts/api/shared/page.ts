/** One page of a list, as the query of a request asks for it. */
import { type ChasquiError, invalidValue } from '../../errors.js';

export interface Page<Item> {
  object: 'list';
  data: Item[];
  first_id: string | null;
  last_id: string | null;
  has_more: boolean;
}

export interface PageSettings {
  /** The largest `limit`. */
  limit: number;
  /** Default length of a page; default `limit`. */
  length?: number;
}

/** `items`: the oldest first. Throws `invalid_value`. */
export function toPage<Item extends { id: string }>(
  items: readonly Item[],
  { order = 'desc', limit, after }: Readonly<Record<string, unknown>>,
  settings: PageSettings,
): Page<Item> {
  const { length = settings.limit } = settings;
  if (order !== 'asc' && order !== 'desc') throw wrongQuery('order', '"asc" or "desc"');
  const count = limit === undefined ? length : /^\d{1,5}$/.test(String(limit)) ? Number(limit) : 0;
  if (count < 1 || count > settings.limit) throw wrongQuery('limit', `a whole number from 1 to ${settings.limit}`);
  const sorted = order === 'asc' ? items : [...items].reverse();
  const begin = after === undefined ? 0 : sorted.findIndex(({ id }) => id === after) + 1;
  if (after !== undefined && begin === 0) throw wrongQuery('after', 'the id of an item of this list');
  const end = begin + count;
  const data = sorted.slice(begin, end);
  return {
    object: 'list',
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: end < sorted.length,
  };
}

export function wrongQuery(name: string, expected: string): ChasquiError {
  return invalidValue(`\`${name}\` must be ${expected}.`, name);
}
