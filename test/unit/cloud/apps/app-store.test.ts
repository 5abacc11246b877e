// Databases of older versions.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { AppStore } from '../../../../ts/cloud/apps/app-store.js';
import { openDatabase } from '../../../../ts/cloud/store/database.js';

test('apps of a version without `apps.auth` stay as private or public as their active revision', () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-older-'));
  const database = openDatabase(folder);
  const store = new AppStore(database);
  const deploy = (name: string, auth: string | null, isActive = true): string => {
    const app = store.addApp('me', name);
    const options = JSON.stringify({ model: 'demo', ...(auth !== null && { auth }) });
    const row = { options, files: '{}', digest: name, message: null, author: 'me', strategy: 'rolling', is_local: 1 };
    const number = store.addRevision(app, row as never);
    if (isActive) store.activate(app, number, 'deployed');
    return app.id;
  };
  const ids = [
    deploy('open', 'public'),
    deploy('closed', 'private'),
    deploy('silent', null),
    deploy('new', 'public', false),
  ];
  // As the version before left it.
  database.run('ALTER TABLE runners DROP COLUMN gpus');
  for (const column of ['auth', 'public_with']) database.run(`ALTER TABLE apps DROP COLUMN ${column}`);
  database.run("UPDATE migrations SET step = step - 2 WHERE room = 'apps'");
  const migrated = new AppStore(database);
  const found = ids.map((id) => migrated.app(id)).map((app) => [app?.name, app?.auth, app?.public_with]);
  assert.equal(found, [
    ['open', 'public', null],
    ['closed', 'private', null],
    ['silent', 'private', null],
    ['new', 'public', null],
  ]);
  database.close();
  fs.rmSync(folder, { recursive: true });
});

test('old final revisions are forgotten, apart from the active one and those that were active last', () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-revisions-'));
  const database = openDatabase(folder);
  const store = new AppStore(database);
  const app = store.addApp('me', 'chat');
  const options = JSON.stringify({ model: 'demo', chatTemplate: 'x'.repeat(20_000) });
  const row = { options, files: '{}', digest: 'd', message: null, author: 'me', strategy: 'rolling', is_local: 1 };
  const add = () => store.addRevision(app, row as never);
  for (const number of [add(), add()]) store.activate(app, number, 'deployed');
  store.setRevision(app, 1, 'RETIRED', 'replaced');
  const open = add();
  for (let at = 0; at < 150; at += 1) store.setRevision(app, add(), 'FAILED', 'no model');
  const numbers = store.revisions(app.id).map(({ number }) => number);
  // The newest revision was added before it failed, so 101 are left beside the first three.
  assert.equal([numbers.slice(0, 4), numbers.at(-1), numbers.length], [[1, 2, open, 54], 153, 103]);
  const used = store.usedRevisions(app.id).map(({ number }) => number);
  assert.equal(used, [2, open]);
  const shown = store.newestRevisions(app.id, 20, [2, null]);
  assert.equal([shown.length, shown.filter((each) => each.options !== null).map(({ number }) => number)], [21, [2]]);
  database.close();
  fs.rmSync(folder, { recursive: true });
});

test.run();
