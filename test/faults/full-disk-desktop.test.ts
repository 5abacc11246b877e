// The desktop app on a full disk: it keeps replying, reports unsaved data, and saves again when space is available.
import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { root } from '../support/places.js';
import {
  desktopFolder,
  type RunningDesktop,
  removeFolder,
  startDesktop,
  untilMeasured,
} from '../support/start-desktop.js';
import { until } from '../support/until.js';

const test = suite('faults: the desktop app on a full disk');
const folder = desktopFolder();
const ballast = path.join(folder, 'ballast');
const isDisk = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=32m', 'none', folder]).status === 0;
let app: RunningDesktop;
let address = '';

test.before(async () => {
  app = await startDesktop([], { folder });
  const { port } = await app.done('POST', '/api/v1/server/start', { model: 'chasqui-demo', port: 0 });
  address = `http://127.0.0.1:${port}`;
});
test.after(async () => {
  await app.kill();
  // Lazily: the processes of the model use the folder until they notice that the app has been killed.
  if (isDisk) spawnSync('umount', ['-l', folder]);
  removeFolder(folder);
});

async function complete(): Promise<number> {
  const body = { model: 'any', prompt: 'Tell me a story.', max_tokens: 40, ignore_eos: true };
  const reply = await fetch(`${address}/v1/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  await reply.text();
  return reply.status;
}

/** Adds a chat that exceeds the free space. */
function addChat(size: number) {
  const messages = [{ id: 'a', parent: null, role: 'user', content: 'x'.repeat(size) }];
  return app.api('POST', '/api/v1/chats', { title: 'Long', messages, current: 'a' });
}

function fillDisk(): void {
  const file = fs.openSync(ballast, 'w');
  try {
    for (let size = 2 ** 20; size >= 1; size /= 2) {
      try {
        for (;;) if (fs.writeSync(file, Buffer.alloc(size)) < size) break;
      } catch {}
    }
  } finally {
    fs.closeSync(file);
  }
}

const COUNT = `
const database = new (require('libsql'))(process.argv[1]);
console.log(database.prepare('SELECT count(*) AS count FROM requests').get().count);`;

/** In another process: libsql keeps the file of a closed database open until its statements are garbage-collected. */
function storedRequests(): number {
  return Number(execFileSync(process.execPath, ['-e', COUNT, path.join(folder, 'desktop.db')], { cwd: root }));
}

// Without the right to mount there is no disk to fill.
if (isDisk) {
  test('requests go on, and what cannot be kept is said', async () => {
    const watched = await app.watch();
    fillDisk();
    for (let each = 0; each < 4; each += 1) {
      assert.is(await complete(), 200);
      // The app has tried to write the request.
      await untilMeasured(watched);
    }
    watched.close();
    const refused = await addChat(200_000);
    assert.equal([refused.status, refused.body.error.code], [500, 'store_failed'], JSON.stringify(refused));
    assert.is((await app.api('GET', '/api/v1/state')).status, 200);
    // Saving the state for the next start must not fail this one.
    await app.done('POST', '/api/v1/server/stop');
    const { port } = await app.done('POST', '/api/v1/server/start', { model: 'chasqui-demo', port: 0 });
    address = `http://127.0.0.1:${port}`;
    assert.is((await app.done('GET', '/api/v1/requests')).requests.length, 4);
  });

  test('with room again everything is kept', async () => {
    fs.rmSync(ballast);
    assert.is((await addChat(200_000)).status, 201);
    assert.is(await complete(), 200);
    await until(() => storedRequests() === 5, 'all requests in the database');
    await app.kill();
    app = await startDesktop([], { folder });
    assert.is((await app.done('GET', '/api/v1/requests')).requests.length, 5);
  });
}

test.run();
