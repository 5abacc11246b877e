/** Sets, removes and lists budgets, for the API and the dashboard. */
import { Ajv, type ErrorObject } from 'ajv';
import { ChasquiError, invalidValue } from '../../errors.js';
import { toValidationError } from '../../http/validation-error.js';
import { checkUrlName } from '../../keys/key-settings.js';
import { FAST_SCHEMAS } from '../../options/fast-schemas.js';
import type { Accounts } from '../accounts/accounts.js';
import type { Actor } from '../accounts/audit.js';
import { beyond, isWithin } from '../accounts/authorize.js';
import { objectOf } from '../accounts/parse-input.js';
import { checkAddress } from '../mail/mailer.js';
import { type BudgetBody, budgetSchema } from './budget-schema.js';
import type { Budget, BudgetName } from './budget-store.js';
import type { BudgetState, Budgets } from './budgets.js';

export interface BudgetChangesParts {
  budgets: Budgets;
  accounts: Pick<Accounts, 'keys' | 'audit'>;
}

const DEFAULT_WARN_PERCENT = 80;
const isBudget = new Ajv({ ...FAST_SCHEMAS, verbose: true, allowUnionTypes: true }).compile<BudgetBody>(budgetSchema);

/**
 * @throws {ChasquiError} `permission_denied` beyond the actor's reach, or for a budget that an unrestricted actor has set;
 * `key_not_found`; `invalid_value` and others that name the field
 */
export function setBudget(
  { budgets, accounts }: BudgetChangesParts,
  actor: Actor,
  name: BudgetName,
  body: unknown,
): void {
  checkChange(budgets, actor, name);
  objectOf(body, '', Object.keys(budgetSchema.properties));
  if (!isBudget(body)) throw toValidationError((isBudget.errors as ErrorObject[])[0] as ErrorObject);
  const { org, keyId } = name;
  checkUrlName('org', org);
  const key = keyId === '' ? null : accounts.keys.find(keyId);
  if (keyId !== '' && (key === null || !isWithin(key, actor) || (key.org ?? org) !== org)) {
    throw new ChasquiError('key_not_found', `No key of ${org} has the id \`${keyId.slice(0, 40)}\`.`);
  }
  const { tokens = null, requests = null, warn_percent: warnPercent = DEFAULT_WARN_PERCENT } = body;
  if (tokens === null && requests === null) {
    throw invalidValue('`tokens` or `requests` must be a number. Remove the budget to set no limit.', 'tokens');
  }
  const targets = { webhook: webhookIn(budgets, org, body), email: emailIn(budgets, body) };
  budgets.set({ org, keyId, tokens, requests, warnPercent, ...targets, isFixed: actor.org === null });
  const detail = { tokens, requests, warn_percent: warnPercent };
  accounts.audit.add({ actor, action: 'budget.set', org, subject: subjectOf(name), detail });
}

function webhookIn({ webhooks }: Budgets, org: string, { webhook }: BudgetBody): string | null {
  return webhook ? webhooks.check(org, webhook, 'webhook') : null;
}

function emailIn({ sendsMail }: Budgets, { email }: BudgetBody): string | null {
  if (!email) return null;
  if (!sendsMail) throw invalidValue('`email` needs an SMTP server, which the operator has not set.', 'email');
  return checkAddress(email, 'email');
}

export function removeBudget({ budgets, accounts }: BudgetChangesParts, actor: Actor, name: BudgetName): void {
  checkChange(budgets, actor, name);
  if (budgets.find(name) === null) throw new ChasquiError('key_not_found', `${subjectOf(name)} has no budget.`);
  budgets.remove(name);
  accounts.audit.add({ actor, action: 'budget.remove', org: name.org, subject: subjectOf(name) });
}

export function visibleBudgets({ budgets }: BudgetChangesParts, actor: Actor): BudgetState[] {
  return budgets.list().filter(({ org }) => isWithin({ org }, actor));
}

export function mayChange({ isFixed }: Pick<Budget, 'isFixed'>, { org }: Pick<Actor, 'org'>): boolean {
  return !isFixed || org === null;
}

function checkChange(budgets: Budgets, actor: Actor, name: BudgetName): void {
  if (!isWithin({ org: name.org }, actor)) throw beyond(actor);
  const known = budgets.find(name);
  if (known === null || mayChange(known, actor)) return;
  throw new ChasquiError('permission_denied', `The operator of the cloud has set the budget of ${subjectOf(name)}.`);
}

function subjectOf({ org, keyId }: BudgetName): string {
  return keyId === '' ? org : `${org}/${keyId}`;
}
