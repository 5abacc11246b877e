// Deployments beside a revision that crashes: which one is gone back to, and when.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { AppStore } from '../../../../ts/cloud/apps/app-store.js';
import { LiveApp } from '../../../../ts/cloud/apps/live-app.js';
import { Rollouts } from '../../../../ts/cloud/apps/rollouts.js';
import { stateOf as shownStateOf } from '../../../../ts/cloud/apps/views.js';
import { type Database, openDatabase } from '../../../../ts/cloud/store/database.js';
import { ChasquiError } from '../../../../ts/errors.js';
import { until } from '../../../support/until.js';

const test = suite('cloud: rollouts');
let folder: string;
let database: Database;
let store: AppStore;
let rollouts: Rollouts;
let app: LiveApp;

/** Weights that never arrive. */
const weights = { fetch: () => new Promise<never>(() => {}) };

test.before.each(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-rollouts-'));
  database = openDatabase(folder);
  store = new AppStore(database);
  rollouts = new Rollouts(
    { store, weights: weights as never, secrets: () => ({}), freeDisk: () => 0, checkQuota: () => {} },
    () => {},
  );
  const row = store.addApp('me', 'chat');
  for (let revision = 0; revision < 2; revision++) store.activate(row, add(row), 'deployed');
  app = new LiveApp(store.app(row.id) ?? row, () => {});
});
test.after.each(() => {
  database.close();
  fs.rmSync(folder, { recursive: true });
});

function add(row = app.row): number {
  const options = JSON.stringify({ model: 'demo', auth: 'public' });
  return store.addRevision(row, {
    options,
    files: '{}',
    digest: '',
    message: null,
    author: 'me',
    strategy: 'rolling',
    is_local: 1,
  });
}

function crash({ isPermanent = false, times = 1 } = {}): void {
  for (let time = 0; time < times; time++) rollouts.onRunnerEnd(app, 2, { reason: 'it crashed', isPermanent });
}

for (const [error, then] of [
  [new ChasquiError('hub_unreachable', 'the hub does not reply'), 'FETCHING'],
  [new ChasquiError('deployment_refused', 'no memory'), 'FAILED'],
] as const) {
  test(`a deployment that a restart has interrupted is ${then} after: ${error.message}`, async () => {
    rollouts.begin(app, add(), 'rolling', 'deployed');
    const fetch = () => Promise.reject(error);
    const parts = { store, weights: { fetch } as never, secrets: () => ({}), freeDisk: () => 0, checkQuota: () => {} };
    const later = new Rollouts(parts, () => {});
    const found = new LiveApp(store.app(app.id) ?? app.row, () => {});
    later.resume(found);
    await until(() => found.rollout === null || found.rollout.retry !== null, 'the first attempt has failed');
    assert.is(stateOf(3), then);
    if (found.rollout === null) return;
    later.settle(found, found.rollout.retry?.at ?? 0);
    await until(() => found.rollout?.retry?.attempts === 2, 'the second attempt has failed');
  });
}

test('a new deployment fails at once when the hub does not reply', async () => {
  const fetch = () => Promise.reject(new ChasquiError('hub_unreachable', 'the hub does not reply'));
  const parts = { store, weights: { fetch } as never, secrets: () => ({}), freeDisk: () => 0, checkQuota: () => {} };
  new Rollouts(parts, () => {}).begin(app, add(), 'rolling', 'deployed');
  await until(() => stateOf(3) === 'FAILED', 'it has failed');
});

const stateOf = (revision: number) => store.revision(app.id, revision)?.state;

test('three crashes of the active revision bring the one before back', () => {
  crash({ times: 2 });
  assert.is(app.rollout, null);
  crash();
  assert.is(app.rollout?.revision, 1);
  assert.is(stateOf(2), 'FAILED');
  assert.is(app.rollout?.restoring, true);
});

for (const crashes of [{ times: 3 }, { isPermanent: true }]) {
  test(`a deployment that is under way goes on when the active revision has failed: ${JSON.stringify(crashes)}`, () => {
    rollouts.begin(app, add(), 'rolling', 'deployed');
    crash(crashes);
    assert.is(app.rollout?.revision, 3);
    assert.equal([stateOf(2), stateOf(3)], ['FAILED', 'FETCHING']);
    // Requests have no other revision meanwhile, which may be hours.
    assert.is(app.rollout?.restoring, false);
    rollouts.fail(app, 'its weights are not there');
    assert.is(app.rollout?.revision, 1);
    assert.is(stateOf(3), 'FAILED');
  });
}

test('a deployment while the app goes back has the active revision started again', () => {
  crash({ times: 3 });
  rollouts.begin(app, add(), 'rolling', 'deployed');
  assert.is(app.rollout?.revision, 3);
  assert.is(app.rollout?.restoring, false);
});

for (const [what, isNewer] of [
  ['a deployment', true],
  ['going back', false],
] as const) {
  test(`after a restart the failed revision rests without end only while the app goes back: ${what}`, () => {
    if (isNewer) rollouts.begin(app, add(), 'rolling', 'deployed');
    crash({ times: 3 });
    const found = new LiveApp(store.app(app.id) ?? app.row, () => {});
    rollouts.resume(found);
    assert.is(found.rollout?.revision, isNewer ? 3 : 1);
    assert.is(found.rollout?.restoring, !isNewer);
  });
}

test('a runner that crashes while the app goes back begins nothing anew', () => {
  crash({ times: 3 });
  const { rollout } = app;
  crash();
  assert.is(app.rollout, rollout);
  assert.is(app.rollout?.restoring, true);
});

test('a revision that has failed and has none before it is tried again when a deployment has failed', () => {
  crash({ times: 3 });
  rollouts.fail(app, 'its weights are not there');
  assert.equal([stateOf(1), stateOf(2), app.rollout], ['FAILED', 'FAILED', null]);
  assert.is(app.backOffUntil, 0);
});

test('a deployment whose failure could not be written is not started again, and fails when it can be written', () => {
  const number = add();
  rollouts.begin(app, number, 'rolling', 'deployed');
  const { rollout } = app;
  assert.ok(rollout);
  rollout.startable = { revision: number, manifest: rollout.manifest, weights: [], bytes: 1, since: 0 };
  database.run('PRAGMA query_only = ON');
  assert.throws(() => rollouts.fail(app, 'it crashed'));
  assert.throws(() => rollouts.settle(app, 0));
  assert.is(app.planned(0).candidate, null);
  database.run('PRAGMA query_only = OFF');
  rollouts.settle(app, 0);
  assert.equal([stateOf(number), store.revision(app.id, number)?.reason], ['FAILED', 'it crashed']);
  assert.is(app.rollout, null);
});

test('the latest revisions are listed, plus the active, pending and requested ones', () => {
  for (let more = 0; more < 28; more++) add();
  const shown = (asked: number | null) =>
    shownStateOf(app, store, 'http://x', asked).revisions.map(({ number }) => number);
  const last = Array.from({ length: 20 }, (_, index) => 11 + index);
  assert.equal(shown(null), [2, ...last]);
  rollouts.begin(app, 1, 'rolling', 'rollback');
  assert.equal(shown(null), [1, 2, ...last]);
  rollouts.fail(app, 'its weights are not there');
  assert.equal(shown(null), [2, ...last]);
  assert.equal(shown(1), [1, 2, ...last]);
  assert.equal(shown(99), [2, ...last]);
});

test.run();
