// Request bodies of the cloud's management API.
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readDeployment } from '../../../ts/cloud/api/read-bodies.js';
import { isUpload } from '../../../ts/cloud/api/routes.js';
import { ModelSenders, ModelUploads } from '../../../ts/cloud/api/uploads.js';
import { fileFieldsOf } from '../../../ts/cloud/script/file-fields.js';
import { MAX_MODELS, toManifest } from '../../../ts/cloud/script/manifest.js';
import { openDatabase } from '../../../ts/cloud/store/database.js';
import { MAX_ADAPTERS } from '../../../ts/options/model-option-table.js';

test('an app may have as many files as a script can name', () => {
  const adapters = Object.fromEntries(
    Array.from({ length: MAX_ADAPTERS }, (_, index) => [`a${index}`, `file:/a${index}.gguf`]),
  );
  const models = Array.from({ length: MAX_MODELS }, (_, index) => ({
    ...{ model: `file:/m${index}.gguf`, mmproj: `file:/p${index}.gguf`, draftModel: `file:/d${index}.gguf` },
    ...{ alias: `m${index}`, adapters },
  }));
  const options = { models };
  toManifest(options, 'chat');
  const fields = fileFieldsOf(options).map(({ text }, index) => `${text}${index}`);
  const mark = { size: 1, sha256: '00'.repeat(32) };
  const files = Object.fromEntries(fields.map((each) => [each, mark]));
  assert.is(Object.keys(readDeployment({ options, files }).files).length, MAX_MODELS * (3 + MAX_ADAPTERS));
  assert.throws(() => readDeployment({ options, files: { ...files, another: mark } }), /must have at most/);
});

test('only a body that is received as a model may take any time', () => {
  const models = '/api/cloud/v1/models/';
  const digest = '0f'.repeat(32);
  assert.ok(isUpload({ method: 'PUT', url: models + digest }));
  assert.ok(isUpload({ method: 'PUT', url: `${models}${digest}?of=chat` }));
  assert.not.ok(isUpload({ method: 'POST', url: models + digest }));
  for (const rest of ['', 'a/b', `${digest}/b`, `${digest}0`, digest.slice(1), `b/${digest}`]) {
    assert.not.ok(isUpload({ method: 'PUT', url: models + rest }), rest);
  }
});

test('nothing is left of a body that is refused at once', async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-uploads-'));
  const database = openDatabase(path.join(folder, 'database'));
  const settings = {
    folder: path.join(folder, 'models'),
    limitBytes: 2 ** 40,
    removable: () => [],
    quotaOf: () => Infinity,
  };
  const uploads = new ModelUploads({ ...settings, senders: new ModelSenders(database) });
  for (let round = 0; round < 50; round += 1) {
    const refused = await uploads
      .receive('0f'.repeat(32), 'me', Readable.from([Buffer.from('a library')]), 9)
      .catch(String);
    assert.match(refused, /not a GGUF file/);
  }
  // A file that is opened late would come now.
  await sleep(100);
  assert.equal(fs.readdirSync(settings.folder), []);
  database.close();
  fs.rmSync(folder, { recursive: true });
});

test('what another one has sent is sent once more to show that one has it, and nothing is written', async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-uploads-'));
  const database = openDatabase(folder);
  const bytes = Buffer.concat([Buffer.from('GGUF'), Buffer.alloc(996)]);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  const settings = {
    folder: path.join(folder, 'models'),
    limitBytes: 1500,
    removable: () => [],
    quotaOf: () => Infinity,
  };
  const uploads = new ModelUploads({ ...settings, senders: new ModelSenders(database) });
  const send = (org: string, body: Buffer) => uploads.receive(sha256, org, Readable.from([body]), body.length);
  const file = await send('one', bytes);
  const before = fs.statSync(file);
  for (const other of [Buffer.alloc(1000), bytes.subarray(1), bytes.subarray(0, 999), Buffer.alloc(5000, bytes)]) {
    assert.match(await send('two', other).catch(String), /not a GGUF file|digest of the body/);
  }
  assert.is(uploads.find(sha256, 'two'), null);
  assert.is(await send('two', bytes), file);
  assert.is(uploads.find(sha256, 'two'), file);
  const after = fs.statSync(file);
  assert.equal([after.ino, after.mtimeMs], [before.ino, before.mtimeMs]);
  assert.is(fs.readdirSync(settings.folder).length, 1);
  database.close();
  fs.rmSync(folder, { recursive: true });
});

test('the uploader of a model is remembered as long as the model exists', () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-senders-'));
  const database = openDatabase(folder);
  const senders = new ModelSenders(database);
  senders.add('one', 'acme', () => true);
  senders.add('one', 'acme', () => true);
  senders.add('one', 'me', () => true);
  assert.equal(
    [senders.has('one', 'acme'), senders.has('one', 'me'), senders.has('one', 'others')],
    [true, true, false],
  );
  senders.add('two', 'me', (digest) => digest === 'two');
  assert.equal([senders.has('one', 'acme'), senders.has('one', 'me'), senders.has('two', 'me')], [false, false, true]);
  database.close();
  fs.rmSync(folder, { recursive: true });
});

test.run();
