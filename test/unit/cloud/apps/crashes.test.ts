// Crash counts that a new control plane reads from the database.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type AppRow, AppStore } from '../../../../ts/cloud/apps/app-store.js';
import { CRASH_MEMORY_MS, LiveApp } from '../../../../ts/cloud/apps/live-app.js';
import { type Database, openDatabase } from '../../../../ts/cloud/store/database.js';

const test = suite('cloud: crashes');
let folder: string;
let database: Database;
let store: AppStore;
let app: AppRow;

test.before.each(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-crashes-'));
  database = openDatabase(folder);
  store = new AppStore(database);
  app = store.addApp('me', 'chat');
  for (let revision = 0; revision < 2; revision++) {
    const row = { options: '{}', files: '{}', digest: '', message: null, author: 'me', strategy: 'rolling' } as const;
    store.activate(app, store.addRevision(app, { ...row, is_local: 1 }), 'deployed');
  }
});
test.after.each(() => {
  database.close();
  fs.rmSync(folder, { recursive: true });
});

let last = 0;

function ended(revision: number, state: 'CRASHED' | 'STOPPED', ageMs = 0): void {
  const id = `r${last++}`;
  store.addRunner(app, { id, revision, boot_id: id, bytes: 1, isolation: 'process', gpus: '' }, 'started');
  store.setRunner(app, id, revision, state, 'over');
  database.run('UPDATE runners SET ended_at = ended_at - ? WHERE id = ?', [ageMs, id]);
}

function activatedAgo(ms: number): void {
  database.run('UPDATE revisions SET activated_at = activated_at - ?', [ms]);
}

test('crashes of the revision count since it was activated, while they are remembered', () => {
  activatedAgo(CRASH_MEMORY_MS + 60_000);
  ended(2, 'CRASHED', CRASH_MEMORY_MS + 1000);
  ended(2, 'CRASHED', 5000);
  ended(2, 'STOPPED');
  ended(1, 'CRASHED');
  ended(2, 'CRASHED', 1000);
  const ages = store.crashAges(app.id, 2, CRASH_MEMORY_MS);
  assert.equal(
    ages.map((age) => Math.round(age / 1000)),
    [5, 1],
  );
});

test('crashes before an activation are past', () => {
  activatedAgo(3000);
  ended(2, 'CRASHED', 5000);
  assert.equal(store.crashAges(app.id, 2, CRASH_MEMORY_MS), []);
});

test('a clock that was set back makes no crash one of the future', () => {
  ended(2, 'CRASHED', -60_000);
  assert.equal(store.crashAges(app.id, 2, CRASH_MEMORY_MS), [0]);
});

test('the next start keeps to the pause that the last crash led to', () => {
  const live = new LiveApp(app, () => {});
  live.recallCrashes([30_000, 20_000, 3000], 100_000);
  // The third crash is followed by 4 seconds, and up to a quarter more.
  assert.ok(live.backOffUntil >= 101_000 && live.backOffUntil <= 102_000, String(live.backOffUntil));
  assert.is(live.noteCrash(101_000), 4);
  assert.ok(live.backOffUntil >= 109_000);
});

test('an app without crashes starts at once', () => {
  const live = new LiveApp(app, () => {});
  live.recallCrashes([], 100_000);
  assert.is(live.backOffUntil, 0);
});

test.run();
