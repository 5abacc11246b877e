// Crash counts survive a restart of the control plane.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { TestCloud } from '../support/cloud.js';

const test = suite('cloud: crashes remembered');
let cloud: TestCloud;

test.before(async () => {
  cloud = await TestCloud.start();
});
test.after(async () => {
  assert.equal(await cloud.stop(), { code: 0, signal: null });
});

const KEPT = { scale: { min: 1 } };

/** Ends the runner of the app, and waits until that was seen. */
async function crash(app: string): Promise<void> {
  // Those of a revision before have gone.
  await cloud.untilApp(app, ({ ready, runners }) => ready === 1 && runners.length === 1);
  const [runner] = (await cloud.status(app)).runners;
  process.kill(runner?.pid as number, 'SIGKILL');
  await cloud.untilApp(app, ({ runners }) => runners.every(({ id }) => id !== runner?.id));
}

async function restart(): Promise<void> {
  await cloud.kill();
  await cloud.begin();
}

test('three crashes bring the revision before back, although the control plane is killed after each', async () => {
  await cloud.deployed('chat', KEPT);
  const { revision } = await cloud.deployed('chat', { ...KEPT, slots: 2 });
  for (let time = 0; time < 2; time++) {
    await crash('chat');
    await restart();
  }
  await crash('chat');
  await cloud.untilApp('chat', (app) => app.revision === revision - 1 && app.ready === 1);
  const { revisions } = await cloud.status('chat');
  assert.match(revisions.at(-1)?.reason ?? '', /^3 crashes within ten minutes, the last one: it was ended by SIGKILL/);
  const events = await cloud.events('chat');
  assert.ok(events.some(({ state }) => state === 'ROLLBACK'));
});

test('crashes before a revision was deployed again do not count against it', async () => {
  const { revision } = await cloud.deployed('chat', { ...KEPT, slots: 3 });
  await crash('chat');
  await crash('chat');
  await cloud.cli('apps', 'restart', 'chat');
  await restart();
  await crash('chat');
  await cloud.untilApp('chat', ({ ready }) => ready === 1);
  assert.is((await cloud.status('chat')).revision, revision + 1);
});

test.run();
