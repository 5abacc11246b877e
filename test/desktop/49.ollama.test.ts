// Ollama's client at the server's port: it downloads models of the hub, which the app shows, and deletes them.
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { Ollama } from 'ollama';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type FakeHub, fakeHub } from '../support/fake-hub.js';
import { root } from '../support/places.js';
import { desktopFolder, type RunningDesktop, removeFolder, startDesktop } from '../support/start-desktop.js';
import { until } from '../support/until.js';

const ollama = suite("Ollama's client at the server's port");
const DEMO = path.join(root, 'prebuilds', 'demo');
const MODEL = readFileSync(path.join(DEMO, 'chasqui-demo.gguf'));
const PROJECTOR = readFileSync(path.join(DEMO, 'mmproj-chasqui-demo.gguf'));
const NAME = 'hf.co/ada/demo-GGUF:Q4_K_M';
const ID = 'ada/demo-GGUF:Q4_K_M';
const folder = desktopFolder();
let fake: FakeHub;
let app: RunningDesktop;
let address: string;
let client: Ollama;

ollama.before(async () => {
  const gguf = { total: 1_000_000, architecture: 'llama', context_length: 2048 };
  fake = await fakeHub({
    'ada/demo-GGUF': { files: { 'demo-Q4_K_M.gguf': MODEL, 'mmproj-demo-f16.gguf': PROJECTOR }, gguf },
    'ada/closed-GGUF': { files: { 'closed-Q4_K_M.gguf': MODEL }, gguf, gated: 'manual' },
  });
  app = await startDesktop([], { folder, variables: { HF_ENDPOINT: fake.url } });
  await startServer();
});

ollama.after(async () => {
  await app.stop();
  await fake.close();
  removeFolder(folder);
});

async function startServer(): Promise<void> {
  const { port } = await app.done('POST', '/api/v1/server/start', { model: 'chasqui-demo', port: 0 });
  address = `http://127.0.0.1:${port}`;
  client = new Ollama({ host: address });
}

async function jobs(): Promise<{ model: string; state: string; downloadedBytes: number }[]> {
  return (await app.done('GET', '/api/v1/models/download')).jobs;
}

ollama('what is against a pull is said before a byte comes', async () => {
  for (const [model, status, words] of [
    ['hf.co/ada/closed-GGUF', 403, /access/],
    ['hf.co/ada/none-GGUF', 404, /ada\/none-GGUF/],
    [`hf.co/ada/demo-GGUF:Q2_K`, 404, /Available: Q4_K_M/],
    ['nosuch', 400, /Use user\/repo/],
  ] as const) {
    for (const stream of [true, false]) {
      const error = await client.pull({ model, stream: stream as true }).catch((thrown: unknown) => thrown);
      assert.is((error as { status_code: number }).status_code, status, model);
      assert.match((error as Error).message, words);
    }
  }
  assert.equal(await jobs(), []);
});

ollama('a pull whose client leaves is paused, and the next one goes on where it was', async () => {
  fake.misbehaviour = { holds: { path: '.gguf', fromByte: 700_000 } };
  const progress = await client.pull({ model: NAME, stream: true });
  const left = (async () => {
    for await (const { completed = 0 } of progress) if (completed > 300_000) progress.abort();
  })().catch((error: Error) => error.name);
  assert.is(await left, 'AbortError');
  await until(async () => (await jobs())[0]?.state === 'paused', 'it is paused', 30_000);
  fake.misbehaviour = {};

  const [paused] = await jobs();
  assert.ok((paused?.downloadedBytes ?? 0) > 300_000);
  const before = fake.sentBytes();
  const statuses: string[] = [];
  const completed = new Map<string, number>();
  const totals = new Map<string, number>();
  for await (const line of await client.pull({ model: NAME, stream: true })) {
    statuses.push(line.status);
    if (line.digest === undefined) continue;
    assert.ok(line.completed >= (completed.get(line.digest) ?? 0));
    completed.set(line.digest, line.completed);
    totals.set(line.digest, line.total);
  }
  assert.is(statuses[0], 'pulling manifest');
  assert.ok(statuses.includes('verifying sha256 digest'));
  assert.is(statuses.at(-1), 'success');
  assert.equal(
    [...totals.values()].sort((one, other) => one - other),
    [PROJECTOR.length, MODEL.length].sort((one, other) => one - other),
  );
  assert.equal([...completed], [...totals]);
  assert.ok(fake.sentBytes() - before < MODEL.length + PROJECTOR.length - 300_000);
});

ollama('what was pulled is served under its name, and again is a pull that has nothing to do', async () => {
  const { models } = await client.list();
  assert.ok(models.some(({ name }) => name === ID));
  const reply = await client.generate({ model: ID, prompt: 'Hi', options: { num_predict: 4 } });
  assert.is(reply.model, ID);
  const before = fake.sentBytes();
  assert.equal(await client.pull({ model: NAME }), { status: 'success' });
  // Checking access to the files transfers only a few bytes.
  assert.ok(fake.sentBytes() - before < 100_000);
});

ollama('a model is deleted by the name that it was pulled by, its files with it', async () => {
  const { models } = await app.done('GET', '/api/v1/models');
  const { path: file } = models.find(({ key }: { key: string }) => key === ID);
  assert.ok(existsSync(file));
  await client.delete({ model: NAME });
  assert.not.ok(existsSync(file));
  assert.not.ok((await client.list()).models.some(({ name }) => name === ID));
  for (const [model, status] of [
    [NAME, 404],
    ['chasqui-demo', 409],
    ['chasqui-demo:latest', 409],
  ] as const) {
    const error = await client.delete({ model }).catch((thrown: unknown) => thrown);
    assert.is((error as { status_code: number }).status_code, status, model);
  }
});

ollama('a server that stops ends a pull with an error, and the download goes on in the app', async () => {
  fake.misbehaviour = { holds: { path: '.gguf', fromByte: 700_000 } };
  const lines: unknown[] = [];
  const pulled = (async () => {
    for await (const line of await client.pull({ model: NAME, stream: true })) lines.push(line);
  })().catch((error: Error) => error.message);
  await until(async () => (await jobs()).some(({ state }) => state === 'downloading'), 'it is coming', 30_000);
  await until(() => lines.length > 1, 'its progress is told', 30_000);
  await app.done('POST', '/api/v1/server/stop');
  assert.match((await pulled) as string, 'shutting down');
  fake.misbehaviour = {};
  await until(async () => (await jobs()).every(({ state }) => state === 'completed'), 'it is complete', 30_000);
  await startServer();
});

ollama('pages of other sites can have nothing downloaded or deleted', async () => {
  const origin = 'https://elsewhere.example';
  for (const [method, url] of [
    ['POST', '/api/pull'],
    ['DELETE', '/api/delete'],
  ]) {
    const asked = { origin, 'access-control-request-method': method as string };
    const preflight = await fetch(address + url, { method: 'OPTIONS', headers: asked });
    assert.is(preflight.headers.get('access-control-allow-origin'), null);
    const plain = { method: method as string, headers: { origin, 'content-type': 'text/plain' }, body: '{}' };
    assert.is((await fetch(address + url, plain)).status, 415);
  }
});

ollama.run();
