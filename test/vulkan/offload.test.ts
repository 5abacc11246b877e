// Offloading of models to devices.
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { LoadOptions } from '../../ts/index.js';
import type { NativePlacement } from '../../ts/native/addon.js';
import { startChild, untilWritten } from '../support/child.js';
import { demoModelPath } from '../support/demo-model.js';
import { type Next, runWith } from './compute.js';

const test = suite('vulkan: offload');
const script = fileURLToPath(new URL('offload.ts', import.meta.url));
const layers = 5;

interface Outcome {
  placement: NativePlacement;
  unfitted?: string;
  next: Next[];
  /** Why it was refused. */
  code?: string;
  message?: string;
  /** llama.cpp's. */
  log: string;
}

const COUNTS: [options: LoadOptions, gpuLayers: number][] = [
  [{ gpuLayers: 2 }, 2],
  [{ gpuLayers: 0 }, 0],
  [{ gpuLayers: 99 }, layers],
  [{ gpuLayers: 'all' }, layers],
  [{ device: 'Vulkan0', splitMode: 'none', mainGpu: 0, tensorSplit: [1] }, layers],
  [{ fitTargetMiB: 0 }, layers],
  // No machine has a pebibyte to leave free.
  [{ fitTargetMiB: 2 ** 30 }, 0],
];

const MMPROJ_ON_CPU: LoadOptions[] = [{ mmprojOffload: false }, { mmprojDevice: 'none' }];
const WITHOUT: Record<'kv' | 'op', LoadOptions> = { kv: { kvOffload: false }, op: { gpuLayers: 2, opOffload: false } };
const DRAFTS: [options: LoadOptions, offloaded: string[]][] = [
  // All layers of a draft model by default.
  [{ gpuLayers: 2 }, ['2/5', '5/5']],
  [{ draftGpuLayers: 3 }, ['5/5', '3/5']],
];
/** Where the KV cells of model and draft model are. */
const DRAFT_CELLS: [options: LoadOptions, devices: string[]][] = [
  [{ draftDevice: 'none' }, ['Vulkan0', 'CPU']],
  [{ device: 'none', draftDevice: 'Vulkan0' }, ['CPU', 'Vulkan0']],
];

const REFUSED: [options: LoadOptions, message: string][] = [
  [{ device: 'Vulkan7' }, 'There is no device `Vulkan7` to put layers on. There are: Vulkan0.'],
  [{ device: 'CPU' }, 'There is no device `CPU`'],
  [{ device: 'Vulkan0,Vulkan0' }, 'named twice'],
  [{ mainGpu: 1 }, 'index 1, counted from 0, but the devices in use are: Vulkan0.'],
  [{ tensorSplit: [3, 1] }, '2 shares, but the devices in use are: Vulkan0.'],
  [{ splitMode: 'row' }, '`Vulkan0` cannot hold a part of each row'],
  [{ device: 'none', mainGpu: 0 }, 'the devices in use are: none.'],
  [{ mmprojDevice: 'Vulkan7' }, 'There is no device `Vulkan7`'],
  [{ draftModel: demoModelPath, draftDevice: 'Vulkan7' }, 'There is no device `Vulkan7`'],
];

const onCpu: LoadOptions = { device: 'none' };
const onCpuWithProjector: LoadOptions = { device: 'none', mmprojDevice: 'Vulkan0' };
for (const [options] of [...DRAFTS, ...DRAFT_CELLS]) options.draftModel = demoModelPath;

/** By what was asked for. */
let outcomes: Map<LoadOptions, Outcome>;
let cpu: Outcome | undefined;

test.before(() => {
  const listed = [...COUNTS, ...REFUSED, ...DRAFTS, ...DRAFT_CELLS].map(([options]) => options);
  const all = [...listed, ...MMPROJ_ON_CPU, ...Object.values(WITHOUT), onCpu, onCpuWithProjector];
  outcomes = new Map(load('vulkan', all).map((outcome, at) => [all[at] as LoadOptions, outcome]));
  [cpu] = load('cpu', [{}]);
});

function load(backend: 'cpu' | 'vulkan', all: LoadOptions[]): Outcome[] {
  const { status, stdout, stderr } = runWith(backend, script, JSON.stringify(all));
  if (status !== 0) throw new Error(stderr);
  const logs = stderr.split('-- next --');
  return JSON.parse(stdout).map((outcome: Outcome, at: number) => ({ ...outcome, log: logs[at] ?? '' }));
}

function outcomeOf(options: LoadOptions): Outcome {
  return outcomes.get(options) as Outcome;
}

for (const [options, gpuLayers] of COUNTS) {
  test(`${JSON.stringify(options)}: ${gpuLayers} of ${layers} layers`, () => {
    const { placement, unfitted, log, message, next } = outcomeOf(options);
    assert.is(message, undefined);
    assert.equal(placement, { devices: ['Vulkan0'], gpuLayers, layers });
    if (gpuLayers === layers || options.gpuLayers !== undefined) assert.is(unfitted, undefined);
    else assert.match(unfitted ?? '', /^Some layers are on the CPU, .* and has 0 MiB free/);
    assert.match(log, `offloaded ${gpuLayers}/${layers} layers to GPU`);
    assert.match(log, 'CLIP using Vulkan0 backend');
    const [likeliest, logprob] = cpu?.next[0]?.top[0] ?? [0, 0];
    const found = new Map(next[0]?.top).get(likeliest) ?? Number.NaN;
    assert.ok(Math.abs(found - logprob) < 0.3, `${found} instead of ${logprob}`);
  });
}

for (const [options, says] of REFUSED) {
  test(`${JSON.stringify(options)} is refused`, () => {
    const { code, message } = outcomeOf(options);
    assert.is(code, 'invalid_options');
    assert.match(message ?? '', says);
  });
}

test('without a device it computes what the CPU computes, to the last bit', () => {
  const { placement, next, log } = outcomeOf(onCpu);
  assert.equal(placement, { devices: [], gpuLayers: 0, layers });
  assert.match(log, 'CLIP using CPU backend');
  assert.equal(next, cpu?.next);
  assert.ok(next.length > 0);
  assert.not.equal(next, outcomeOf(COUNTS[3]?.[0] as LoadOptions).next);
});

test('the server says how many layers are where', async () => {
  const child = startChild('ts/cli.ts', ['serve', '--port', '0', '--backend', 'vulkan', '-ngl', '2', '-c', '256']);
  await untilWritten(child, /^Layers on Vulkan0: 2 of 5(; memory: .*)?\n/m);
  child.process.kill('SIGTERM');
  assert.equal(await child.exited, { code: 0, signal: null });
});

for (const [options, expected] of DRAFTS) {
  test(`${JSON.stringify({ ...options, draftModel: undefined })}: layers of model and draft model`, () => {
    const { log, message } = outcomeOf(options);
    assert.is(message, undefined);
    const offloaded = [...log.matchAll(/offloaded (\d+\/\d+) layers/g)].map(([, counts]) => counts);
    assert.equal(offloaded, expected);
  });
}

for (const options of MMPROJ_ON_CPU) {
  test(`${JSON.stringify(options)}: the projector is on the CPU`, () => {
    const { log, placement } = outcomeOf(options);
    assert.is(placement.gpuLayers, layers);
    assert.match(log, 'CLIP using CPU backend');
  });
}

test('a projector can be on a GPU without the model', () => {
  const { log, placement } = outcomeOf(onCpuWithProjector);
  assert.is(placement.gpuLayers, 0);
  assert.match(log, 'CLIP using Vulkan0 backend');
});

const cellsOf = ({ log }: Outcome) => [...log.matchAll(/([A-Za-z0-9]+)\S* KV buffer size/g)].map(([, where]) => where);

for (const [options, expected] of DRAFT_CELLS) {
  test(`${JSON.stringify({ ...options, draftModel: undefined })}: devices of model and draft model`, () => {
    assert.equal(cellsOf(outcomeOf(options)), expected);
  });
}

test('--no-kv-offload keeps the KV cells in main memory, and the answer', () => {
  const { placement, next } = outcomeOf(WITHOUT.kv);
  assert.is(placement.gpuLayers, layers);
  assert.equal(cellsOf(outcomeOf(WITHOUT.kv)), ['CPU']);
  assert.equal(cellsOf(outcomeOf(COUNTS[3]?.[0] as LoadOptions)), ['Vulkan0']);
  assert.is(next[0]?.id, cpu?.next[0]?.id);
});

test('--no-op-offload computes large batches of layers in main memory there', () => {
  // Weights of offloaded operations are copied to the GPU, which splits the graphs of large batches.
  const splits = (options: LoadOptions) => {
    const [, large, small = large] = /, splits = (\d+)(?: \/ (\d+))?,/.exec(outcomeOf(options).log) ?? [];
    return { large, small };
  };
  const { large, small } = splits(COUNTS[0]?.[0] as LoadOptions);
  assert.ok(Number(large) > Number(small), `${large} > ${small}`);
  assert.equal(splits(WITHOUT.op), { large: small, small });
});

test.run();
