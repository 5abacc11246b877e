/** The body that sets a budget. */
const LIMIT = { type: ['integer', 'null'], minimum: 1, maximum: 1e15 } as const;

export const budgetSchema = {
  type: 'object',
  properties: {
    tokens: LIMIT,
    requests: LIMIT,
    warn_percent: { type: 'integer', minimum: 1, maximum: 100 },
    webhook: { type: ['string', 'null'] },
    email: { type: ['string', 'null'] },
  },
} as const;

export interface BudgetBody {
  tokens?: number | null;
  requests?: number | null;
  warn_percent?: number;
  webhook?: string | null;
  email?: string | null;
}
