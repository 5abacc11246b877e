// A change of the settings: all of it holds, or nothing does.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { applySettings } from '../../../ts/desktop/apply-settings.js';
import { Hub } from '../../../ts/desktop/hub.js';
import { isLoginStart, type LoginStart, setLoginStart } from '../../../ts/desktop/login-start.js';
import type { DesktopApp } from '../../../ts/desktop/routes/context.js';
import { ChasquiError } from '../../../ts/errors.js';
import type { DownloadJob } from '../../../ts/hub/downloads.js';
import { type DownloadContext, downloadContext, FILE, MODEL, REPO } from '../../support/fake-hub/download-context.js';
import { fakeHub } from '../../support/fake-hub.js';
import { until } from '../../support/until.js';

interface Context extends DownloadContext {
  home: string;
}

const test = suite<Context>('unit: a change of the settings');

test.before.each(async (context) => {
  Object.assign(context, await downloadContext());
  context.home = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-settings-'));
});

test.after.each(async (context) => {
  await context.close();
  fs.rmSync(context.home, { recursive: true });
});

for (const isOn of [false, true]) {
  test(`a start at login is ${isOn ? 'on' : 'off'} as before where the settings cannot be kept`, async ({ home }) => {
    const login: LoginStart = { command: ['chasqui'], platform: 'linux', home, config: path.join(home, 'config') };
    setLoginStart(login, isOn);
    const parts = {
      settings: {
        current: { startAtLogin: isOn },
        hubToken: null,
        change: () => {
          throw new ChasquiError('store_failed', 'The disk is full.');
        },
      },
    } as unknown as DesktopApp;
    const hub = () => {
      throw new Error('the hub is not changed');
    };
    const changed = applySettings(parts, { login, hub }, { startAtLogin: !isOn });
    const error = await changed.then(
      () => assert.unreachable(),
      (reason: unknown) => reason,
    );
    assert.is((error as ChasquiError).code, 'store_failed');
    assert.is(isLoginStart(login), isOn);
  });
}

test('a download goes on from another hub, though its list could not be opened anew', async ({ hub, folder, home }) => {
  const other = await fakeHub({
    [REPO]: { files: { [FILE]: MODEL }, gguf: { architecture: 'llama', total: 800_000 } },
  });
  const jobs: DownloadJob[] = [];
  let endpoint = hub.url;
  const settings = () => ({ endpoint, token: null, cacheFolder: folder });
  const opened = await Hub.open(home, settings, (job) => jobs.push(job));
  try {
    hub.misbehaviour = { holds: { path: FILE, fromByte: 300_000 } };
    const { id } = await opened.downloads.start(REPO);
    await until(() => (opened.downloads.find(id)?.downloadedBytes ?? 0) === 300_000, 'most of it is there');
    // Simulates a locked database or a full disk.
    fs.rmSync(path.join(home, 'lock'));
    fs.mkdirSync(path.join(home, 'lock'));
    endpoint = other.url;
    await opened.reopen().catch(() => undefined);
    assert.is(opened.client.requests.endpoint, other.url);
    assert.is((await opened.downloads.ended(id)).state, 'completed');
    assert.is(jobs.at(-1)?.state, 'completed');
    assert.ok(other.sentBytes() > 0 && other.sentBytes() < MODEL.length);
  } finally {
    await opened.close();
    await other.close();
  }
});

test.run();
