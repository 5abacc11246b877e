/** `/api/cloud/v1/budgets`: budgets of organisations and keys. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Authorize } from '../accounts/authorize.js';
import { API_BASE } from '../api/routes.js';
import { type BudgetChangesParts, removeBudget, setBudget, visibleBudgets } from './budget-changes.js';
import { addressOf, type BudgetName, type DeliveredAlert, type Delivery } from './budget-store.js';
import type { BudgetState } from './budgets.js';

export interface BudgetRoutesParts extends BudgetChangesParts {
  authorize: Authorize;
}

const OF_ORG = `${API_BASE}/budgets/:org`;
const OF_KEY = `${OF_ORG}/keys/:id`;
const BODY_LIMIT = 16 * 1024;

export function budgetRoutes(api: FastifyInstance, parts: BudgetRoutesParts): void {
  const { authorize } = parts;
  api.get(`${API_BASE}/budgets`, async (request) => {
    return { budgets: visibleBudgets(parts, authorize(request)).map(budgetToJson) };
  });
  for (const url of [OF_ORG, OF_KEY]) {
    api.put(url, { bodyLimit: BODY_LIMIT }, async (request) => {
      const [actor, name] = [authorize(request), nameIn(request)];
      setBudget(parts, actor, name, request.body);
      return visibleBudgets(parts, actor).filter(isOf(name)).map(budgetToJson)[0];
    });
    api.delete(url, async (request, reply) => {
      removeBudget(parts, authorize(request), nameIn(request));
      reply.code(204);
    });
  }
}

function nameIn(request: FastifyRequest): BudgetName {
  const { org, id = '' } = request.params as { org: string; id?: string };
  return { org, keyId: id };
}

function isOf(name: BudgetName) {
  return ({ org, keyId }: BudgetName): boolean => org === name.org && keyId === name.keyId;
}

/** Times are Unix seconds. URLs of webhooks may contain secrets, so only their hosts are shown. */
export function budgetToJson({ org, keyId, month, tokens, requests, used, ...rest }: BudgetState) {
  return {
    org,
    key_id: keyId === '' ? null : keyId,
    month,
    tokens,
    requests,
    used_tokens: used.tokens,
    used_requests: used.requests,
    warn_percent: rest.warnPercent,
    webhook_host: rest.webhook === null ? null : new URL(rest.webhook).host,
    email: rest.email,
    set_by_operator: rest.isFixed,
    alerts: rest.alerts.map(alertToJson),
  };
}

function alertToJson({ unit, level, used, at, deliveries }: DeliveredAlert) {
  const [mail, webhook] = [true, false].map((isMail) =>
    deliveries.find((each) => (addressOf(each) !== null) === isMail),
  );
  const error = webhook?.error ?? mail?.error ?? null;
  return { unit, level, used, at: Math.floor(at / 1000), webhook: stateOf(webhook), email: stateOf(mail), error };
}

function stateOf(delivery: Delivery | undefined): 'delivered' | 'failed' | 'pending' | null {
  if (delivery === undefined) return null;
  if (delivery.error === null && delivery.attempts > 0) return 'delivered';
  return delivery.due === null ? 'failed' : 'pending';
}

/** A budget as the API and `chasqui budgets` print it. */
export type BudgetJson = ReturnType<typeof budgetToJson>;
