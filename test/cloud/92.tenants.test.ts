// Attacks of an organisation on what all share, and questions about what others have.
import { createHash, randomBytes } from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { CloudClient } from '../../ts/cli/cloud/client.js';
import type { RunnerView } from '../../ts/cloud/apps/views.js';
import type { ChasquiError } from '../../ts/errors.js';
import { TestCloud } from '../support/cloud.js';

const test = suite('cloud: tenants');
const MIB = 2 ** 20;
let cloud: TestCloud;
/** The bystander. */
let acme: CloudClient;

test.before(async () => {
  const options = ['--uploads-limit', '200', '--org-quota', 'small:uploads=1'];
  cloud = await TestCloud.start(options);
  acme = await clientOf('acme');
  const app = { model: 'demo', context: 512, auth: 'private', scale: { min: 1 } };
  await acme.post('/apps/acme/chat/revisions', { options: app });
});
test.after(async () => {
  assert.equal(await cloud.stop(), { code: 0, signal: null });
});

async function keyOf(org: string): Promise<{ id: string; key: string }> {
  return cloud.client.post('/keys', { org, scopes: ['call', 'deploy', 'read', 'admin'] });
}

async function clientOf(org: string): Promise<CloudClient> {
  return CloudClient.of({ url: cloud.url, key: (await keyOf(org)).key });
}

function refusalOf(action: Promise<unknown>): Promise<ChasquiError | null> {
  return action.then(
    () => null,
    (error) => error as ChasquiError,
  );
}

test('a stopped runner delays the lists of its own organisation only', async () => {
  const evil = await clientOf('evil');
  const ready = async () => (await acme.get<{ runners: RunnerView[] }>('/runners')).runners[0];
  let runner = await ready();
  while (runner?.state !== 'idle') runner = await ready();
  process.kill(runner.pid as number, 'SIGSTOP');
  try {
    const own = acme.get('/runners').then(() => 'acme');
    const others = evil.get<{ runners: [] }>('/runners').then(({ runners }) => `evil, ${runners.length} runners`);
    assert.is(await Promise.race([own, others]), 'evil, 0 runners');
    await own;
  } finally {
    process.kill(runner.pid as number, 'SIGCONT');
  }
});

test('changes of an organisation are limited, and those of others go on', async () => {
  const evil = await clientOf('many-changes');
  const stolen = await keyOf('many-changes');
  let refusal: ChasquiError | null = null;
  for (let sent = 0; sent < 1000 && refusal?.code !== 'rate_limit_exceeded'; sent += 1) {
    refusal = await refusalOf(evil.put('/apps/many-changes/none/scale', { min: 0, max: 1 }));
  }
  assert.is(refusal?.code, 'rate_limit_exceeded');
  assert.match(refusal?.message ?? '', /^Organisation many-changes is limited to 60 changes per minute\. Try again in/);
  assert.is((await evil.get<{ apps: [] }>('/apps')).apps.length, 0);
  // The owner can still revoke the key that has used up the limit.
  await evil.delete(`/keys/${stolen.id}`);
  for (const client of [acme, cloud.client]) await client.put('/apps/acme/chat/scale', { min: 1, max: 2 });
});

test('an organisation has a limited number of secrets, and can still change them', async () => {
  const evil = await clientOf('many-secrets');
  const set = (name: string) => refusalOf(evil.put(`/secrets/many-secrets/${name}`, { value: 'x' }));
  for (let at = 0; at < 200; at += 1) assert.is(await set(`NAME_${at}`), null);
  const refusal = await set('ONE_MORE');
  assert.match(refusal?.message ?? '', 'many-secrets has 200 secrets, which is the limit');
  assert.is(await set('NAME_7'), null);
});

/** Sends the head and the first bytes of an upload. */
function upload(key: string, length: number, bytes: Buffer, sha256 = digestOf(bytes)): http.ClientRequest {
  const request = http.request(`${cloud.url}/api/cloud/v1/models/${sha256}`, {
    method: 'PUT',
    headers: { authorization: `Key ${key}`, 'content-type': 'application/octet-stream', 'content-length': length },
  });
  request.on('error', () => undefined).write(bytes);
  return request;
}

function replyTo(request: http.ClientRequest): Promise<{ status: number | undefined; text: string }> {
  return new Promise((resolve) => {
    request.on('response', async (reply) => {
      const text = Buffer.concat(await reply.toArray()).toString();
      resolve({ status: reply.statusCode, text });
    });
    request.end();
  });
}

const digestOf = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');
const modelOf = (bytes: number) => Buffer.concat([Buffer.from('GGUF'), randomBytes(bytes - 4)]);

test('an upload that stops at its beginning keeps little space from others', async () => {
  const [evil, other] = [await keyOf('slow-upload'), await keyOf('acme')];
  const slow = upload(evil.key, 190 * MIB, Buffer.from('GGUF'), '0'.repeat(64));
  const folder = path.join(cloud.home, 'cloud', 'models');
  while (!fs.existsSync(folder) || fs.readdirSync(folder).every((name) => !name.startsWith('000'))) {
    await new Promise((resolve) => setImmediate(resolve));
  }
  const bytes = modelOf(20 * MIB);
  const { status, text } = await replyTo(upload(other.key, bytes.length, bytes));
  slow.destroy();
  assert.is(status, 200, text);
});

test('uploads beyond the quota of an organisation are refused, also of models that others have sent', async () => {
  const [small, other] = [await keyOf('small'), await keyOf('acme')];
  const [first, second] = [modelOf(MIB * 0.75), modelOf(MIB * 0.75)];
  assert.is((await replyTo(upload(other.key, second.length, second))).status, 200);
  assert.is((await replyTo(upload(small.key, first.length, first))).status, 200);
  const { text } = await replyTo(upload(small.key, second.length, second));
  assert.equal(JSON.parse(text).error?.code, 'deployment_refused', text);
  assert.match(text, 'exceeds the quota of small for uploads');
  const client = await CloudClient.of({ url: cloud.url, key: small.key });
  const asked = await refusalOf(client.get(`/models/${digestOf(second)}?bytes=${second.length}`));
  assert.is(asked?.code, 'deployment_refused');
  assert.is((await replyTo(upload(small.key, first.length, first))).status, 200);
});

test('logs of many runners are read up to a limit, the newest first', async () => {
  const folder = path.join(cloud.home, 'cloud', 'logs');
  const app = fs.readdirSync(folder)[0] as string;
  for (let at = 0; at < 15; at += 1) {
    const file = path.join(folder, app, `old${at}.log`);
    fs.writeFileSync(file, `${'x'.repeat(99)}\n`.repeat(5000));
    fs.utimesSync(file, 1e9 + at, 1e9 + at);
  }
  const { lines, cursor } = await acme.get<{ lines: { runner: string; text: string }[]; cursor: object }>(
    '/apps/acme/chat/logs',
  );
  const bytes = lines.reduce((sum, { text }) => sum + text.length, 0);
  assert.ok(bytes < 512 * 1024, `${bytes} bytes`);
  const of = (runner: string) => lines.filter((line) => line.runner === runner).length;
  assert.ok(of('old14') > 10 * of('old0') && of('old0') > 0, `${of('old14')} and ${of('old0')} lines`);
  const sent = encodeURIComponent(JSON.stringify(cursor));
  const next = await acme.get<{ lines: { runner: string }[] }>(`/apps/acme/chat/logs?cursor=${sent}`);
  assert.equal(
    next.lines.filter(({ runner }) => runner.startsWith('old')),
    [],
  );
});

test('replies about objects of others are the same as about objects that do not exist', async () => {
  const { key } = await keyOf('evil');
  const others = await keyOf('acme');
  const { runners } = await acme.get<{ runners: RunnerView[] }>('/runners');
  const model = modelOf(1000);
  await replyTo(upload(others.key, model.length, model));
  const queued = await fetch(`${cloud.url}/queue/acme/chat/v1/completions`, {
    method: 'POST',
    headers: { authorization: `Key ${others.key}` },
    body: JSON.stringify({ model: 'chasqui-demo', prompt: 'Hi', max_tokens: 1 }),
  });
  const { request_id: request } = (await queued.json()) as { request_id: string };
  const api = '/api/cloud/v1';
  const pairs: [call: string, theirs: string, none: string][] = [
    ['GET', `${api}/keys/${others.id}`, `${api}/keys/none`],
    ['DELETE', `${api}/keys/${others.id}`, `${api}/keys/none`],
    ['DELETE', `${api}/runners/${runners[0]?.id}`, `${api}/runners/none`],
    ['GET', `${api}/models/${digestOf(model)}`, `${api}/models/${'1'.repeat(64)}`],
    ['GET', `${api}/apps/acme/chat`, `${api}/apps/acme/none`],
    ['GET', `${api}/apps/acme/chat/logs`, `${api}/apps/none/none/logs`],
    ['GET', `${api}/apps/acme/chat/events`, `${api}/apps/none/none/events`],
    ['GET', `${api}/apps/acme/chat/queue`, `${api}/apps/none/none/queue`],
    ['GET', `${api}/apps/acme/chat/queue/${request}`, `${api}/apps/acme/chat/queue/none`],
    ['PUT', `${api}/apps/acme/chat/scale`, `${api}/apps/acme/none/scale`],
    ['POST', `${api}/apps/acme/chat/restart`, `${api}/apps/acme/none/restart`],
    ['GET', `${api}/secrets/acme`, `${api}/secrets/none`],
    ['GET', `${api}/usage?org=acme`, `${api}/usage?org=none`],
    ['GET', `${api}/usage?key_id=${others.id}`, `${api}/usage?key_id=none`],
    ['GET', '/acme/chat/status', '/acme/none/status'],
    ['POST', '/acme/chat/wake', '/acme/none/wake'],
    ['POST', '/acme/chat/v1/chat/completions', '/none/none/v1/chat/completions'],
    ['OPTIONS', '/acme/chat/v1/models', '/acme/none/v1/models'],
    ['GET', `/queue/acme/chat/requests/${request}`, '/queue/acme/none/requests/none'],
    ['PUT', `/queue/acme/chat/requests/${request}/cancel`, '/queue/acme/none/requests/none/cancel'],
  ];
  for (const [method, theirs, none] of pairs) {
    const [one, other] = await Promise.all([theirs, none].map((url) => seen(method, url, key)));
    assert.equal(one, other, `${method} ${theirs}`);
  }
  assert.not.match(
    await (await fetch(`${cloud.url}/metrics`, { headers: { authorization: `Key ${key}` } })).text(),
    'acme',
  );
});

/** Returns status, names of headers, and the text without names that the caller has sent. */
async function seen(method: string, url: string, key: string) {
  const body = ['POST', 'PUT'].includes(method) ? '{"min":0,"max":1}' : null;
  const headers = { authorization: `Key ${key}`, 'content-type': 'application/json' };
  const reply = await fetch(cloud.url + url, { method, headers, body });
  const names = [...reply.headers.keys()].filter((name) => name !== 'content-length');
  const sent = new Set(url.split(/[/?=]/).filter((part) => part.length > 3));
  const text = [...sent].reduce((all, part) => all.replaceAll(part, ''), await reply.text());
  return { status: reply.status, names, text };
}

test.run();
