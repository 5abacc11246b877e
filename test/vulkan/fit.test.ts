// How many layers of a model fit that is twice as large as the device's memory. None of it is loaded.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { chooseOffload } from '../../ts/engine/offload.js';
import { toOpenRequest } from '../../ts/engine/to-native-options.js';
import type { LoadOptions } from '../../ts/index.js';
import { decideModules } from '../../ts/native/backends.js';
import { loadAddon } from '../../ts/native/load-addon.js';
import { runProbe } from '../../ts/native/run-probe.js';
import { writeHollowDecoder } from '../support/random-model.js';

const test = suite('vulkan: fit');
const gib = 2 ** 30;
/** A layer of these takes half a gibibyte, to a fiftieth. llvmpipe takes no matrix of more than 128 MiB. */
const shape = { width: 4096, hidden: 16_000 };
let folder = '';
let large = '';
let layers = 0;
/** Fitting layers of the large model: by default, with memory to spare, with many cells, and with a draft model. */
let most = 0;
let fewest = 0;
let besideCells = 0;
let besideDraft = 0;

async function deviceMemory(): Promise<{ memoryTotal: number; memoryFree: number }> {
  const [vulkan = ''] = await decideModules('vulkan');
  const [result] = await runProbe(loadAddon().path, 'try', [vulkan]);
  return result?.devices?.[0] ?? { memoryTotal: 0, memoryFree: 0 };
}

test.before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'chasqui-test-fit-'));
  layers = Math.min(500, 4 * Math.ceil((await deviceMemory()).memoryTotal / gib));
  assert.ok(layers > 12, `${layers} layers`);
  large = writeHollowDecoder(join(folder, 'large.gguf'), { ...shape, layers });
  const draftModel = writeHollowDecoder(join(folder, 'draft.gguf'), { ...shape, layers: 6 });
  // At once, because others use the memory too.
  [most, fewest, besideCells, besideDraft] = await Promise.all([
    fittingLayers(),
    fittingLayers({ fitTargetMiB: 5 * 1024 }),
    fittingLayers({ contextSize: 3840, parallel: 4 }),
    fittingLayers({ draftModel }),
  ]);
});
test.after(() => rmSync(folder, { recursive: true }));

async function fit(options: LoadOptions, model = large) {
  const small: LoadOptions = { contextSize: 256, parallel: 1, mmproj: null, fitTargetMiB: 1024 };
  const all = { ...small, ...options };
  const request = { ...toOpenRequest(model, all), modules: await decideModules('vulkan') };
  return chooseOffload(request, all);
}

async function fittingLayers(options: LoadOptions = {}): Promise<number> {
  const { offload, unfitted } = await fit(options);
  assert.match(unfitted ?? '', /^Some layers are on the CPU.* A smaller quantisation needs less memory$/);
  assert.is.not(offload.gpuLayers, null);
  return offload.gpuLayers as number;
}

/** Others use the memory too, so a layer or two may come or go meanwhile. */
function assertFewer(fewer: number, than: number, expected: number): void {
  assert.ok(Math.abs(than - fewer - expected) <= 2, `${fewer} of ${than}, expected ${expected} fewer`);
}

test('some of them, and none of those for which there is memory no more', () => {
  assert.ok(most > 6 && most < layers, `${most} of ${layers}`);
  assertFewer(fewest, most, 8);
});

test('the cells of all sequences are counted', () => {
  // 2 × 4096 numbers of 2 bytes for each token and layer: 240 MiB, besides the weights' 503.
  assertFewer(besideCells, most, (most * 240) / 743);
});

test('if the cells of the context keep layers off the GPU, settings are named that do not', async () => {
  // 5.5 GiB of weights and 9.4 GiB of cells for 4 completions; there is memory for half of the cells.
  const manyCells = writeHollowDecoder(join(folder, 'cells.gguf'), { width: 4096, hidden: 256, layers: 40 });
  const options: LoadOptions = { contextSize: 3840, parallel: 4, gpuLayers: 'auto', mmproj: null };
  const spare = (await deviceMemory()).memoryFree / 2 ** 20 - 10.2 * 1024;
  const { unfitted, offload } = await fit({ ...options, fitTargetMiB: Math.max(0, Math.floor(spare)) }, manyCells);
  assert.is.not(offload.gpuLayers, null);
  assert.match(unfitted ?? '', /^Some layers are on the CPU, which is slower: with all of them, Vulkan0 needs \d+ MiB/);
  const [, parallel, contextSize] =
    /\. All layers fit with `parallel` (\d+), or with `contextSize` (\d+)$/.exec(unfitted ?? '') ?? [];
  assert.ok(Number(parallel) > 0 && Number(contextSize) > 0, unfitted);
  // Others use the memory too.
  const fitTargetMiB = Math.max(0, Math.floor(spare - 1024));
  for (const smaller of [{ parallel: Number(parallel) }, { contextSize: Number(contextSize) }]) {
    const found = await fit({ ...options, ...smaller, fitTargetMiB }, manyCells);
    assert.equal([found.offload.gpuLayers, found.unfitted], [null, undefined], JSON.stringify(smaller));
  }
});

test('a draft model is counted', () => {
  assertFewer(besideDraft, most, 6);
});

test('models that would abort llama.cpp are kept off the GPU', async () => {
  // Cells of a layer that are more than llvmpipe takes in one piece.
  const { offload, unfitted } = await fit({ contextSize: 8192, parallel: 4 });
  assert.is(offload.gpuLayers, 0);
  assert.match(unfitted ?? '', /^No layers are on the GPU, .*SIGABRT.*cache_k/);
});

for (const gpuLayers of [4, 'all'] as const) {
  test(`what llama.cpp ends the process over is refused when it is asked for: ${gpuLayers}`, async () => {
    const error = await fit({ contextSize: 8192, parallel: 4, gpuLayers }).catch((thrown) => thrown);
    assert.is(error.code, 'model_load_failed');
    assert.match(
      error.message,
      new RegExp(`^Setting up ${gpuLayers} layers on the GPU failed: .*SIGABRT.*cache_k.*fewer`, 's'),
    );
  });
}

test('without a GPU, and with the number given, nothing is worked out', async () => {
  assert.is((await fit({ device: 'none' })).offload.gpuLayers, null);
  assert.is((await fit({ gpuLayers: 3 })).offload.gpuLayers, 3);
  assert.is((await fit({ gpuLayers: 'all' })).offload.gpuLayers, null);
});

test('a failed estimate is reported, and all layers are tried', async () => {
  const broken = join(folder, 'broken.gguf');
  writeFileSync(broken, 'no model');
  const { offload, unfitted } = await fit({ mmproj: broken });
  assert.is(offload.gpuLayers, null);
  assert.match(unfitted ?? '', /^All layers are on the GPU, .*broken\.gguf is not a GGUF file/);
});

test.run();
