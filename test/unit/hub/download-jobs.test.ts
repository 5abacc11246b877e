// Downloads that are requested twice, or continued by another client.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { HubClient } from '../../../ts/hub/hub-client.js';
import { type DownloadContext, downloadContext, FILE, REPO } from '../../support/fake-hub/download-context.js';
import { until } from '../../support/until.js';

const test = suite<DownloadContext>('unit: the jobs of downloads');

test.before.each(async (context) => {
  Object.assign(context, await downloadContext());
});
test.after.each((context) => context.close());

test('a download that is under way goes on when it is asked for again, whatever became of earlier ones', async ({
  open,
  hub,
}) => {
  hub.misbehaviour = { holds: { path: FILE, fromByte: 300_000 } };
  const downloads = await open({ stallTimeoutMs: 60_000 });
  const first = await downloads.start(REPO);
  await downloads.cancel(first.id);
  const second = await downloads.start(REPO);
  assert.is.not(second.id, first.id);
  assert.is((await downloads.start(REPO)).id, second.id);
  await downloads.pause(second.id);
  assert.is((await downloads.start(REPO)).id, second.id);
  assert.is(downloads.list().length, 2);
});

test('a download that is paused on its way to another client stays paused, and goes on through that one', async ({
  open,
  hub,
}) => {
  hub.misbehaviour = { holds: { path: FILE, fromByte: 300_000 } };
  const downloads = await open({ stallTimeoutMs: 60_000 });
  const { id } = await downloads.start(REPO);
  await until(() => (downloads.find(id)?.downloadedBytes ?? 0) === 300_000, 'most of it');
  const client = new HubClient({ endpoint: hub.url });
  const [, job] = await Promise.all([downloads.moveTo(client), downloads.pause(id)]);
  assert.is(job.state, 'paused');
  assert.is(downloads.find(id)?.state, 'paused');
  hub.misbehaviour = {};
  downloads.resume(id);
  assert.is((await downloads.ended(id)).state, 'completed');
  await client.close();
});

test.run();
