// The init container of a pod: it downloads the model files into the shared volume.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type FakeHub, fakeHub } from '../support/fake-hub.js';
import { nodeArguments } from '../support/node-arguments.mjs';
import { tinyAdapter } from '../support/tiny-adapter.js';
import { tinyModel } from '../support/tiny-model.js';
import { until } from '../support/until.js';

const test = suite('kubernetes: what a pod fetches');
const MAIN = 'ts/cli/cloud/fetch-main.ts';
const REPO = 'ada/tiny-GGUF';
const MODEL = fs.readFileSync(tinyModel('llama'));
const OTHER = fs.readFileSync(tinyModel('llama', 2));
const ADAPTER = fs.readFileSync(tinyAdapter('style', 1));
let hub: FakeHub;
let volume: string;

interface Fetched {
  code: number | null;
  stderr: string;
  models: { modelPath: string; options: Record<string, unknown> }[];
}

test.before.each(async () => {
  volume = fs.mkdtempSync(path.join(tmpdir(), 'chasqui-volume-'));
  hub = await fakeHub({
    [REPO]: { files: { 'tiny-F32.gguf': MODEL, 'tiny-Q8_0.gguf': OTHER, 'mmproj-tiny-F16.gguf': ADAPTER } },
    'ada/style-GGUF': { files: { 'style-F32.gguf': ADAPTER }, gguf: { architecture: 'llama' } },
  });
});
test.after.each(async () => {
  await hub.close();
  fs.rmSync(volume, { recursive: true });
});

/** As a container of its own, with a file of its own and the volume. */
function begin(options: object) {
  const folder = fs.mkdtempSync(path.join(tmpdir(), 'chasqui-pod-'));
  const file = path.join(folder, 'models.json');
  const { HF_TOKEN: _, HF_HUB_CACHE: __, LLAMA_CACHE: ___, CHASQUI_HOME: ____, ...rest } = process.env;
  const child = spawn(process.execPath, [...nodeArguments(MAIN), JSON.stringify(options), 'tiny', file], {
    env: { ...rest, HOME: volume, XDG_CACHE_HOME: path.join(volume, '.cache'), HF_ENDPOINT: hub.url },
    stdio: ['ignore', 'inherit', 'pipe'],
  });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const ended = new Promise<Fetched>((resolve) => {
    child.once('close', (code) => {
      const models = fs.existsSync(file) ? JSON.parse(fs.readFileSync(file, 'utf8')) : [];
      fs.rmSync(folder, { recursive: true });
      resolve({ code, stderr, models });
    });
  });
  return { child, ended };
}

function run(options: object): Promise<Fetched> {
  return begin(options).ended;
}

const url = () => `${hub.url}/${REPO}/resolve/main/tiny-F32.gguf`;

test('pods that start together fetch a file once, and say which of how many it is', async () => {
  const options = { model: url(), adapters: { style: 'hf:ada/style-GGUF' } };
  hub.misbehaviour = { holds: { path: 'tiny-F32.gguf', fromByte: 100_000 } };
  let said = '';
  const pods = [begin(options), begin(options)].map(({ child, ended }) => {
    child.stderr.on('data', (text: string) => {
      said += text;
    });
    return ended;
  });
  await until(() => said.includes('waiting for the download of another pod'), 'the second pod to wait');
  hub.misbehaviour = {};
  const [one, two] = (await Promise.all(pods)) as [Fetched, Fetched];
  assert.equal([one.code, two.code], [0, 0], one.stderr + two.stderr);
  assert.equal(one.models, two.models);
  assert.is(hub.sentBytes(), MODEL.length + ADAPTER.length);
  assert.match(one.stderr + two.stderr, /^fetching weights 1 of 2, \d+ %$/m);
  const [{ modelPath, options: load } = { modelPath: '', options: {} }] = one.models;
  assert.equal(fs.readFileSync(modelPath), MODEL);
  assert.match((load.lora as string[])[0] ?? '', /^style=\/.*style-F32\.gguf:1\.0+$/);
});

test('weights in the volume need no network', async () => {
  const options = { model: `hf:${REPO}:F32`, draftModel: url() };
  const first = await run(options);
  assert.is(first.code, 0, first.stderr);
  hub.misbehaviour = { silent: true };
  const again = await run(options);
  assert.is(again.code, 0, again.stderr);
  assert.equal(again.models, first.models);
});

test('a model keeps its projector, though another model lies in the same folder', async () => {
  await run({ model: `hf:${REPO}:F32` });
  const { models } = await run({ model: `hf:${REPO}:Q8_0` });
  assert.match(models[0]?.modelPath ?? '', /tiny-Q8_0\.gguf$/);
  assert.match(String(models[0]?.options.mmproj), /mmproj-tiny-F16\.gguf$/);
});

test('missing weights end the fetch with the reason in its last line', async () => {
  const { code, stderr, models } = await run({ models: [{ model: 'demo' }, { model: 'hf:ada/nothing-GGUF' }] });
  assert.is(code, 1);
  assert.match(stderr.trimEnd().split('\n').at(-1) ?? '', /^chasqui: .*ada\/nothing-GGUF/);
  assert.equal(models, []);
});

test('one that is stopped leaves no room taken that the next one does not give back', async () => {
  hub.misbehaviour = { holds: { path: 'tiny-F32.gguf', fromByte: 100_000 } };
  const parts = () => (fs.readdirSync(volume, { recursive: true }) as string[]).filter((name) => /\.part$/.test(name));
  const { child, ended } = begin({ model: url() });
  await until(() => parts().length === 1, 'the part of a file');
  child.kill('SIGTERM');
  await ended;
  hub.misbehaviour = {};
  const { code, stderr } = await run({ model: url() });
  assert.is(code, 0, stderr);
  assert.equal(parts(), []);
});

test.run();
