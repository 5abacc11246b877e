// A model from the hub, from its name to its completions: with a fake hub that has the demo model.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { exactFit } from '../../ts/hub/exact-fit.js';
import { HubClient } from '../../ts/hub/hub-client.js';
import { runCli, startChild, untilWritten } from '../support/child.js';
import { demoModelPath } from '../support/demo-model.js';
import { type FakeHub, fakeHub } from '../support/fake-hub.js';
import { writeHollowDecoder } from '../support/random-model.js';
import { wideModel } from '../support/wide-model.js';

interface Context {
  folder: string;
  hub: FakeHub;
}

const test = suite<Context>('model-cli: models of the hub');
const REPO = 'chasqui/demo-GGUF';
const DEMO = fs.readFileSync(demoModelPath);
const EYE = fs.readFileSync(path.join(path.dirname(demoModelPath), 'mmproj-chasqui-demo.gguf'));

test.before(async (context) => {
  context.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-hub-'));
  context.hub = await fakeHub({
    [REPO]: {
      files: { 'demo-Q8_0.gguf': DEMO, 'demo-Q4_K_M.gguf': DEMO, 'mmproj-demo-F16.gguf': EYE },
      gguf: { architecture: 'llama' },
    },
  });
});

test.after(async ({ hub, folder }) => {
  await hub.close();
  fs.rmSync(folder, { recursive: true });
});

/** Serves it and asks it once. */
async function serveAndAsk(
  { folder }: Context,
  endpoint: string,
  ...options: string[]
): Promise<{ model: string; vision: boolean }> {
  const variables = {
    HF_ENDPOINT: endpoint,
    HF_HUB_CACHE: path.join(folder, 'cache'),
    CHASQUI_HOME: folder,
    HF_TOKEN: '',
  };
  const args = ['serve', '-hf', REPO, '--port', '0', '--threads', '1', ...options];
  const child = startChild('ts/cli.ts', args, variables);
  const [, base = ''] = await untilWritten(child, /at (http:\S+)\/v1/);
  const body = { model: `${REPO}:Q4_K_M`, messages: [{ role: 'user', content: 'red' }], max_tokens: 4 };
  const reply = await fetch(`${base}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  assert.is(reply.status, 200);
  const completion = (await reply.json()) as { model: string };
  const list = JSON.stringify(await (await fetch(`${base}/v1/models`)).json());
  child.process.kill('SIGTERM');
  await child.exited;
  return { model: completion.model, vision: /image/.test(list) };
}

test('serve -hf: downloaded with its projector, and served under its name', async (context) => {
  assert.equal(await serveAndAsk(context, context.hub.url), { model: `${REPO}:Q4_K_M`, vision: true });
  assert.is(context.hub.sentBytes(), DEMO.length + EYE.length);
});

test('serve -hf again: what is here is served without the hub', async (context) => {
  const { model } = await serveAndAsk(context, 'http://127.0.0.1:1');
  assert.is(model, `${REPO}:Q4_K_M`);
});

test('serve -hf --offline: a downloaded model is served with its projector', async (context) => {
  const sent = context.hub.seen.length;
  const served = await serveAndAsk(context, context.hub.url, '--offline');
  assert.equal(served, { model: `${REPO}:Q4_K_M`, vision: true });
  assert.is(context.hub.seen.length, sent);
});

test('serve --models-preset --offline: sections name downloaded models of the hub', async ({ folder, hub }) => {
  const variables = { HF_ENDPOINT: hub.url, HF_HUB_CACHE: path.join(folder, 'cache'), CHASQUI_HOME: folder };
  const preset = path.join(folder, 'preset.ini');
  fs.writeFileSync(preset, `[own]\nhf-repo = ${REPO}\nload-on-startup = true\n`);
  const args = ['serve', '--models-preset', preset, '--offline', '--port', '0', '--threads', '1'];
  const child = startChild('ts/cli.ts', args, variables);
  const [, base = ''] = await untilWritten(child, /at (http:\S+)\/v1/);
  const { data } = (await (await fetch(`${base}/v1/models`)).json()) as { data: Listed[] };
  assert.equal(
    data.map(({ id, status, input_modalities }) => [id, status.value, input_modalities]),
    [['own', 'loaded', ['text', 'image']]],
  );
  child.process.kill('SIGTERM');
  await child.exited;
});

test('serve NAME: a model that chasqui ls lists, on all addresses, loaded on request', async ({ folder }) => {
  const variables = {
    HF_ENDPOINT: 'http://127.0.0.1:1',
    HF_HUB_CACHE: path.join(folder, 'cache'),
    CHASQUI_HOME: folder,
  };
  const name = `${REPO}:Q4_K_M`;
  for (const args of [[name], ['--model', name]]) {
    const more = ['--host', '0.0.0.0', '--port', '0', '--threads', '1', '--no-autoload'];
    const child = startChild('ts/cli.ts', ['serve', ...args, ...more], variables);
    const [, served] = await untilWritten(child, /Serving (\S+) at /);
    assert.is(served, name);
    await untilWritten(child, /Try it:\n\n {2}curl .*\n/);
    assert.match(child.output.stderr, /everyone who reaches these addresses can use the server; see --api-key/);
    child.process.kill('SIGTERM');
    await child.exited;
  }
});

test('serve --models-hub: what was downloaded is served under its name, each when a request names it', async ({
  folder,
}) => {
  const variables = {
    HF_ENDPOINT: 'http://127.0.0.1:1',
    HF_HUB_CACHE: path.join(folder, 'cache'),
    CHASQUI_HOME: folder,
  };
  const args = ['serve', '--models-hub', '--port', '0', '--threads', '1'];
  const child = startChild('ts/cli.ts', args, variables);
  const [, base = ''] = await untilWritten(child, /at (http:\S+)\/v1/);
  const states = async (): Promise<string[][]> => {
    const { data } = (await (await fetch(`${base}/v1/models`)).json()) as { data: Listed[] };
    return data.map(({ id, status, input_modalities = [] }) => [id, status.value, ...input_modalities]);
  };
  assert.equal(await states(), [[`${REPO}:Q4_K_M`, 'unloaded']]);
  const reply = await fetch(`${base}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      model: `${REPO}:Q4_K_M`,
      messages: [{ role: 'user', content: 'red' }],
      max_tokens: 4,
    }),
  });
  assert.is(reply.status, 200);
  assert.equal(await states(), [[`${REPO}:Q4_K_M`, 'loaded', 'text', 'image']]);
  child.process.kill('SIGTERM');
  await child.exited;
});

test('serve --models-hub without models says so', async ({ folder }) => {
  const empty = path.join(folder, 'empty');
  const { code, stderr } = await runCli(['serve', '--models-hub', '--port', '0'], {
    HF_HUB_CACHE: empty,
    CHASQUI_HOME: empty,
  });
  assert.is(code, 2);
  assert.match(
    stderr,
    /--models-hub serves the models on this computer, but there are none. Download one with npx chasqui get/,
  );
});

interface Listed {
  id: string;
  status: { value: string };
  input_modalities?: string[];
}

test('whether it fits, before it is downloaded: as llama.cpp works it out of the whole file', async ({
  folder,
  hub,
}) => {
  const file = path.join(folder, 'large.gguf');
  writeHollowDecoder(file, { width: 512, hidden: 1024, layers: 8 });
  const { commit } = hub.put('ada/large', { files: { 'large-F16.gguf': fs.readFileSync(file) } });
  const client = new HubClient({ endpoint: hub.url });
  const { quantisations } = await client.model('ada/large');
  const sent = hub.sentBytes();
  const [quantisation] = quantisations;
  assert.ok(quantisation);
  // A separate folder, because other programs leave files in the system's temporary folder.
  const temporary = process.env.TMPDIR;
  process.env.TMPDIR = fs.mkdtempSync(path.join(folder, 'temporary-'));
  const remote = await exactFit({ client, repo: 'ada/large', commit, quantisation }, 8192);
  const local = await exactFit({ path: file, projector: null }, 8192);
  assert.equal([remote.weights, remote.kv, remote.compute], [local.weights, local.kv, local.compute]);
  assert.is(remote.needBytes, remote.weights + remote.kv + remote.compute);
  // Keys and values of 8 layers, 512 numbers each, two bytes a number.
  assert.is(remote.kv, 8192 * 8 * 2 * 512 * 2);
  assert.ok(remote.weights > 0.95 * fs.statSync(file).size && remote.weights < 1.05 * fs.statSync(file).size);
  assert.ok(hub.sentBytes() - sent < 6_000_000, 'the weights are not fetched');
  assert.is(remote.contextThatFits, 32_768);
  assert.equal(
    fs.readdirSync(os.tmpdir()).filter((name) => name.startsWith('chasqui-')),
    [],
  );
  if (temporary === undefined) delete process.env.TMPDIR;
  else process.env.TMPDIR = temporary;
  await client.close();
});

test('the exact memory includes weights that llama.cpp repacks', async () => {
  for (const weights of ['F16', 'Q2_K', 'Q4_K'] as const) {
    const file = wideModel({ weights });
    const fit = await exactFit({ path: file }, 512, { load: { repack: true } });
    assert.ok(fit.weights > 0.9 * fs.statSync(file).size, `${weights}: ${fit.weights} of ${fs.statSync(file).size}`);
  }
});

test.run();
