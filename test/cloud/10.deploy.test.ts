// From a script to an app that is called, changed under load, taken back, asleep and awake again.
import fs from 'node:fs';
import path from 'node:path';
import OpenAI from 'openai';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ORG, TestCloud, writeScript } from '../support/cloud.js';
import { demoModelPath } from '../support/demo-model.js';

const test = suite('cloud: deploy');
let cloud: TestCloud;

test.before(async () => {
  cloud = await TestCloud.start();
});
test.after(async () => {
  assert.equal(await cloud.stop(), { code: 0, signal: null });
});

const CHAT = `export const chat = app({ model: 'demo', context: 512, slots: 2, scale: { min: 1, max: 2 } });`;

test('a script is deployed: its settings, its address, and what programs read', async () => {
  const script = writeScript(CHAT);
  const shown = await cloud.cli('deploy', `${script}::chat`, '--check');
  assert.is(shown.code, 0, shown.stderr);
  assert.match(shown.stdout, '+ slots: 2');
  const { code, stdout, stderr } = await cloud.cli('deploy', `${script}::chat`, '--app-name', 'chat', '--json');
  assert.is(code, 0, stderr);
  const { app, revision, url, state } = JSON.parse(stdout);
  assert.equal(
    { app, revision, url, state },
    { app: 'chat', revision: 1, url: `${cloud.url}/${ORG}/chat`, state: 'active' },
  );
});

test('a private app takes its organisation’s keys, by curl and by the openai client', async () => {
  assert.is((await cloud.post('chat', {})).status, 401);
  const headers = { authorization: `Key ${cloud.key}` };
  const reply = await cloud.post('chat', { max_tokens: 4 }, headers);
  assert.is(reply.status, 200);
  assert.match(reply.headers.get('x-chasqui-runner') ?? '', /^r[0-9a-f]{12}$/);
  const openai = new OpenAI({
    baseURL: `${cloud.url}/${ORG}/chat/v1`,
    apiKey: 'not-needed',
    defaultHeaders: { Authorization: `Key ${cloud.key}` },
  });
  const stream = await openai.chat.completions.create({
    model: 'chasqui-demo',
    messages: [{ role: 'user', content: 'Hello!' }],
    temperature: 0,
    stream: true,
  });
  let text = '';
  for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
  assert.match(text, 'Hello');
});

test('apps and runners are listed for people and for programs', async () => {
  const list = await cloud.cli('apps', 'list');
  assert.match(list.stdout, new RegExp(`${ORG}/chat +ready +1 +1 `));
  const status = JSON.parse((await cloud.cli('apps', 'status', 'chat', '--json')).stdout);
  assert.is(status.state, 'ready');
  assert.is(status.runners.length, 1);
  const [runner] = JSON.parse((await cloud.cli('runners', 'list', '--json')).stdout);
  assert.equal([runner.app, runner.state], ['chat', 'idle']);
  for (const kind of ['apps', 'runners']) {
    assert.is((await cloud.cli(kind, 'list', '--json', '--org', 'another')).stdout, '[]\n');
  }
  assert.ok(Number.isInteger(runner.pid));
  const lines = (await cloud.cli('apps', 'status', 'chat')).stdout.split('\n');
  assert.ok(
    lines.every((line) => line.length <= 80),
    lines.find((line) => line.length > 80),
  );
});

test('each kind of error has an exit code of its own', async () => {
  const script = writeScript('export const chat = app({ model: "demo", slot: 2 } as never);');
  const refused = await cloud.cli('deploy', script);
  assert.is(refused.code, 2);
  assert.match(refused.stderr, '`slot` of the app chat is not an option; did you mean `slots`?');
  for (const command of ['status', 'events']) assert.is((await cloud.cli('apps', command, 'nothing')).code, 5, command);
  // Without --to kubernetes it would deploy.
  const dry = await cloud.cli('deploy', writeScript(CHAT), '--dry-run', '--namespace', 'a');
  assert.equal([dry.code, dry.stdout], [2, '']);
  assert.match(dry.stderr, /--namespace, --dry-run: only for a deployment to Kubernetes\..*--check/);
  const missing = writeScript(`export const chat = app({ model: 'file:./none.gguf' });`);
  for (const command of ['deploy', 'run']) {
    const { code, stderr } = await cloud.cli(command, missing);
    assert.is(code, 2);
    assert.match(stderr, /`model` is the file .*none\.gguf, which does not exist\./);
  }
  const nowhere = path.join(cloud.home, 'nowhere');
  assert.is((await cloud.cli('apps', 'list', '--data-dir', nowhere)).code, 3);
});

test('a runner that could never hold its model is refused before anything is read, by the command and by the cloud', async () => {
  const large = path.join(cloud.home, 'large.gguf');
  fs.writeFileSync(large, 'GGUF');
  fs.truncateSync(large, 3 * 2 ** 30);
  const options = `{ model: 'file:${large}', auth: 'public', machine: { memory: '2Gi' } }`;
  const script = writeScript(`export const large = app(${options});`);
  for (const command of ['deploy', 'run']) {
    const { code, stderr } = await cloud.cli(command, script);
    assert.is(code, 2, stderr);
    assert.match(stderr, '`machine.memory` of the app large is 2048 MiB, but the model files have 3072 MiB');
  }
  const files = { [large]: { size: 3 * 2 ** 30, sha256: '00'.repeat(32) } };
  const sent = cloud.deploy('large', { model: `file:${large}`, machine: { memory: '2Gi' } }, { files });
  const refused = await sent.then(
    () => 'nothing was refused',
    ({ code, message }) => `${code} ${message}`,
  );
  assert.match(refused, /^script_invalid .*2048 MiB.*3072 MiB/);
  assert.is((await cloud.cli('apps', 'status', 'large')).code, 5);
});

test('an address that cannot be had is named, with what to do', async () => {
  const script = writeScript(CHAT);
  const { port } = new URL(cloud.url);
  const folder = fs.mkdtempSync(path.join(cloud.home, 'another-'));
  for (const command of [
    ['cloud', 'start', '--data-dir', folder],
    ['run', `${script}::chat`],
  ]) {
    const { code, stderr } = await cloud.cli(...command, '--port', port);
    assert.is(code, 1);
    const by = process.platform === 'linux' ? `is used by \\S+ \\(process ${cloud.child.process.pid}\\)` : 'is in use';
    assert.match(stderr, new RegExp(`^chasqui: port ${port} at 127.0.0.1 ${by}; stop .* --port: \\d+ is free$`, 'm'));
  }
  const nowhere = await cloud.cli('cloud', 'start', '--data-dir', folder, '--host', '192.0.2.1', '--insecure');
  assert.is(nowhere.code, 1);
  assert.match(nowhere.stderr, 'chasqui: 192.0.2.1 is not an address of this machine');
});

test('messages about a script have the names that scripts have', async () => {
  const script = writeScript(`export const chat = app({ model: 'demo', threads: -1, auth: 'public' });`);
  const { code, stderr } = await cloud.cli('deploy', script);
  assert.is(code, 2);
  assert.match(stderr, 'chasqui: `threads` of the app chat is -1, but must be ');
});

test('a revision that cannot start never gets a request, and says why', async () => {
  const broken = path.join(cloud.home, 'broken.gguf');
  fs.writeFileSync(broken, 'GGUF and nothing else');
  const script = writeScript(`export const broken = app({ model: 'file:${broken}', auth: 'public' });`);
  const { code, stderr } = await cloud.cli('deploy', script);
  assert.is(code, 4);
  assert.match(stderr, /revision 1 is failed: .*broken\.gguf/);
  const reply = await cloud.post('broken', {});
  assert.is(reply.status, 424);
  const { error } = (await reply.json()) as { error: { code: string; message: string } };
  assert.is(error.code, 'app_failed');
  assert.match(error.message, 'Revision 1 failed');
});

test('a redeployment loses no request', async () => {
  await cloud.deployed('busy', { scale: { min: 1 }, slots: 2 });
  let isOver = false;
  const ends: string[] = [];
  const client = async (): Promise<void> => {
    while (!isOver) {
      const { text, end } = await cloud.stream('busy', { temperature: 0, max_tokens: 12 });
      ends.push(text.startsWith('Hello') ? end : `${end} after "${text}"`);
    }
  };
  const clients = Array.from({ length: 4 }, client);
  const second = await cloud.deployed('busy', { scale: { min: 1 }, slots: 3 });
  assert.is(second.revision, 2);
  const before = ends.length;
  await cloud.untilApp('busy', () => ends.length > before + 20);
  await cloud.untilRevision('busy', 1, 'retired');
  isOver = true;
  await Promise.all(clients);
  assert.equal([...new Set(ends)], ['done']);
});

test('streams that began before a redeployment are finished by their runner, however long they are', async () => {
  // One thread computes two of them, so that some are running when their runner drains.
  const long = { messages: [{ role: 'user', content: 'Hello!' }], max_tokens: 1000, ignore_eos: true };
  await cloud.deployed('long', { scale: { min: 1 }, slots: 2, context: 2048, threads: 1 });
  let isOver = false;
  const ends: string[] = [];
  const client = async (): Promise<void> => {
    while (!isOver) ends.push((await cloud.stream('long', long)).end);
  };
  const clients = [client(), client()];
  await cloud.deployed('long', { scale: { min: 1 }, slots: 3, context: 2048, threads: 1 });
  isOver = true;
  await Promise.all(clients);
  assert.equal([...new Set(ends)], ['done']);
});

test('a rollback brings the revision before back, and a second deployment of the same changes nothing', async () => {
  const back = await cloud.cli('apps', 'rollback', 'busy', '--json');
  assert.is(back.code, 0, back.stderr);
  assert.is(JSON.parse(back.stdout).revision, 1);
  const { revision, revisions } = await cloud.status('busy');
  assert.is(revision, 1);
  assert.is(revisions.at(-1)?.options instanceof Object, true);
  const same = await cloud.deploy('busy', { scale: { min: 1 }, slots: 2 });
  assert.equal([same.revision, same.unchanged], [1, true]);
});

test('however many revisions came later, one is compared with, gone back to, and followed until it fails', async () => {
  await cloud.deployed('often', { slots: 1 });
  const missing = path.join(cloud.home, 'missing.gguf');
  // None of them needs a runner.
  for (let number = 2; number <= 23; number++) {
    await cloud.deploy('often', { model: `file:${missing}`, slots: number });
    await cloud.untilRevision('often', number, 'failed');
  }
  const script = writeScript(`export const often = app({ model: 'demo', context: 512, auth: 'public', slots: 2 });`);
  assert.is((await cloud.cli('deploy', script, '--check')).stdout, '  ~ slots: 1 -> 2\n');
  assert.is((await cloud.cli('deploy', script)).code, 0);
  const back = await cloud.cli('apps', 'rollback', 'often', '--to', '1');
  assert.is(back.code, 0, back.stderr);
  const failed = await cloud.cli('apps', 'rollback', 'often', '--to', '2');
  assert.is(failed.code, 4);
  assert.match(failed.stderr, /revision 2 is failed: The file .*missing\.gguf/);
});

test('a candidate that does not fit beside the old runners says to recreate', async () => {
  const total = '900Gi';
  const options = { scale: { min: 1 }, machine: { memory: total } };
  const { revision } = await cloud.deploy('busy', options);
  await cloud.untilRevision('busy', revision, 'failed');
  const { revisions } = await cloud.status('busy');
  assert.match(revisions.at(-1)?.reason ?? '', 'this machine has only');
});

test('an app sleeps when nobody calls, and wakes for a request, which hears how it goes', async () => {
  await cloud.deployed('sleepy', { scale: { keepAlive: '100ms' } });
  await cloud.untilApp('sleepy', ({ state }) => state === 'asleep');
  const reply = await cloud.post('sleepy', { max_tokens: 3 });
  assert.is(reply.status, 200);
  assert.ok(Number(reply.headers.get('x-chasqui-cold-start-ms')) > 0);
  const events = await cloud.events('sleepy');
  assert.ok(events.some(({ state, reason }) => state === 'DRAINING' && reason === 'no longer needed'));
});

test('a file is served by its path, and another one in its place is noticed', async () => {
  const file = path.join(cloud.home, 'mine.gguf');
  fs.copyFileSync(demoModelPath, file);
  const script = writeScript(`export const mine = app({ model: 'file:${file}', auth: 'public', context: 512 });`);
  const { code, stderr } = await cloud.cli('deploy', script);
  assert.is(code, 0, stderr);
  assert.is((await cloud.post('mine', { model: 'mine', max_tokens: 1 })).status, 200);
});

test('scaling by hand starts more runners and stops them again', async () => {
  assert.is((await cloud.cli('apps', 'scale', 'sleepy', '--min', '2', '--max', '2')).code, 0);
  await cloud.untilApp('sleepy', ({ ready }) => ready === 2);
  assert.is((await cloud.cli('apps', 'scale', 'sleepy', '--reset')).code, 0);
  await cloud.untilApp('sleepy', ({ runners }) => runners.length === 0);
});

test('a deleted app is gone, with its runners', async () => {
  assert.is((await cloud.cli('apps', 'delete', 'busy', '--json')).code, 0);
  assert.is((await cloud.post('busy', {}, { authorization: `Key ${cloud.key}` })).status, 404);
  await cloud.untilApp('chat', () => true);
  const { runners } = await cloud.client.get<{ runners: { app: string; state: string }[] }>('/runners');
  assert.ok(runners.every(({ app, state }) => app !== 'busy' || state === 'draining'));
});

test.run();
