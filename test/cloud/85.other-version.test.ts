// Apps deployed by another version may be unreadable for this one. All other apps are served.
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openDatabase } from '../../ts/cloud/store/database.js';
import { TestCloud } from '../support/cloud.js';

const test = suite('cloud: other versions');
let cloud: TestCloud;

test.before(async () => {
  cloud = await TestCloud.start();
});
test.after(async () => {
  assert.equal(await cloud.stop(), { code: 0, signal: null });
});

test('an app whose script cannot be read any more says so, until it is deployed again, and the others are served', async () => {
  await cloud.deployed('old', {});
  await cloud.deployed('other', {});
  await cloud.kill();
  const database = openDatabase(path.join(cloud.home, 'cloud'));
  const app = database.get<{ id: string }>("SELECT id FROM apps WHERE name = 'old'");
  const options = JSON.stringify({ model: 'demo', ofAnotherVersion: true });
  database.run('UPDATE revisions SET options = ? WHERE app = ?', [options, app?.id ?? '']);
  database.close();
  await cloud.begin();
  assert.is((await cloud.post('other', { max_tokens: 1 })).status, 200);
  const { state, reason } = await cloud.status('old');
  assert.is(state, 'failed');
  assert.match(reason ?? '', 'Revision 1 was deployed by an incompatible version of chasqui');
  assert.is((await cloud.cli('apps', 'restart', 'old')).code, 2);
  const events = await cloud.events('old');
  assert.is(events.filter(({ runner }) => runner !== null).at(-1)?.state, 'STOPPED');
  await cloud.deployed('old', {});
  assert.is((await cloud.post('old', { max_tokens: 1 })).status, 200);
});

test.run();
