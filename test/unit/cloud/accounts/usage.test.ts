import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { usageCsv } from '../../../../ts/cloud/accounts/usage-store.js';
import type { RequestUsage } from '../../../../ts/cloud/gateway/usage.js';
import { type TestAccounts, testAccounts } from '../../../support/cloud-accounts.js';

const test = suite<TestAccounts>('unit: usage and the audit');

test.before.each((context) => {
  Object.assign(context, testAccounts());
});

test.after.each((context) => context.remove());

const HOUR = 3600;
/** The beginning of a day. */
const DAY = 20_000 * 24 * HOUR;

function use(given: Partial<RequestUsage> = {}): RequestUsage {
  return {
    keyId: 'k1',
    org: 'acme',
    app: 'chat',
    at: DAY * 1000,
    promptTokens: 100,
    completionTokens: 10,
    cachedTokens: 40,
    status: 200,
    ms: 1500,
    ...given,
  };
}

test('usage is summed by hour, key and app', ({ accounts: { usage } }) => {
  usage.add(use());
  usage.add(use({ status: 429, promptTokens: 0, cachedTokens: 0, completionTokens: 0 }));
  usage.add(use({ at: (DAY + HOUR) * 1000 }));
  usage.add(use({ keyId: null }));
  usage.flush();
  usage.add(use({ completionTokens: 5 }));
  usage.flush();
  const counts = { requests: 3, failed: 1, promptTokens: 200, cachedTokens: 80, completionTokens: 15, ms: 4500 };
  const one = { requests: 1, failed: 0, promptTokens: 100, cachedTokens: 40, completionTokens: 10, ms: 1500 };
  const who = { org: 'acme', app: 'chat' };
  const day = { from: DAY, to: DAY + 24 * HOUR };
  assert.equal(usage.list({ ...day, hours: 1 }), [
    { at: DAY, keyId: null, ...who, ...one },
    { at: DAY, keyId: 'k1', ...who, ...counts },
    { at: DAY + HOUR, keyId: 'k1', ...who, ...one },
  ]);
  const [, keyed] = usage.list({ ...day, hours: 24 });
  assert.equal([keyed?.at, keyed?.requests, keyed?.promptTokens], [DAY, 4, 300]);
  assert.equal(usage.list({ ...day, hours: 24, keyId: 'k2' }), []);
  assert.equal(usage.list({ ...day, hours: 24, org: 'other' }), []);
  assert.equal(usage.list({ from: DAY + 24 * HOUR, to: DAY + 48 * HOUR, hours: 1 }), []);
});

test('numbers that are none add nothing', ({ accounts: { usage } }) => {
  usage.add(use({ promptTokens: Number.NaN, completionTokens: -5, cachedTokens: Number.POSITIVE_INFINITY, ms: 0.4 }));
  usage.flush();
  const [row] = usage.list({ from: DAY, to: DAY + HOUR, hours: 1 });
  assert.equal([row?.requests, row?.promptTokens, row?.completionTokens, row?.cachedTokens, row?.ms], [1, 0, 0, 0, 0]);
});

test('unwritable usage is kept for the next write, within bounds', ({ accounts: { usage }, database }) => {
  database.run('ALTER TABLE usage_hourly RENAME TO away');
  for (let i = 0; i < 10_050; i++) usage.add(use({ keyId: `k${i}` }));
  assert.throws(() => usage.flush(), /Cannot use the cloud's database/);
  assert.is(usage.lost, 50);
  database.run('ALTER TABLE away RENAME TO usage_hourly');
  usage.flush();
  assert.is(usage.list({ from: DAY, to: DAY + HOUR, hours: 1 }).length, 10_000);
});

test('a spreadsheet gets cells, never formulas', ({ accounts: { usage } }) => {
  usage.add(use({ org: '=1+2', app: 'a,"b"' }));
  usage.flush();
  const csv = usageCsv(usage.list({ from: DAY, to: DAY + HOUR, hours: 1 }));
  assert.equal(csv.split('\r\n'), [
    'from,key_id,org,app,requests,failed,prompt_tokens,cached_tokens,completion_tokens',
    `${new Date(DAY * 1000).toISOString()},k1,'=1+2,"a,""b""",1,0,100,40,10`,
    '',
  ]);
});

test('more rows than are listed are refused, because the sums of a part would be wrong', ({ accounts: { usage } }) => {
  for (let hour = 0; hour < 3; hour++) usage.add(use({ at: (DAY + hour * HOUR) * 1000 }));
  usage.flush();
  const span = { from: DAY, to: DAY + 24 * HOUR };
  assert.is(usage.list({ ...span, hours: 1, limit: 3 }).length, 3);
  assert.is(usage.list({ ...span, hours: 24, limit: 1 }).length, 1);
  assert.throws(() => usage.list({ ...span, hours: 1, limit: 2 }), /More than 2 rows of usage.*a shorter time/);
});

const actor = { kind: 'user', name: 'owner', org: null, app: null, address: '127.0.0.1' } as const;

test('the audit can only be added to', ({ accounts: { audit }, database }) => {
  audit.add({ actor, action: 'key.create', org: 'acme', subject: 'k1', detail: { name: '<b>' } });
  audit.add({ actor, action: 'app.deploy', org: 'other', subject: 'other/chat' });
  assert.throws(() => database.run('DELETE FROM audit'), /only be added to/);
  assert.throws(() => database.run("UPDATE audit SET actor = 'nobody'"), /only be added to/);
  const rows = audit.list();
  assert.equal(
    rows.map(({ action, org, detail }) => [action, org, detail]),
    [
      ['app.deploy', 'other', {}],
      ['key.create', 'acme', { name: '<b>' }],
    ],
  );
  assert.is(rows[1]?.actor, 'user:owner');
  assert.equal(
    audit.list({ org: 'acme' }).map(({ subject }) => subject),
    ['k1'],
  );
  assert.equal(
    audit.list({ before: rows[0]?.id ?? 0 }).map(({ subject }) => subject),
    ['k1'],
  );
});

test('a detail that is too long is left out, not the row', ({ accounts: { audit } }) => {
  audit.add({ actor, action: 'app.deploy', subject: 'x', detail: { message: 'x'.repeat(5000) } });
  assert.equal(Object.keys(audit.list()[0]?.detail ?? {}), ['too_long']);
});

test.run();
