// Names of models in the library: files, URLs, the demo, the hub; and facts without loading.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { fits, inspect, loadModel, resolveModel } from '../../ts/index.js';
import { demoModelPath } from '../support/demo-model.js';
import { type FakeHub, fakeHub } from '../support/fake-hub.js';

const test = suite<{ hub: FakeHub; folder: string }>('model: names and facts');
const DEMO = fs.readFileSync(demoModelPath);
const before = { ...process.env };

test.before(async (context) => {
  context.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-resolve-'));
  const gguf = { architecture: 'llama', total: 1_600_160, context_length: 2048 };
  context.hub = await fakeHub({
    'ada/tiny-GGUF': { files: { 'tiny-Q4_K_M.gguf': DEMO, 'tiny-Q8_0.gguf': DEMO }, gguf },
  });
  Object.assign(process.env, {
    HF_ENDPOINT: context.hub.url,
    HF_HUB_CACHE: path.join(context.folder, 'cache'),
    CHASQUI_HOME: path.join(context.folder, 'home'),
    HF_TOKEN: '',
  });
});
test.after(async ({ hub, folder }) => {
  process.env = before;
  await hub.close();
  fs.rmSync(folder, { recursive: true, force: true });
});

const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'no error',
    (error) => error.code ?? error,
  );

test('paths, file URLs and the demo', async () => {
  const expected = { path: demoModelPath };
  assert.equal(await resolveModel(demoModelPath), expected);
  assert.equal(await resolveModel(pathToFileURL(demoModelPath)), expected);
  assert.equal(await resolveModel('demo'), expected);
  assert.is(await codeOf(resolveModel('no-such-model')), 'model_file_missing');
  assert.is(await codeOf(loadModel('folder/no-such-model')), 'model_file_missing');
});

test('a model of the hub is downloaded once, with progress', async ({ hub }) => {
  const told: number[] = [];
  const name = 'hf:ada/tiny-GGUF:Q8_0';
  const resolved = await resolveModel(name, { onProgress: (fraction) => told.push(fraction) });
  assert.equal(fs.readFileSync(resolved.path), DEMO);
  assert.equal(resolved.alias, ['ada/tiny-GGUF:Q8_0']);
  assert.is(told.at(-1), 1);
  assert.equal(
    told,
    [...told].sort((one, other) => one - other),
  );
  const requests = hub.seen.length;
  assert.equal(await resolveModel(name), resolved);
  assert.equal(await resolveModel('https://huggingface.co/ada/tiny-GGUF:Q8_0'), resolved);
  assert.equal(await resolveModel('ada/tiny-GGUF:Q8_0'), resolved);
  assert.is(hub.seen.length, requests);
});

test('downloads end with their signal and name unknown models', async () => {
  assert.is(await codeOf(resolveModel('hf:ada/tiny-GGUF:Q4_K_M', { signal: AbortSignal.abort('left') })), 'left');
  assert.is(await codeOf(resolveModel('hf:ada/nothing')), 'hub_model_not_found');
  assert.is(await codeOf(resolveModel('hf:ada')), 'invalid_model_name');
});

test('loadModel takes the same names', async ({ hub }) => {
  for (const name of ['demo', pathToFileURL(demoModelPath), 'hf:ada/tiny-GGUF:Q4_K_M']) {
    await using model = await loadModel(name, { contextSize: 256, threads: 1 });
    const messages = [{ role: 'user' as const, content: 'Count from 3 to 9' }];
    assert.is(await model.generate({ messages, temperature: 0 }).text(), '3, 4, 5, 6, 7, 8, 9');
    assert.is(model.model.id, String(name).startsWith('hf:') ? 'ada/tiny-GGUF:Q4_K_M' : 'chasqui-demo');
  }
  assert.ok(hub.seen.length > 0);
});

test('inspect reads the header', async () => {
  const {
    path: file,
    architecture,
    contextLength,
    sizeBytes,
    capabilities,
    chatTemplate,
    projector,
  } = await inspect('demo');
  assert.equal([file, architecture, sizeBytes], [demoModelPath, 'llama', DEMO.length]);
  assert.ok(contextLength && contextLength >= 2048 && chatTemplate?.includes('{%'));
  assert.equal([capabilities.includes('chat'), projector !== null], [true, true]);
  assert.is(await codeOf(inspect('missing.gguf')), 'model_file_missing');
});

test('fits computes the memory for a context', async () => {
  const small = await fits('demo', { contextSize: 256, parallel: 1 });
  const large = await fits('demo', { contextSize: 2048, parallel: 1 });
  assert.ok(small.fits && small.needBytes < large.needBytes && small.kvBytes < large.kvBytes);
  assert.equal([small.contextSize, large.contextSize], [256, 2048]);
  assert.is(small.needBytes, small.weightsBytes + small.kvBytes + small.computeBytes);
  assert.ok(large.longestContextSize >= 2048 && large.freeBytes > large.needBytes);
});

test.run();
