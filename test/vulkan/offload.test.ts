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

const REFUSED: [options: LoadOptions, message: string][] = [
  [{ device: 'Vulkan7' }, 'There is no device `Vulkan7` to put layers on. There are: Vulkan0.'],
  [{ device: 'CPU' }, 'There is no device `CPU`'],
  [{ device: 'Vulkan0,Vulkan0' }, 'named twice'],
  [{ mainGpu: 1 }, 'index 1, counted from 0, but the devices in use are: Vulkan0.'],
  [{ tensorSplit: [3, 1] }, '2 shares, but the devices in use are: Vulkan0.'],
  [{ splitMode: 'row' }, '`Vulkan0` cannot hold a part of each row'],
  [{ device: 'none', mainGpu: 0 }, 'the devices in use are: none.'],
];

const onCpu: LoadOptions = { device: 'none' };
const withDraft: LoadOptions = { draftModel: demoModelPath, gpuLayers: 2 };

/** By what was asked for. */
let outcomes: Map<LoadOptions, Outcome>;
let cpu: Outcome | undefined;

test.before(() => {
  const all = [...COUNTS.map(([options]) => options), ...REFUSED.map(([options]) => options), onCpu, withDraft];
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
    assert.is(unfitted, undefined);
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

test('a draft model goes to the same device as a whole', () => {
  const { log } = outcomeOf(withDraft);
  const offloaded = [...log.matchAll(/offloaded (\d+\/\d+) layers/g)].map(([, counts]) => counts);
  assert.equal(offloaded, ['2/5', '5/5']);
});

test.run();
