// The desktop app when it may open no more files: the hub is not reached, with the reason, and downloads go on when there are.
import { readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { demoModelPath } from '../support/demo-model.js';
import { type FakeHub, fakeHub } from '../support/fake-hub.js';
import { OneConnection } from '../support/one-connection.js';
import { leaveAllFiles, leaveFiles } from '../support/open-files.js';
import {
  desktopFolder,
  type RunningDesktop,
  removeFolder,
  startDesktop,
  untilMeasured,
} from '../support/start-desktop.js';
import { until } from '../support/until.js';

const test = suite('faults: the desktop app with no files left');
const REPO = 'ada/demo-GGUF';
const folder = desktopFolder();
let fake: FakeHub;
let app: RunningDesktop;

test.before(async () => {
  const gguf = { total: 1_000_000, architecture: 'llama', context_length: 2048 };
  fake = await fakeHub({ [REPO]: { files: { 'demo-Q4_K_M.gguf': readFileSync(demoModelPath) }, gguf } });
  app = await startDesktop([], { folder, variables: { HF_ENDPOINT: fake.url } });
});
test.after(async () => {
  await app.kill();
  await fake.close();
  removeFolder(folder);
});

test('the hub is not reached and nothing is written; later the download is complete', async () => {
  const connection = new OneConnection(app.url);
  const api = (method: string, path: string, body?: object) =>
    connection.ask(method, path, body, { authorization: `Bearer ${app.token}` });
  const download = () => api('POST', '/api/v1/models/download', { model: REPO });
  assert.is((await api('GET', '/api/v1/state')).status, 200);
  const pid = app.child.process.pid as number;
  const watched = await app.watch();
  leaveFiles(pid, 0);
  const { status, body } = await download();
  assert.is(status, 503, JSON.stringify(body));
  assert.match(body.error.message, /too many open files and connections/, body.error.message);
  // What is open already can be written.
  assert.is((await api('POST', '/api/v1/chats', { title: 'A chat' })).status, 201);
  await untilMeasured(watched);
  assert.is((await api('GET', '/api/v1/state')).status, 200);
  leaveAllFiles(pid);
  watched.close();
  assert.is((await download()).status, 200);
  await until(
    async () => {
      const { jobs } = (await api('GET', '/api/v1/models/download')).body;
      return jobs.some(({ state }: { state: string }) => state === 'completed');
    },
    'it is complete',
    60_000,
  );
});

test.run();
