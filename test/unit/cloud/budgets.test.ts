// Budgets: what they count, refuse and announce, with a clock of the test's own.
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Actor } from '../../../ts/cloud/accounts/audit.ts';
import { mayChange, removeBudget, setBudget, visibleBudgets } from '../../../ts/cloud/budgets/budget-changes.ts';
import { Budgets } from '../../../ts/cloud/budgets/budgets.ts';
import { budgetToJson } from '../../../ts/cloud/budgets/routes.ts';
import { sign } from '../../../ts/cloud/webhooks/webhooks.ts';
import type { ChasquiError } from '../../../ts/errors.ts';
import { type TestAccounts, testAccounts } from '../../support/cloud-accounts.ts';
import { until } from '../../support/until.ts';

const KEY = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const LIMITS = { warnPercent: 80, webhook: null, email: null, isFixed: false };
const OPERATOR: Actor = { kind: 'local', name: 'operator', org: null, app: null, address: null };
const MEMBER: Actor = { ...OPERATOR, kind: 'key', org: 'acme' };
const START = Date.UTC(2026, 10, 29, 12);

const test = suite<TestAccounts & { budgets: Budgets; clock: { now: number }; open(): Budgets }>('unit: budgets');

test.before.each((context) => {
  Object.assign(context, testAccounts());
  context.clock = { now: START };
  const parts = {
    keyOf: () => KEY,
    hosts: 'loopback',
    onError: (error: unknown) => assert.unreachable(String(error)),
  } as const;
  context.open = () => new Budgets({ ...parts, database: context.database, now: () => context.clock.now });
  context.budgets = context.open();
});

test.after.each(({ budgets, remove }) => {
  budgets.close();
  remove();
});

function codeOf(action: () => unknown): string {
  try {
    action();
    return 'nothing was thrown';
  } catch (error) {
    return (error as ChasquiError).code;
  }
}

/** A request from its admission to its end. */
function call(
  { budgets, accounts, clock }: { budgets: Budgets; accounts: TestAccounts['accounts']; clock: { now: number } },
  tokens: number,
  keyId: string | null = null,
  org = 'acme',
) {
  const admission = budgets.admit(org, keyId);
  admission.reserve(() => tokens);
  admission.end(tokens);
  const use = { keyId, org, app: 'chat', at: clock.now, promptTokens: tokens - 1, completionTokens: 1 };
  const full = { ...use, cachedTokens: 0, status: 200, ms: 1 };
  accounts.usage.add(full);
  budgets.count(full);
}

test('the organisation is refused at its limit, with a permanent error, until the month ends', (context) => {
  const { budgets, clock } = context;
  budgets.set({ ...LIMITS, org: 'acme', keyId: '', tokens: 100, requests: null });
  call(context, 60, 'k1');
  call(context, 39, null);
  call(context, 1000, 'k1', 'other');
  call(context, 50, 'k2');
  for (const keyId of ['k1', 'k2', null])
    assert.is(
      codeOf(() => budgets.admit('acme', keyId)),
      'insufficient_quota',
    );
  call(context, 5, 'k1', 'other');
  clock.now = Date.UTC(2026, 11, 1);
  call(context, 5, 'k1');
  clock.now = START;
  call(context, 5, 'k1');
  const [state] = budgets.list();
  assert.equal([state?.month, state?.used], ['2026-12', { tokens: 5, requests: 1 }], 'the end of an earlier month');
});

test('a key has a budget of its own, and that of its organisation', (context) => {
  const { budgets } = context;
  budgets.set({ ...LIMITS, org: 'acme', keyId: 'k1', tokens: null, requests: 2 });
  budgets.set({ ...LIMITS, org: 'acme', keyId: '', tokens: null, requests: 4 });
  for (const keyId of ['k1', 'k1']) call(context, 1, keyId);
  assert.is(
    codeOf(() => call(context, 1, 'k1')),
    'insufficient_quota',
  );
  for (const keyId of ['k2', null]) call(context, 1, keyId);
  for (const keyId of ['k2', null])
    assert.is(
      codeOf(() => call(context, 1, keyId)),
      'insufficient_quota',
    );
  budgets.remove({ org: 'acme', keyId: '' });
  call(context, 1, 'k2');
});

test('running requests reserve their share, and a refusal for that reason is temporary', ({ budgets }) => {
  budgets.set({ ...LIMITS, org: 'acme', keyId: '', tokens: 100, requests: 3 });
  const running = [budgets.admit('acme', 'k1'), budgets.admit('acme', 'k1')];
  running[0]?.reserve(() => 100);
  assert.is(
    codeOf(() => running[1]?.reserve(() => 100)),
    'rate_limit_exceeded',
  );
  assert.is(
    codeOf(() => budgets.admit('acme', 'k2')),
    'rate_limit_exceeded',
  );
  running[0]?.end(0);
  running[1]?.reserve(() => 100);
  running[1]?.end(0);
  const more = [1, 2, 3].map(() => budgets.admit('acme', 'k1'));
  assert.is(
    codeOf(() => budgets.admit('acme', 'k1')),
    'rate_limit_exceeded',
  );
  for (const each of more) each.end(0);
  budgets.admit('acme', 'k1').end(0);
  assert.equal(budgets.list()[0]?.used, { tokens: 0, requests: 0 });
});

test('usage, budgets and alerts survive the process', (context) => {
  const { accounts } = context;
  context.budgets.set({ ...LIMITS, org: 'acme', keyId: '', tokens: 100, requests: null });
  call(context, 85, 'k1');
  context.budgets.tick();
  accounts.usage.flush();
  context.budgets.close();
  context.budgets = context.open();
  const [state] = context.budgets.list();
  assert.equal(state?.used, { tokens: 85, requests: 1 });
  assert.equal(
    state?.alerts.map(({ level, used }) => [level, used]),
    [['warning', 85]],
  );
  call(context, 20, 'k1');
  assert.is(
    codeOf(() => context.budgets.admit('acme', 'k1')),
    'insufficient_quota',
  );
  context.budgets.tick();
  context.budgets.tick();
  assert.equal(
    context.budgets.list()[0]?.alerts.map(({ level }) => level),
    ['warning', 'limit'],
  );
});

test('raised limits admit again, and have alerts of their own', (context) => {
  const { budgets } = context;
  const set = (requests: number) => budgets.set({ ...LIMITS, org: 'acme', keyId: '', tokens: null, requests });
  const levels = () => budgets.list()[0]?.alerts.map(({ level, budget }) => `${level} ${budget}`);
  set(2);
  for (let i = 0; i < 2; i++) call(context, 1);
  budgets.tick();
  assert.equal(levels(), ['limit 2']);
  set(10);
  assert.equal(levels(), []);
  for (let i = 0; i < 6; i++) call(context, 1);
  budgets.tick();
  assert.equal(levels(), ['warning 10']);
  set(8);
  assert.equal(levels(), ['limit 8']);
});

test('an alert calls the webhook, signed, until it is received', async (context) => {
  const { budgets, database } = context;
  const bodies: string[] = [];
  const server = http.createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray());
    const { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': signature } = request.headers;
    assert.is(signature, sign(KEY, String(id), String(time), body));
    bodies.push(body.toString());
    response.writeHead(bodies.length === 1 ? 503 : 204).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const webhook = `http://127.0.0.1:${(server.address() as AddressInfo).port}/secret`;
  context.clock.now = Date.now();
  budgets.set({ ...LIMITS, org: 'acme', keyId: 'k1', tokens: null, requests: 5, webhook });
  for (let i = 0; i < 4; i++) call(context, 1, 'k1');
  const json = () => budgetToJson(budgets.list()[0] as never);
  budgets.tick();
  await until(() => json().alerts[0]?.error === 'it replied with status 503', 'the first attempt');
  assert.equal([json().alerts[0]?.webhook, json().webhook_host], ['pending', new URL(webhook).host]);
  database.run('UPDATE budget_deliveries SET due = 0');
  budgets.tick();
  await until(() => json().alerts[0]?.webhook === 'delivered', 'the second attempt');
  const { type, data } = JSON.parse(bodies[1] as string);
  assert.is(type, 'budget.warning');
  assert.equal(data, { org: 'acme', key_id: 'k1', month: json().month, unit: 'requests', used: 4, budget: 5 });
  assert.is(bodies[0], bodies[1]);
  server.closeAllConnections();
  server.close();
});

test('members change no budget of the operator or of others, and errors name the field', ({ budgets, accounts }) => {
  const parts = { budgets, accounts };
  const own = accounts.keys.create({ org: 'acme' }).id;
  const other = accounts.keys.create({ org: 'other' }).id;
  const everyone = accounts.keys.create().id;
  const set = (actor: Actor, org: string, keyId: string, body: unknown = { tokens: 5 }) =>
    codeOf(() => setBudget(parts, actor, { org, keyId }, body));
  const OK = 'nothing was thrown';
  assert.is(set(MEMBER, 'acme', ''), OK);
  assert.is(set(MEMBER, 'acme', own), OK);
  assert.is(set(MEMBER, 'other', ''), 'permission_denied');
  assert.is(set({ ...MEMBER, app: 'chat' }, 'acme', ''), 'permission_denied');
  for (const keyId of [other, everyone, 'none']) assert.is(set(MEMBER, 'acme', keyId), 'key_not_found', keyId);
  assert.is(set(OPERATOR, 'acme', other), 'key_not_found');
  assert.is(set(OPERATOR, 'acme', everyone), OK);
  assert.is(set(OPERATOR, 'acme', ''), OK);
  assert.is(set(MEMBER, 'acme', ''), 'permission_denied');
  assert.is(
    codeOf(() => removeBudget(parts, MEMBER, { org: 'acme', keyId: '' })),
    'permission_denied',
  );
  assert.is(
    codeOf(() => removeBudget(parts, MEMBER, { org: 'acme', keyId: own })),
    OK,
  );
  assert.is(
    codeOf(() => removeBudget(parts, MEMBER, { org: 'acme', keyId: own })),
    'key_not_found',
  );
  assert.equal(visibleBudgets(parts, { ...MEMBER, org: 'other' }), []);
  assert.ok(visibleBudgets(parts, MEMBER).every((budget) => !mayChange(budget, MEMBER)));
  for (const [body, param] of [
    [{}, 'tokens'],
    [{ tokens: null }, 'tokens'],
    [{ tokens: 0 }, 'tokens'],
    [{ tokens: '5' }, 'tokens'],
    [{ requests: 1.5 }, 'requests'],
    [{ requests: 1e16 }, 'requests'],
    [{ tokens: 5, warn_percent: 0 }, 'warn_percent'],
    [{ tokens: 5, warn_percent: 101 }, 'warn_percent'],
    [{ tokens: 5, webhook: 'http://10.0.0.1/' }, 'webhook'],
    [{ tokens: 5, webhook: 'x'.repeat(5000) }, 'webhook'],
    [{ tokens: 5, more: 1 }, 'more'],
    [[], 'body'],
    [null, 'body'],
  ] as const) {
    try {
      setBudget(parts, OPERATOR, { org: 'acme', keyId: '' }, body);
      assert.unreachable(JSON.stringify(body));
    } catch (error) {
      assert.is((error as ChasquiError).param, param, `${JSON.stringify(body)}: ${error}`);
    }
  }
  assert.is(set(OPERATOR, 'api', ''), 'invalid_value');
});

test.run();
