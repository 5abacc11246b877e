/** `chasqui budgets`: limits of tokens and requests per month. */
import { Command } from 'commander';
import type { BudgetJson } from '../../cloud/budgets/routes.js';
import { ownCall } from '../../own-call.js';
import { addTableOptions, givenOptions } from '../options/table-options.js';
import { textTable } from '../output/table.js';
import { common, type Target, withTarget } from './apps.js';
import { BUDGET_KEY_OPTION, BUDGET_OPTIONS } from './option-table.js';
import { print, printJson, withHelp } from './outcome.js';

type Parsed = Readonly<Record<string, unknown>>;

export function budgetsCommand(): Command {
  return withHelp(new Command('budgets'))
    .description('Limit the tokens and requests of an organisation, or of one of its keys, per calendar month (UTC).')
    .addCommand(
      addTableOptions(
        common('set', 'Set a budget. Requests beyond it are refused until the month ends.'),
        BUDGET_OPTIONS,
      ).action((parsed: Parsed) => withTarget(parsed, (target) => set(target, parsed))),
    )
    .addCommand(
      common('list', 'List the budgets and the usage of this month.').action((parsed: Parsed) =>
        withTarget(parsed, list),
      ),
    )
    .addCommand(
      addTableOptions(common('rm', 'Remove a budget.'), BUDGET_KEY_OPTION).action((parsed: Parsed) =>
        withTarget(parsed, (target) => remove(target, parsed)),
      ),
    );
}

async function set({ cloud, org, json }: Target, parsed: Parsed): Promise<void> {
  const { tokens, requests, warnPercent, webhook, email } = givenOptions(BUDGET_OPTIONS, parsed, {});
  const body = { tokens, requests, warn_percent: warnPercent, webhook, email };
  const budget = await cloud.put<BudgetJson>(routeOf(org, parsed), body);
  print(json, budget, `The budget of ${nameOf(budget)} is set: ${limits(budget)} per month.`);
}

async function list({ cloud, json }: Target): Promise<void> {
  const { budgets } = await cloud.get<{ budgets: BudgetJson[] }>('/budgets');
  if (json) return printJson(budgets);
  if (budgets.length === 0) return console.log(`No budgets. Set one: \`${ownCall()} budgets set\``);
  const rows = budgets.map((budget) => {
    const { tokens, requests, used_tokens: usedTokens, used_requests: usedRequests } = budget;
    const { warn_percent: percent, alerts, webhook_host: host, email } = budget;
    const last = alerts.at(-1);
    const alert = last === undefined ? '-' : `${last.level} (${[last.unit, ...deliveriesOf(last)].join(', ')})`;
    const cells = [
      usage(usedTokens, tokens),
      usage(usedRequests, requests),
      `${percent} %`,
      [host, email].filter((each) => each !== null).join(', ') || '-',
      alert,
    ];
    return [nameOf(budget), ...cells];
  });
  console.log(textTable([['BUDGET', 'TOKENS', 'REQUESTS', 'WARNS AT', 'ALERTS TO', 'ALERT'], ...rows]));
}

function deliveriesOf({ webhook, email }: BudgetJson['alerts'][number]): string[] {
  if (webhook === null || email === null || webhook === email)
    return [webhook ?? email].filter((each) => each !== null);
  return [`webhook ${webhook}`, `e-mail ${email}`];
}

async function remove({ cloud, org, json }: Target, parsed: Parsed): Promise<void> {
  await cloud.delete(routeOf(org, parsed));
  print(json, { removed: true }, 'The budget is removed.');
}

function routeOf(org: string, parsed: Parsed): string {
  const { keyId } = givenOptions(BUDGET_KEY_OPTION, parsed, {});
  const ofOrg = `/budgets/${encodeURIComponent(org)}`;
  return keyId === undefined ? ofOrg : `${ofOrg}/keys/${encodeURIComponent(keyId)}`;
}

function nameOf({ org, key_id: key }: BudgetJson): string {
  return key === null ? org : `${org}, key ${key}`;
}

function limits({ tokens, requests }: BudgetJson): string {
  return [tokens !== null && `${tokens} tokens`, requests !== null && `${requests} requests`]
    .filter(Boolean)
    .join(' and ');
}

function usage(used: number, limit: number | null): string {
  return limit === null ? String(used) : `${used} of ${limit}`;
}
