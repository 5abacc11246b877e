/** The list of models in the form of Anthropic, page by page. */
import { invalidValue } from '../../../errors.js';
import type { ModelEntry } from '../../../models/pool.js';
import type { AnthropicModel, AnthropicModelList } from './schema.js';

/** Query parameters, unparsed. */
export interface PageQuery {
  limit?: unknown;
  after_id?: unknown;
  before_id?: unknown;
}

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 1000;

export function toAnthropicModel({ id, created, engine }: ModelEntry): AnthropicModel {
  const length = engine?.model.generates ? engine.model.contextLength : null;
  return {
    type: 'model',
    id,
    display_name: id,
    created_at: new Date(created * 1000).toISOString(),
    max_input_tokens: length,
    max_tokens: length,
  };
}

/** Throws `invalid_value` for an invalid limit. Skips ids that no longer exist. */
export function toAnthropicList(entries: readonly ModelEntry[], query: PageQuery): AnthropicModelList {
  const limit = readLimit(query.limit);
  const before = entries.findIndex(({ id }) => id === query.before_id);
  const after = entries.findIndex(({ id }) => id === query.after_id);
  const [first, end] = before < 0 ? [after + 1, after + 1 + limit] : [Math.max(0, before - limit), before];
  const page = entries.slice(first, end);
  return {
    data: page.map(toAnthropicModel),
    has_more: before < 0 ? end < entries.length : first > 0,
    first_id: page[0]?.id ?? null,
    last_id: page.at(-1)?.id ?? null,
  };
}

function readLimit(limit: unknown): number {
  if (limit === undefined) return DEFAULT_LIMIT;
  const number = Number(limit);
  if (Number.isInteger(number) && number >= 1 && number <= MAX_LIMIT) return number;
  throw invalidValue(`\`limit\` must be a whole number between 1 and ${MAX_LIMIT}.`, 'limit');
}
