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

test.run();
