// Processes are killed: runners, the control plane, both, and in the middle of a deployment.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { CloudClient } from '../../ts/cli/cloud/client.js';
import { openDatabase } from '../../ts/cloud/store/database.js';
import { runCli, startChild, untilWritten } from '../support/child.js';
import { ORG, TestCloud } from '../support/cloud.js';
import { demoModelPath } from '../support/demo-model.js';
import { enginesOf, isAlive, untilEngineOf } from '../support/engine-process.js';
import { until } from '../support/until.js';

const test = suite('cloud: crashes');
let cloud: TestCloud;

test.before(async () => {
  cloud = await TestCloud.start();
});
test.after(async () => {
  assert.equal(await cloud.stop(), { code: 0, signal: null });
});

const KEPT = { scale: { min: 1 } };

async function pidOf(app: string): Promise<number> {
  await cloud.untilApp(app, ({ ready, runners }) => ready === 1 && runners.some(({ pid }) => pid !== null));
  const { runners } = await cloud.status(app);
  return runners.find(({ state }) => state === 'idle' || state === 'busy')?.pid as number;
}

test('a runner that is killed is replaced, its engine ends with it, and requests that wait are served', async () => {
  await cloud.deployed('chat', KEPT);
  const pid = await pidOf('chat');
  const engines = enginesOf(pid);
  assert.ok(engines.length > 0);
  process.kill(pid, 'SIGKILL');
  await cloud.untilApp('chat', ({ runners }) => runners.every((each) => each.pid !== pid));
  const reply = await cloud.post('chat', { max_tokens: 2 });
  assert.is(reply.status, 200);
  await until(() => engines.every((each) => !isAlive(each)), 'the end of the engine');
  const events = await cloud.events('chat');
  assert.ok(events.some(({ state, reason }) => state === 'CRASHED' && /it was ended by SIGKILL/.test(reason)));
});

/** Analysing it makes each load take a second or more. */
const SLOW_TEMPLATE = '{% for i in range(4000) %}{% endfor %}{% for each in messages %}{{ each.content }}{% endfor %}';

test('a load that was killed is repeated', async () => {
  await cloud.deployed('killed', { ...KEPT, chatTemplate: SLOW_TEMPLATE });
  const pid = await pidOf('killed');
  process.kill(pid, 'SIGKILL');
  let starting: number | null | undefined;
  await cloud.untilApp('killed', ({ runners }) => {
    starting = runners.find((each) => each.pid !== pid)?.pid;
    return typeof starting === 'number';
  });
  process.kill(await untilEngineOf(starting as number), 'SIGKILL');
  await cloud.untilApp('killed', ({ ready }) => ready === 1);
  assert.is((await cloud.post('killed', { max_tokens: 2 })).status, 200);
  const events = await cloud.events('killed');
  assert.ok(
    events.some(({ reason }) => /The process that loaded the model ended: it was ended by SIGKILL/.test(reason)),
  );
  await cloud.cli('apps', 'delete', 'killed', '--yes');
});

test('a control plane that was killed finds its runners again, with their processes and memory', async () => {
  const pid = await pidOf('chat');
  await cloud.kill();
  assert.ok(isAlive(pid));
  await cloud.begin();
  assert.is(await pidOf('chat'), pid);
  assert.is((await cloud.post('chat', { max_tokens: 2 })).status, 200);
  const events = await cloud.events('chat');
  assert.is(events.at(-1)?.reason, 'found after a restart of the control plane');
});

test('two clouds do not work in one data folder', async () => {
  const second = await cloud.cli('cloud', 'start', '--port', '0');
  assert.is(second.code, 2);
  assert.match(second.stderr, 'A cloud already runs in this data folder');
  const link = path.join(os.tmpdir(), 'another-path-to-the-same-data-folder-'.repeat(2) + process.pid);
  fs.symlinkSync(cloud.home, link);
  const third = await runCli(['cloud', 'start', '--port', '0'], { CHASQUI_HOME: link });
  fs.rmSync(link);
  assert.is(third.code, 2);
});

test('a cloud in a copy of the data folder leaves the runners of the original alone', async () => {
  const pid = await pidOf('chat');
  const copy = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-copy-'));
  fs.cpSync(cloud.home, copy, { recursive: true, filter: (file) => path.basename(file) !== 'run' });
  const other = startChild('ts/cli.ts', ['cloud', 'start', '--port', '0'], { CHASQUI_HOME: copy });
  await untilWritten(other, /^The cloud is at/m);
  const client = await CloudClient.find(copy);
  await until(
    async () => (await client.app(ORG, 'chat')).runners.every((each) => each.pid !== pid),
    'it lost the runner',
  );
  assert.ok(isAlive(pid));
  other.process.kill('SIGTERM');
  await other.exited;
  assert.ok(isAlive(pid));
  fs.rmSync(copy, { recursive: true, force: true });
});

test('runners that were killed while no control plane was there are started anew, and nobody else is ended', async () => {
  const pid = await pidOf('chat');
  await cloud.kill();
  process.kill(pid, 'SIGKILL');
  await until(() => !isAlive(pid), 'the end of the runner');
  await cloud.begin();
  assert.is.not(await pidOf('chat'), pid);
  assert.is((await cloud.post('chat', { max_tokens: 2 })).status, 200);
  const events = await cloud.events('chat');
  assert.ok(events.some(({ reason }) => reason === 'it had exited when the control plane restarted'));
});

test('a deployment goes on after the control plane was killed, and the old revision serves until it is done', async () => {
  const { revision } = await cloud.deploy('chat', { ...KEPT, slots: 2 });
  await cloud.untilRevision('chat', revision, 'starting');
  await cloud.kill();
  await cloud.begin();
  assert.is((await cloud.post('chat', { max_tokens: 2 })).status, 200);
  await cloud.untilRevision('chat', revision, 'active');
  await cloud.untilApp('chat', ({ runners }) => runners.length === 1);
  assert.is((await cloud.post('chat', { max_tokens: 2 })).status, 200);
});

test('a rollback and a failed deployment do not make a private app public', async () => {
  const status = async () => (await cloud.post('secluded', { max_tokens: 1 })).status;
  await cloud.deployed('secluded', KEPT);
  assert.is(await status(), 200);
  const { revision } = await cloud.deploy('secluded', { ...KEPT, auth: 'private', chatTemplate: '{{ raise(' });
  assert.is(await status(), 401);
  await cloud.untilRevision('secluded', revision, 'failed');
  assert.is(await status(), 401);
  await cloud.cli('apps', 'restart', 'secluded');
  assert.is(await status(), 401);
  // The same script again makes it public, without new runners.
  const { unchanged } = await cloud.deploy('secluded', { ...KEPT });
  assert.equal([unchanged, await status()], [true, 200]);
  const closed = await cloud.deployed('secluded', { ...KEPT, auth: 'private', slots: 2 });
  assert.is((await cloud.cli('apps', 'rollback', 'secluded')).code, 0);
  assert.is((await cloud.status('secluded')).revision, closed.revision - 1);
  assert.is(await status(), 401);
  // A public deployment takes effect when its revision is active.
  const open = await cloud.deploy('secluded', { ...KEPT, slots: 3 });
  assert.is(await status(), 401);
  await cloud.untilRevision('secluded', open.revision, 'active');
  assert.is(await status(), 200);
  await cloud.cli('apps', 'delete', 'secluded', '--yes');
});

test('weights that are gone are a failure that lasts, until somebody deploys again', async () => {
  const file = path.join(cloud.home, 'gone.gguf');
  fs.copyFileSync(demoModelPath, file);
  const options = { model: `file:${file}`, scale: { keepAlive: '100ms' } };
  await cloud.deployed('gone', options);
  await cloud.untilApp('gone', ({ state }) => state === 'asleep');
  fs.rmSync(file);
  const reply = await cloud.post('gone', { model: 'gone' });
  assert.is(reply.status, 424);
  assert.match(JSON.stringify(await reply.json()), 'gone.gguf');
  fs.copyFileSync(demoModelPath, file);
  await cloud.deployed('gone', options);
  assert.is((await cloud.post('gone', { model: 'gone', max_tokens: 1 })).status, 200);
});

test('secrets that cannot be read any more hold up their own app, until they are set again', async () => {
  const setSecret = () => cloud.client.put(`/secrets/${ORG}/WORD`, { value: 'sesame' });
  await setSecret();
  await cloud.deployed('secretive', { secrets: ['WORD'], scale: { keepAlive: '100ms' } });
  await cloud.untilApp('secretive', ({ state }) => state === 'asleep');
  await cloud.kill();
  fs.rmSync(path.join(cloud.home, 'cloud', 'secret.key'));
  await cloud.begin();
  const waiting = cloud.post('secretive', { max_tokens: 1 });
  await cloud.untilApp('secretive', ({ progress }) => /secret\.key. Set them again/.test(progress ?? ''));
  assert.is((await cloud.post('chat', { max_tokens: 1 })).status, 200);
  const { revision } = await cloud.deploy('secretive', { secrets: ['WORD'], slots: 2 });
  await cloud.untilRevision('secretive', revision, 'failed');
  await setSecret();
  assert.is((await waiting).status, 200);
});

test('a database that cannot be written holds up starts, and the cloud goes on when it can be written again', async () => {
  await cloud.deployed('unwritten', { scale: { keepAlive: '100ms' } });
  await cloud.untilApp('unwritten', ({ state }) => state === 'asleep');
  const database = openDatabase(path.join(cloud.home, 'cloud'));
  const full = "BEGIN SELECT RAISE(ABORT, 'no space is left') WHERE NEW.app = 'unwritten'; END";
  database.run(`CREATE TRIGGER full BEFORE INSERT ON events ${full}`);
  const waiting = cloud.post('unwritten', { max_tokens: 1 });
  await cloud.untilApp('unwritten', ({ progress }) => /no space is left/.test(progress ?? ''));
  assert.is((await cloud.post('chat', { max_tokens: 1 })).status, 200);
  database.run('DROP TRIGGER full');
  assert.is((await waiting).status, 200);
  database.close();
});

test('a runner that is told to stop ends, and another takes its place', async () => {
  const pid = await pidOf('chat');
  const { runners } = await cloud.status('chat');
  const id = runners.find((each) => each.pid === pid)?.id as string;
  const stopped = await cloud.cli('runners', 'stop', id, '--json');
  assert.equal(JSON.parse(stopped.stdout), { id, state: 'draining' });
  await until(() => !isAlive(pid), 'the end of the runner');
  assert.is.not(await pidOf('chat'), pid);
});

test('a backup of a running cloud is restored elsewhere, and its apps are called there', async () => {
  const folder = path.join(cloud.home, 'backup');
  const made = await cloud.cli('cloud', 'backup', folder);
  assert.is(made.code, 0, made.stderr);
  assert.is((await cloud.cli('cloud', 'backup', folder)).code, 2);
  assert.is((await cloud.cli('cloud', 'restore', folder)).code, 2);
  const other = new TestCloud();
  const restored = await other.cli('cloud', 'restore', folder);
  assert.is(restored.code, 0, restored.stderr);
  await other.begin();
  assert.is((await other.post('chat', { max_tokens: 1 })).status, 200);
  assert.is((await other.post('secretive', { max_tokens: 1 })).status, 200);
  other.child.process.kill('SIGTERM');
  await other.child.exited;
  for (const file of ['cloud/cloud.db-wal', 'chasqui.db-wal']) {
    const stat = fs.statSync(path.join(other.home, file), { throwIfNoEntry: false });
    assert.is(stat?.size ?? 0, 0, file);
  }
  fs.rmSync(other.home, { recursive: true, force: true });
});

test.run();
