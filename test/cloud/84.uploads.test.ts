// Uploaded models stay within the quota: the least recently used ones are evicted, except those in use.
import { createHash, randomBytes } from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { Readable } from 'node:stream';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { runCli } from '../support/child.js';
import { ORG, TestCloud, writeScript } from '../support/cloud.js';
import { parseReply, sendBytes } from '../support/raw-client.js';
import { tinyModel } from '../support/tiny-model.js';

const test = suite('cloud: uploads');
const MIB = 2 ** 20;
/** Holds two of the files that tests send, and not three. */
const LIMIT_MIB = 20;
const FILE_BYTES = 8 * MIB;
let cloud: TestCloud;
let deployKey = '';

test.before(async () => {
  cloud = await TestCloud.start(['--uploads-limit', String(LIMIT_MIB)]);
  const made = await cloud.client.post<{ key: string }>('/keys', { org: ORG, scopes: ['deploy', 'read'] });
  deployKey = made.key;
});
test.before.each(() => fs.rmSync(folder(), { recursive: true, force: true }));
test.after(async () => {
  assert.equal(await cloud.stop(), { code: 0, signal: null });
});

const folder = () => path.join(cloud.home, 'cloud', 'models');
const fileOf = (sha256: string) => path.join(folder(), `${sha256}.gguf`);
const names = () => (fs.existsSync(folder()) ? fs.readdirSync(folder()).sort() : []);

interface Sent {
  sha256: string;
  status: number;
  code: string | undefined;
}

/** Sends these bytes, without a length when they are `inChunks`. */
async function send(
  bytes: Buffer,
  inChunks = false,
  type = 'application/octet-stream',
  key = deployKey,
): Promise<Sent> {
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  const { status, text } = await put(`${cloud.client.url}/api/cloud/v1/models/${sha256}`, bytes, inChunks, type, key);
  return { sha256, status, code: JSON.parse(text).error?.code };
}

function put(
  url: string,
  bytes: Buffer,
  inChunks: boolean,
  type: string,
  key: string,
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const headers = {
      authorization: `Key ${key}`,
      'content-type': type,
      ...(!inChunks && { 'content-length': bytes.length }),
    };
    const request = http.request(url, { method: 'PUT', headers }, (response) => {
      let text = '';
      response.on('data', (data) => {
        text += data;
      });
      response.once('end', () => resolve({ status: response.statusCode ?? 0, text }));
    });
    request.once('error', reject);
    if (inChunks) Readable.from([bytes.subarray(0, MIB), bytes.subarray(MIB)]).pipe(request);
    else request.end(bytes);
  });
}

/** No two are equal. */
function someModel(size: number): Buffer {
  return Buffer.concat([Buffer.from('GGUF'), randomBytes(size - 4)]);
}

/** As if it had been used last so many hours ago. */
function age(sha256: string, hours: number): void {
  const at = Date.now() / 1000 - 3600 * hours;
  fs.utimesSync(fileOf(sha256), at, at);
}

const there = async (sha256: string) => {
  const reply = await cloud.client.get<{ path: string | null }>(`/models/${sha256}`);
  return reply.path !== null;
};

test('the least recently used upload is evicted; a lookup counts as a use', async () => {
  const [one, two] = [await send(someModel(FILE_BYTES)), await send(someModel(FILE_BYTES))];
  assert.equal([one.status, two.status], [200, 200]);
  age(one.sha256, 5);
  age(two.sha256, 4);
  assert.ok(await there(one.sha256));
  age(two.sha256, 4);
  const three = await send(someModel(FILE_BYTES));
  assert.is(three.status, 200);
  assert.equal(names(), [`${one.sha256}.gguf`, `${three.sha256}.gguf`].sort());
});

test('recent uploads are not evicted', async () => {
  const sent = [await send(someModel(FILE_BYTES)), await send(someModel(FILE_BYTES))];
  const refused = await send(someModel(FILE_BYTES));
  assert.equal([refused.status, refused.code], [409, 'no_space']);
  assert.equal(names(), sent.map(({ sha256 }) => `${sha256}.gguf`).sort());
});

/** Path and deployment status that a key of another organisation gets for a model. */
async function toOthers(
  key: string,
  sha256: string,
): Promise<[path: string | null, status: number, code: string | undefined]> {
  const headers = { authorization: `Key ${key}`, 'content-type': 'application/json' };
  const base = `${cloud.client.url}/api/cloud/v1`;
  const known = (await (await fetch(`${base}/models/${sha256}`, { headers })).json()) as { path: string | null };
  const body = JSON.stringify({ options: { model: `file:${fileOf(sha256)}`, auth: 'public' } });
  const reply = await fetch(`${base}/apps/others/theirs/revisions`, { method: 'POST', headers, body });
  const { error } = (await reply.json()) as { error?: { code: string } };
  return [known.path, reply.status, error?.code];
}

test('to know the digest of a model gives no organisation what another one has sent', async () => {
  const { key } = await cloud.client.post<{ key: string }>('/keys', { org: 'others', scopes: ['deploy', 'read'] });
  const bytes = someModel(FILE_BYTES);
  const { sha256 } = await send(bytes);
  assert.equal(await toOthers(key, sha256), [null, 403, 'permission_denied']);
  assert.is((await send(bytes, false, undefined, key)).status, 200);
  assert.equal(await toOthers(key, sha256), [fileOf(sha256), 201, undefined]);
  // The file is stored once, and its first sender still has access.
  assert.equal(names(), [`${sha256}.gguf`]);
  assert.is((await toOthers(deployKey, sha256))[0], fileOf(sha256));
  await cloud.client.delete('/apps/others/theirs');
});

test('a body whose length is not said is held to the limit as well, and leaves nothing behind', async () => {
  const { sha256 } = await send(someModel(FILE_BYTES));
  const { status, code } = await send(someModel(2 * FILE_BYTES), true);
  assert.equal([status, code], [409, 'no_space']);
  assert.equal(names(), [`${sha256}.gguf`]);
});

test('files of the last three revisions of an app stay, however long ago they were used', async () => {
  const model = fs.readFileSync(tinyModel('llama', 1));
  const padded = Buffer.concat([model, Buffer.alloc(FILE_BYTES)]);
  const { sha256 } = await send(padded);
  const options = (slots: number) => ({ model: `file:${fileOf(sha256)}`, alias: 'tiny', slots });
  await cloud.deployed('sent', options(1));
  age(sha256, 100);
  const second = await send(someModel(FILE_BYTES));
  assert.is(second.status, 200);
  const third = await send(someModel(FILE_BYTES));
  assert.equal([third.status, third.code], [409, 'no_space']);
  assert.ok(names().includes(`${sha256}.gguf`));
  // Three revisions of another model, so the first model is no longer a likely rollback target.
  for (const slots of [1, 2, 3]) await cloud.deployed('sent', { model: 'demo', slots });
  age(sha256, 100);
  assert.is((await send(someModel(FILE_BYTES))).status, 200);
  assert.not.ok(names().includes(`${sha256}.gguf`));
});

/** As programs do that send nothing before they are told to go on. Returns what they were told, and the status. */
function sendWhenTold(bytes: Buffer, key: string): Promise<string[]> {
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  return new Promise((resolve, reject) => {
    const told: string[] = [];
    const request = http.request(`${cloud.client.url}/api/cloud/v1/models/${sha256}`, {
      method: 'PUT',
      headers: { authorization: `Key ${key}`, expect: '100-continue', 'content-length': bytes.length },
    });
    request.once('continue', () => {
      told.push('continue');
      request.end(bytes);
    });
    request.once('response', (response) => {
      response.resume();
      resolve([...told, String(response.statusCode)]);
      request.destroy();
    });
    request.once('error', reject);
    request.flushHeaders();
  });
}

test('a client that asks before it sends is told to go on, once it has been let in', async () => {
  assert.equal(await sendWhenTold(someModel(FILE_BYTES), deployKey), ['continue', '200']);
  assert.equal(await sendWhenTold(someModel(FILE_BYTES), 'no-key'), ['401']);
});

for (const [what, bytes] of [
  ['a library', Buffer.concat([Buffer.from('\x7fELF'), randomBytes(FILE_BYTES)])],
  ['the beginning of a beginning', Buffer.from('GGU')],
  ['nothing', Buffer.alloc(0)],
] as const) {
  test(`what is no model is refused, and not kept: ${what}`, async () => {
    const { status, code } = await send(bytes);
    assert.equal([status, code], [400, 'invalid_value']);
    assert.equal(names(), []);
  });
}

for (const type of ['application/octet-stream', 'application/json', 'text/plain', 'application/x-gguf']) {
  test(`who may not deploy is refused before the body comes, and cut off: ${type}`, async () => {
    const head = [
      `PUT /api/cloud/v1/models/${'0'.repeat(64)} HTTP/1.1`,
      'Host: x',
      `Content-Type: ${type}`,
      'Content-Length: 1000000000000',
    ];
    const { statusCode, body } = parseReply(await sendBytes(cloud.client.url, `${head.join('\r\n')}\r\n\r\n{`));
    assert.equal([statusCode, JSON.parse(body).error.code], [401, 'invalid_api_key']);
  });

  test(`a model is received whatever its type is said to be: ${type}`, async () => {
    const { status, sha256 } = await send(someModel(FILE_BYTES), false, type);
    assert.is(status, 200);
    assert.equal(names(), [`${sha256}.gguf`]);
  });
}

test('an upload that does not fit is refused before it is sent', async () => {
  const elsewhere = fs.mkdtempSync(path.join(cloud.home, 'elsewhere-'));
  const variables = { CHASQUI_HOME: elsewhere };
  assert.is((await runCli(['login', cloud.url, '--key', deployKey], variables)).code, 0);
  const file = path.join(elsewhere, 'large.gguf');
  fs.writeFileSync(file, Buffer.alloc((LIMIT_MIB + 1) * MIB));
  const refused = await runCli(
    ['deploy', writeScript(`export const large = app({ model: 'file:${file}' });`)],
    variables,
  );
  assert.is.not(refused.code, 0);
  // The option is named as the command line has it.
  assert.match(
    refused.stderr.replace(/\s+/g, ' '),
    /The model of 21 MiB does not fit into the 20 MiB for uploads \(--uploads-limit\)/,
  );
  assert.equal(names(), []);
});

test.run();
