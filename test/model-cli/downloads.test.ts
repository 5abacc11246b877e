// `chasqui serve --allow-downloads`: clients download models of a fake hub that has the demo model, and delete them.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Child, runCli, startChild, untilWritten } from '../support/child.js';
import { demoModelPath } from '../support/demo-model.js';
import { type FakeHub, fakeHub } from '../support/fake-hub.js';
import { until } from '../support/until.js';

interface Context {
  folder: string;
  hub: FakeHub;
  children: Child[];
}

const test = suite<Context>('model-cli: downloads by clients');
const MODEL = 'ada/demo-GGUF:Q8_0';
const NAMED = 'ada/named-GGUF:Q8_0';
const DEMO = fs.readFileSync(demoModelPath);

test.before.each(async (context) => {
  context.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-downloads-'));
  context.children = [];
  const gguf = { architecture: 'llama' };
  context.hub = await fakeHub({
    'ada/demo-GGUF': { files: { 'demo-Q8_0.gguf': DEMO }, gguf },
    'ada/named-GGUF': { files: { 'named-Q8_0.gguf': DEMO }, gguf },
  });
});

test.after.each(async ({ hub, folder, children }) => {
  for (const { process: running, exited } of children) {
    running.kill('SIGTERM');
    await exited;
  }
  await hub.close();
  fs.rmSync(folder, { recursive: true });
});

function variablesOf({ folder, hub }: Context): Record<string, string> {
  return { HF_ENDPOINT: hub.url, HF_HUB_CACHE: path.join(folder, 'cache'), CHASQUI_HOME: folder, HF_TOKEN: '' };
}

async function serve(context: Context, ...options: string[]) {
  const args = ['serve', '--allow-downloads', '--port', '0', '--threads', '1', ...options];
  const child = startChild('ts/cli.ts', args, variablesOf(context));
  context.children.push(child);
  const [, base = ''] = await untilWritten(child, /at (http:\S+)\/v1/);
  const send = async (method: string, url: string, body?: unknown) => {
    const headers = { 'content-type': 'application/json' };
    const reply = await fetch(base + url, {
      method,
      ...(body !== undefined && { headers, body: JSON.stringify(body) }),
    });
    return { status: reply.status, body: (await reply.json()) as Record<string, never> };
  };
  const states = async (): Promise<Record<string, string>> => {
    const { data } = (await send('GET', '/models')).body as unknown as {
      data: { id: string; status: { value: string } }[];
    };
    return Object.fromEntries(data.map(({ id, status }) => [id, status.value]));
  };
  const ask = (model: string) => {
    const messages = [{ role: 'user', content: 'red' }];
    return send('POST', '/v1/chat/completions', { model, messages, max_tokens: 4 });
  };
  return { send, states, ask };
}

const SUCCESS = { status: 200, body: { success: true } };

test('a server without any model gets one, serves it, and loses it again with its files', async (context) => {
  const { send, states, ask } = await serve(context);
  assert.equal(await states(), {});
  assert.equal((await ask(MODEL)).status, 404);
  for (const model of ['../../etc/passwd', 'nosuch', 'ada/demo-GGUF:../x', 'http://127.0.0.1:1/a/b']) {
    assert.is((await send('POST', '/models', { model })).status, 400, model);
  }
  for (const [model, status] of [
    ['ada/none', 404],
    ['ada/demo-GGUF:Q2_K', 404],
  ] as const) {
    assert.is((await send('POST', '/models', { model })).status, status, model);
  }
  assert.equal(await send('POST', '/models', { model: MODEL }), SUCCESS);
  await until(async () => (await states())[MODEL] === 'unloaded', 'it is in the list', 30_000);
  assert.is((await ask(MODEL)).status, 200);
  assert.equal(await states(), { [MODEL]: 'loaded' });
  assert.is((await send('POST', '/models', { model: MODEL })).status, 409);

  const blobs = path.join(context.folder, 'cache', 'models--ada--demo-GGUF');
  assert.ok(fs.existsSync(blobs));
  assert.equal(await send('DELETE', `/models?model=${MODEL}`), SUCCESS);
  assert.equal(await states(), {});
  assert.not.ok(fs.existsSync(blobs));
  assert.is((await send('DELETE', `/models?model=${MODEL}`)).status, 404);
  assert.is((await ask(MODEL)).status, 404);
});

test('a download is paused, resumed by the next request, and cancelled by its deletion', async (context) => {
  const { hub } = context;
  const { send, states } = await serve(context);
  const holds = { path: '.gguf', fromByte: 700_000 };
  hub.misbehaviour = { holds };
  assert.equal(await send('POST', '/models', { model: MODEL }), SUCCESS);
  await until(() => hub.sentBytes() >= 700_000, 'a part is there', 30_000);
  assert.equal(await states(), { [MODEL]: 'downloading' });
  assert.equal(await send('POST', '/models/unload', { model: MODEL }), SUCCESS);
  await until(async () => (await states())[MODEL] === undefined, 'it is paused', 30_000);
  hub.misbehaviour = {};
  const before = hub.sentBytes();
  assert.equal(await send('POST', '/models', { model: MODEL }), SUCCESS);
  await until(async () => (await states())[MODEL] === 'unloaded', 'it is complete', 30_000);
  assert.ok(hub.sentBytes() - before < DEMO.length - 300_000);

  hub.misbehaviour = { holds };
  assert.equal(await send('POST', '/models', { model: NAMED }), SUCCESS);
  const blobs = path.join(context.folder, 'cache', 'models--ada--named-GGUF');
  await until(() => fs.existsSync(blobs), 'its part is there', 30_000);
  assert.equal(await send('DELETE', `/models?model=${NAMED}`), SUCCESS);
  await until(async () => (await states())[NAMED] === undefined, 'it is cancelled', 30_000);
  const files = fs.readdirSync(blobs, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  assert.equal(
    files.filter(({ name }) => name.includes('part')),
    [],
  );
});

test('a model that was named at startup is not deleted', async (context) => {
  const { send, states } = await serve(context, '-hf', NAMED);
  assert.equal(await states(), { 'named-Q8_0': 'loaded' });
  const refused = await send('DELETE', `/models?model=${NAMED}`);
  assert.equal(
    [refused.status, (refused.body as unknown as { error: { code: string } }).error.code],
    [409, 'not_deletable'],
  );
  assert.equal(await send('POST', '/models', { model: MODEL }), SUCCESS);
  await until(async () => (await states())[MODEL] === 'unloaded', 'another one is added', 30_000);
  assert.equal(await states(), { 'named-Q8_0': 'loaded', [MODEL]: 'unloaded' });
});

test('--allow-downloads and --offline exclude each other', async (context) => {
  const { code, stderr } = await runCli(['serve', '--allow-downloads', '--offline'], variablesOf(context));
  assert.is(code, 2);
  assert.match(stderr, /--offline/);
});

test.run();
