// What hubs, networks and disks do to downloads.
import fs from 'node:fs';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { ChasquiError } from '../../../ts/errors.js';
import { HubClient } from '../../../ts/hub/hub-client.js';
import {
  blobsIn,
  type DownloadContext,
  download,
  downloadContext,
  FILE,
  MODEL,
  REPO,
} from '../../support/fake-hub/download-context.js';
import { sha256 } from '../../support/fake-hub/repo.js';
import type { Misbehaviour } from '../../support/fake-hub.js';
import { until } from '../../support/until.js';

const test = suite<DownloadContext>('unit: downloads that meet with errors');

test.before.each(async (context) => {
  Object.assign(context, await downloadContext());
});
test.after.each((context) => context.close());

function failure(promise: Promise<unknown>): Promise<ChasquiError> {
  return promise.then(
    () => assert.unreachable('it was started'),
    (error) => error,
  ) as Promise<ChasquiError>;
}

const mended: [what: string, misbehaviour: Misbehaviour][] = [
  ['connections that fall silent', { stalls: { afterBytes: 30_000, times: 6 } }],
  ['connections that break off', { breaks: { afterBytes: 30_000, times: 9 } }],
  ['addresses that have expired', { expired: 5 }],
  ['a hub that is down for a while', { failing: 0 }],
  ['a server that goes on after the end', { sendsMore: true }],
  ['a server that ignores ranges', { ignoresRanges: true }],
  ['a server that ignores ranges and breaks off', { ignoresRanges: true, breaks: { afterBytes: 300_000, times: 2 } }],
];

for (const [what, misbehaviour] of mended) {
  test(`${what}: the model is whole in the end`, async ({ open, hub, folder }) => {
    const downloads = await open({ stallTimeoutMs: 300 });
    hub.misbehaviour = { ...misbehaviour };
    const { id } = await downloads.start(REPO);
    if (misbehaviour.failing !== undefined) hub.misbehaviour.failing = 6;
    const job = await downloads.ended(id);
    assert.equal([job.state, job.error], ['completed', null]);
    assert.ok(fs.readFileSync(job.path ?? '').equals(MODEL));
    assert.equal(blobsIn(folder), [sha256(MODEL)]);
  });
}

test('the address of the bytes is asked for anew each time', async ({ open, hub }) => {
  hub.misbehaviour = { stalls: { afterBytes: 30_000, times: 4 } };
  await download(await open({ stallTimeoutMs: 300 }), REPO);
  const addresses = hub.seen.filter(({ host }) => host === 'cdn').map(({ path: address }) => address);
  assert.is(new Set(addresses).size, addresses.length);
  assert.ok(addresses.length >= 8);
});

test('while something is tried again, the job says what; afterwards it does not', async ({ open, hub }) => {
  hub.misbehaviour = { expired: 1_000_000 };
  const downloads = await open();
  const { id } = await downloads.start(REPO);
  await until(() => downloads.find(id)?.error?.code === 'hub_failed', 'the job says so');
  const { state, error } = downloads.find(id) ?? {};
  assert.is(state, 'downloading');
  assert.match(error?.message ?? '', /replied 403/);
  assert.not.match(error?.message ?? '', /signature|secret/);
  hub.misbehaviour = {};
  const job = await downloads.ended(id);
  assert.equal([job.state, job.error], ['completed', null]);
});

test('a hub that says to wait is asked again when it said so, and that is no failure', async ({ open, hub }) => {
  const downloads = await open({ maxTries: 1 });
  const { id } = await downloads.start(REPO);
  await downloads.pause(id);
  hub.misbehaviour = { limited: { times: 4, seconds: 1 } };
  const began = performance.now();
  downloads.resume(id);
  assert.is((await downloads.ended(id)).state, 'completed');
  assert.ok(performance.now() - began >= 1000);
});

test('tries have an end; what has come stays, and resuming goes on with it', async ({ open, hub }) => {
  hub.misbehaviour = { holds: { path: FILE, fromByte: 350_000 } };
  const downloads = await open({ maxTries: 2, stallTimeoutMs: 200 });
  const job = await download(downloads, REPO);
  assert.is(job.state, 'failed');
  assert.is(job.error?.code, 'hub_unreachable');
  assert.match(
    job.error?.message ?? '',
    /Could not fetch the file tiny-Q4_K_M.gguf of ada\/tiny-GGUF from 127.*the reply stalled/,
  );
  assert.is(job.downloadedBytes, 350_000);
  hub.misbehaviour = {};
  const sent = hub.sentBytes();
  downloads.resume(job.id);
  assert.is((await downloads.ended(job.id)).state, 'completed');
  assert.is(hub.sentBytes() - sent, 50_000);
});

test('other bytes than those asked for are not taken', async ({ open, hub, folder }) => {
  hub.misbehaviour = { shiftsRanges: true };
  const job = await download(await open({ maxTries: 2 }), REPO);
  assert.equal([job.state, job.error?.code, job.downloadedBytes], ['failed', 'hub_failed', 0]);
  assert.match(job.error?.message ?? '', /different range/);
  assert.not.ok(blobsIn(folder).includes(sha256(MODEL)));
});

test('a wrong digest: no file gets its name, and nothing is kept', async ({ open, hub, folder }) => {
  hub.misbehaviour = { spoils: true };
  const downloads = await open();
  const job = await download(downloads, REPO);
  assert.equal([job.state, job.error?.code, job.path], ['failed', 'wrong_digest', null]);
  assert.equal(blobsIn(folder), []);
  assert.not.ok(fs.existsSync(path.join(folder, 'models--ada--tiny-GGUF', 'snapshots')));
  hub.misbehaviour = {};
  downloads.resume(job.id);
  assert.is((await downloads.ended(job.id)).state, 'completed');
});

test('bytes that were spoilt on the disk meanwhile are fetched anew', async ({ open, hub, folder }) => {
  hub.misbehaviour = { holds: { path: FILE, fromByte: 350_000 } };
  const downloads = await open({ stallTimeoutMs: 60_000 });
  const { id } = await downloads.start(REPO);
  await until(() => (downloads.find(id)?.downloadedBytes ?? 0) === 350_000, 'most of it');
  await downloads.pause(id);
  const part = path.join(folder, 'models--ada--tiny-GGUF', 'blobs', `${sha256(MODEL)}.chasqui-part`);
  const file = fs.openSync(part, 'r+');
  fs.writeSync(file, Buffer.alloc(4096), 0, 4096, 100_000);
  fs.closeSync(file);
  hub.misbehaviour = {};
  downloads.resume(id);
  const job = await downloads.ended(id);
  assert.is(job.state, 'completed');
  assert.ok(fs.readFileSync(job.path ?? '').equals(MODEL));
});

test('a list of ranges that makes no sense is not believed', async ({ open, folder }) => {
  const part = path.join(folder, 'models--ada--tiny-GGUF', 'blobs', `${sha256(MODEL)}.chasqui-part`);
  const head = `${JSON.stringify({ version: 1, sizeBytes: MODEL.length, digest: sha256(MODEL) })}\n`;
  const line = (...numbers: number[]) => `${numbers.map((each) => String(each).padStart(16, '0')).join(' ')}\n`;
  const claims = [
    head + line(0, 400_000, 400_001),
    head + line(0, 400_000, 400_000).slice(0, -5),
    head + line(0, 100_000, 100_000) + line(200_000, 400_000, 400_000),
    head.replace(sha256(MODEL), '0'.repeat(64)) + line(0, 400_000, 400_000),
    head,
    '',
  ];
  for (const claim of claims) {
    fs.mkdirSync(path.dirname(part), { recursive: true });
    fs.writeFileSync(part, Buffer.alloc(MODEL.length));
    fs.writeFileSync(`${part}.json`, claim);
    const downloads = await open();
    const bytes: number[] = [];
    downloads.on((job) => bytes.push(job.downloadedBytes));
    const job = await download(downloads, REPO);
    assert.is(bytes[0], 0, claim);
    assert.ok(fs.readFileSync(job.path ?? '').equals(MODEL));
    await downloads.close();
    fs.rmSync(path.join(folder, 'models--ada--tiny-GGUF'), { recursive: true });
  }
});

test('what is no model is noticed at its first bytes', async ({ open, hub, folder }) => {
  const page = Buffer.concat([Buffer.from('<!doctype html>'), MODEL]);
  hub.put('ada/page', { files: { 'page-Q8_0.gguf': page } });
  const job = await download(await open(), 'ada/page');
  assert.equal([job.state, job.error?.code], ['failed', 'model_file_invalid']);
  assert.equal(
    blobsIn(folder, 'ada/page').filter((name) => /^[0-9a-f]{64}$/.test(name)),
    [],
  );
});

const refused: [what: string, repo: string, token: string | null, code: string, says: RegExp][] = [
  ['not there', 'ada/nothing', 'good', 'hub_model_not_found', /no model ada\/nothing\. Check the spelling/],
  ['not there or private', 'ada/nothing', null, 'hub_model_not_found', /or it is private.*HF_TOKEN/],
  ['gated', 'ada/gated', null, 'hub_model_gated', /Request access at http.*\/ada\/gated in a browser.*HF_TOKEN/],
  ['gated, and not granted', 'ada/gated', 'other', 'hub_model_gated', /account has no access yet. Request it at http/],
  ['disabled', 'ada/off', 'good', 'hub_access_denied', /disabled/],
  ['a token that has expired', 'ada/gated', 'expired', 'hub_token_refused', /rejected your token.*Create a new one/],
  ['a quantisation that is not there', `${REPO}:Q6_K`, null, 'quantisation_not_found', /no `Q6_K`. Available: Q4_K_M/],
  ['no name', 'tiny', null, 'invalid_model_name', /Use user\/repo/],
  ['a file that leads out', `${REPO}:../../x.gguf`, null, 'invalid_model_name', /Use user\/repo/],
];

for (const [what, name, token, code, says] of refused) {
  test(`refused before a byte is downloaded: ${what}`, async ({ open, hub, folder }) => {
    hub.put('ada/gated', { files: { [FILE]: MODEL }, gated: 'manual', tokens: ['good'] });
    hub.put('ada/off', { files: { [FILE]: MODEL }, disabled: true });
    const client = new HubClient({ endpoint: hub.url, token });
    const error = await failure((await open({ client })).start(name));
    assert.is(error.code, code);
    assert.match(error.message, says);
    assert.is(hub.sentBytes(), 0);
    assert.equal(fs.readdirSync(folder), []);
    await client.close();
  });
}

test('a private model opens with its token, which no other host gets to see', async ({ open, hub }) => {
  hub.put('ada/own', { files: { [FILE]: MODEL }, private: true, gated: 'auto', tokens: ['good'] });
  const client = new HubClient({ endpoint: hub.url, token: 'good' });
  const job = await download(await open({ client }), 'ada/own');
  assert.is(job.state, 'completed');
  const seen = (host: string) =>
    hub.seen.filter((each) => each.host === host).map(({ authorization }) => authorization);
  assert.equal([...new Set(seen('hub'))], ['Bearer good']);
  assert.equal([...new Set(seen('cdn'))], [undefined]);
  await client.close();
});

test('too many requests, nobody there: the wait is told, and the reason', async ({ open, hub }) => {
  hub.misbehaviour = { limited: { times: 1, seconds: 42 } };
  const limited = await failure((await open()).start(REPO));
  assert.equal([limited.code, limited.retryAfterSeconds], ['hub_rate_limited', 42]);
  assert.match(limited.message, /42 seconds/);
  const client = new HubClient({ endpoint: 'http://127.0.0.1:1' });
  const offline = await failure((await open({ client })).start(REPO));
  assert.is(offline.code, 'hub_unreachable');
  assert.match(offline.message, /Could not fetch the model ada\/tiny-GGUF from 127\.0\.0\.1:1: connection refused/);
  const nowhere = new HubClient({ endpoint: 'http://hub.invalid' });
  const unknown = await failure((await open({ client: nowhere })).start(REPO));
  assert.match(unknown.message, /is this computer online\?$/);
  await Promise.all([client.close(), nowhere.close()]);
});

test('a redirect to what is no web address is not followed', async ({ open, hub }) => {
  hub.misbehaviour = { redirectTo: 'file:///etc/passwd' };
  const job = await download(await open({ maxTries: 1 }), REPO).catch((error) => ({ state: 'failed', error }));
  assert.is(job.state, 'failed');
  assert.match(job.error?.message ?? '', /unsupported address/);
});

test.run();
