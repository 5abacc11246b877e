import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { NativeDeviceMemory } from '../../../ts/native/addon.js';
import { type ContextSettings, smallerSettings } from '../../../ts/native/smaller-settings.js';

const test = suite('native: settings that keep all layers on the GPUs');
const gib = 2 ** 30;
const spare = gib;
const main: NativeDeviceMemory = { name: '', total: 64 * gib, free: 0, weights: gib, cells: 0, compute: 0, other: 0 };

/** 16 KiB for each token, and compute buffers that grow more slowly from 65,536 tokens on. */
function device({ parallel, contextLength }: ContextSettings, weights: number, free: number): NativeDeviceMemory {
  const compute = Math.min(contextLength, 65_536) * 2048 + contextLength * 64;
  return {
    name: 'GPU0',
    total: 80 * gib,
    free,
    weights,
    cells: parallel * contextLength * 16_384,
    compute,
    other: gib,
  };
}

function assertLargest(asked: ContextSettings, measure: (settings: ContextSettings) => NativeDeviceMemory[]) {
  let tries = 0;
  const counted = (settings: ContextSettings) => {
    tries += 1;
    return measure(settings);
  };
  const { fits, needs, free, context } = smallerSettings(counted, asked, spare);
  const isFitting = (settings: ContextSettings) =>
    measure(settings).every(({ name, weights, cells, compute, other, free: left }) => {
      return name === '' || weights + cells + compute + other + spare <= left;
    });
  assert.ok(needs > free && needs > context);
  assert.ok(isFitting({ ...asked, parallel: fits.parallel }));
  assert.not(isFitting({ ...asked, parallel: fits.parallel + 1 }));
  assert.ok(isFitting({ ...asked, contextLength: fits.contextLength }));
  assert.not(isFitting({ ...asked, contextLength: fits.contextLength + 256 }));
  assert.is(fits.contextLength % 256, 0);
  assert.ok(tries < 15, `${tries} tries`);
  return fits;
}

test('the largest number of completions, and the longest context, that fit', () => {
  const asked = { parallel: 64, contextLength: 131_072 };
  const fits = assertLargest(asked, (settings) => [device(settings, 16 * gib, 60 * gib), main]);
  assert.ok(fits.parallel > 1 && fits.parallel < 64 && fits.contextLength > 256, JSON.stringify(fits));
});

test('of several GPUs, the tightest one decides', () => {
  const asked = { parallel: 8, contextLength: 65_536 };
  const two = (settings: ContextSettings) => [
    device(settings, gib, 80 * gib),
    { ...device(settings, 4 * gib, 12 * gib), name: 'GPU1' },
    main,
  ];
  assertLargest(asked, two);
  assert.is(smallerSettings(two, asked, spare).device, 'GPU1');
});

test('nothing is suggested if the weights alone do not fit', () => {
  const asked = { parallel: 4, contextLength: 8192 };
  const { fits, free } = smallerSettings((settings) => [device(settings, 9 * gib, 8 * gib), main], asked, spare);
  assert.equal(fits, { parallel: 0, contextLength: 0 });
  assert.is(free, 7 * gib);
});

test('of one completion, only the context can become smaller', () => {
  const asked = { parallel: 1, contextLength: 1_048_576 };
  const { fits } = smallerSettings((settings) => [device(settings, gib, 8 * gib), main], asked, spare);
  assert.is(fits.parallel, 0);
  assert.ok(fits.contextLength > 256);
});

test.run();
