// Quotas of organisations while runners start.
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readQuotas } from '../../../../ts/cloud/apps/quotas.ts';
import { appOf, GIB, plan, runner, short } from './planned-apps.ts';

test('runners beyond the quota of their organisation wait, and others start', () => {
  const acme = { org: 'acme', demand: { running: 0, queued: 4 }, tooFewSince: 0 };
  const apps = [appOf('a', acme), appOf('b', { demand: { running: 0, queued: 1 }, tooFewSince: 1 })];
  const expected = ['start a 1', 'wait a', 'start b 1'];
  assert.equal(short(plan(apps, { quotas: readQuotas(['acme:runners=1']) })), expected);
  const byMemory = plan(apps, { quotas: readQuotas(['memory=1500']) });
  assert.equal(short(byMemory), expected);
  assert.match(
    JSON.stringify(byMemory),
    'quota of organisation acme: 1.0 GiB of memory of 1.5 GiB of memory are in use',
  );
});

test('a quota evicts idle runners of its own organisation only', () => {
  const idle = { runners: [runner('r1')] };
  const other = appOf('c', { org: 'other', runners: [runner('r3')] });
  const wanting = appOf('b', { demand: { running: 0, queued: 1 }, tooFewSince: 0 });
  const quotas = readQuotas(['runners=1', 'other:runners=9']);
  assert.equal(short(plan([appOf('a', idle), wanting, other], { quotas })), ['stop r1: evicted for b', 'wait b']);
  const kept = appOf('a', { ...idle, scale: { min: 1, max: 1, buffer: 0, keepAliveMs: 1000, delayMs: 0 } });
  assert.equal(short(plan([kept, wanting, other], { quotas })), ['wait b']);
});

test('a candidate starts beside the runner that it replaces, within the memory of its organisation', () => {
  const candidate = { revision: 2, bytes: GIB, gpus: 0, strategy: 'rolling' as const, since: 0 };
  const app = appOf('a', { runners: [runner('r1', { running: 1 })], demand: { running: 1, queued: 0 }, candidate });
  assert.equal(short(plan([app], { quotas: readQuotas(['runners=1']) })), ['start a 2']);
  assert.equal(short(plan([app], { quotas: readQuotas(['memory=1500']) })), ['refuse a']);
  const first = appOf('b', { active: null, candidate });
  const busy = appOf('a', { runners: [runner('r1', { running: 1 })], demand: { running: 1, queued: 0 } });
  assert.equal(short(plan([busy, first], { quotas: readQuotas(['runners=1']) })), ['wait b']);
});

test.run();
