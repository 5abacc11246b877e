// Apps as shown by the dashboard.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { LOCAL_ACTOR } from '../../../../ts/cloud/accounts/audit.js';
import { AppStore } from '../../../../ts/cloud/apps/app-store.js';
import { AppControl } from '../../../../ts/cloud/apps/control.js';
import { LiveApps } from '../../../../ts/cloud/apps/dashboard-apps.js';
import { readQuotas } from '../../../../ts/cloud/apps/quotas.js';
import { Supervisor } from '../../../../ts/cloud/apps/supervisor.js';
import { WeightStore } from '../../../../ts/cloud/apps/weights.js';
import { Podman } from '../../../../ts/cloud/runners/podman.js';
import { openDatabase } from '../../../../ts/cloud/store/database.js';
import { demoModelPath } from '../../../support/demo-model.js';
import { until } from '../../../support/until.js';

const test = suite('cloud: apps on the dashboard');

test('changes of a scale, of a revision’s state, and new events are told, also after a look that failed', async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-apps-view-'));
  const database = openDatabase(folder);
  const store = new AppStore(database);
  const nothing = { fetch: () => Promise.reject(new Error('nobody asks a hub')) };
  const supervisor = new Supervisor({
    store,
    weights: new WeightStore(folder, demoModelPath, nothing),
    secrets: () => ({}),
    freeDisk: () => 0,
    command: { command: ['none'], environment: {} },
    isolation: 'process',
    podman: new Podman('none'),
    runFolder: path.join(folder, 'run'),
    logFolder: folder,
    responsesFolder: folder,
    budgetBytes: 0,
    quotas: readQuotas([]),
    gpus: null,
    endsWithParent: true,
  });
  const parts = { supervisor, store, logFolder: folder, uploads: { isOf: () => false }, publicUrl: () => 'http://x' };
  const control = new AppControl({ ...parts, audit: { add: () => {} }, secrets: { requireAll: () => {} } });
  const apps = new LiveApps({ supervisor, store, control, logFolder: folder, runningAt: () => 0 });

  const { row } = supervisor.findOrAdd('me', 'chat');
  const revision = {
    options: '{}',
    files: '{}',
    digest: '',
    message: null,
    author: 'me',
    strategy: 'rolling',
    is_local: 1,
  } as const;
  const number = store.addRevision(row, revision);
  let reads = 0;
  const { revisions, newestRevisions } = store;
  store.revisions = (app) => {
    reads += 1;
    return revisions.call(store, app);
  };
  store.newestRevisions = (...given) => {
    reads += 1;
    return newestRevisions.apply(store, given);
  };
  let told = 0;
  const stop = apps.onChange(() => {
    told += 1;
  });
  const { lastEvent } = store;
  let failed = 0;
  store.lastEvent = () => {
    failed += 1;
    throw new Error('the database cannot be read');
  };
  const stopLater = apps.onChange(() => {});
  try {
    await until(() => failed > 2, 'looks that fail');
    let looks = 0;
    store.lastEvent = () => {
      looks += 1;
      return lastEvent.call(store);
    };
    const startedAt = performance.now();
    await until(() => looks > 2, 'looks that succeed');
    assert.ok(looks <= (performance.now() - startedAt) / 500 + 1, 'one look for both pages');
    assert.is(reads, 0, 'a look reads no revisions');
    for (const change of [
      () => control.scale('me', 'chat', { min: 0, max: 7 }, LOCAL_ACTOR),
      () => store.setRevision(row, number, 'RETIRED', 'another revision was deployed'),
      () => store.note(row, 'ROLLBACK', 'from revision 2 to 1'),
    ]) {
      const before = JSON.stringify(apps.find('me', 'chat'));
      const toldBefore = told;
      change();
      assert.is.not(JSON.stringify(apps.find('me', 'chat')), before);
      await until(() => told === toldBefore + 1, 'the change is told');
    }
  } finally {
    stop();
    stopLater();
    await supervisor.stop({ keepRunners: true, graceMs: 0 });
    database.close();
    fs.rmSync(folder, { recursive: true });
  }
});

test.run();
