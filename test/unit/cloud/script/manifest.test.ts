// What an app may say: everything else is refused by its name.
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { APP, type AppOptions, app } from '../../../../ts/cloud/script/app.ts';
import { toManifest } from '../../../../ts/cloud/script/manifest.ts';
import { toPlainData } from '../../../../ts/cloud/script/plain-data.ts';

const read = (options: unknown) => toManifest(toPlainData(app(options as AppOptions)[APP], 'a'), 'a');

test('what is left out has a default, and units become one', () => {
  const { scale, timeouts, slots, auth, memoryBytes } = read({ model: 'demo', machine: { memory: '1.5Gi' } });
  assert.equal(scale, { min: 0, max: 1, keepAliveMs: 300_000, buffer: 0, delayMs: 0 });
  assert.equal(timeouts, { startMs: 600_000, requestMs: 3_600_000, drainMs: 300_000 });
  assert.equal([slots, auth, memoryBytes], [4, 'private', 1.5 * 2 ** 30]);
});

test('options of loadModel go by their own names, but for the context and the slots', () => {
  const { options } = read({ model: 'demo', context: 512, slots: 2, draftMax: 4, machine: { cpu: 3, gpu: 0 } });
  assert.equal(options, { contextSize: 512, parallel: 2, draftMax: 4, threads: 3, gpuLayers: 0 });
});

test('models come from four places', () => {
  const kinds = ['demo', 'hf:org/repo:Q4_K_M', 'https://host/a/m.gguf?x=1', 'file:./m.gguf', 'file:///m.gguf'];
  assert.equal(
    kinds.map((model) => read({ model }).model),
    [
      { kind: 'demo' },
      { kind: 'hub', repository: 'org/repo', variant: 'Q4_K_M' },
      { kind: 'url', url: 'https://host/a/m.gguf?x=1' },
      { kind: 'file', path: './m.gguf' },
      { kind: 'file', path: '/m.gguf' },
    ],
  );
});

const refused: [options: unknown, says: RegExp][] = [
  [{}, /`model` of the app a is missing/],
  [{ model: 'demo', contxt: 5 }, /`contxt` of the app a is not an option; did you mean `context`\?/],
  [{ model: 'demo', contextSize: 5 }, /`contextSize` of the app a is not an option/],
  [{ model: 'demo', scale: { mn: 1 } }, /`scale\.mn` of the app a is not an option; there are|did you mean `min`/],
  [{ model: 'demo', slots: 0 }, /`slots` of the app a is 0, but must be a whole number from 1 to 256/],
  [{ model: 'demo', splitMode: 'x' }, /`splitMode` of the app a is "x", but must be none, layer or row/],
  [{ model: 'demo', scale: { keepAlive: '5' } }, /`scale\.keepAlive` .* must be a duration such as/],
  [{ model: 'demo', timeouts: { drain: 5 } }, /`timeouts\.drain` .* is 5, but must be a duration/],
  [{ model: 'demo', machine: { memory: '8GB' } }, /`machine\.memory` .* must be a size/],
  [{ model: 'demo', scale: { min: 3, max: 2 } }, /`scale\.min` .* must be at most `scale\.max`/],
  [{ model: 'demo', secrets: ['a b'] }, /`secrets\[0\]` .* must be a name of capital letters/],
  [{ model: 'llama' }, /`model` of the app a is "llama", but must be demo, hf:/],
  [{ model: 'file:model.bin' }, /`model` .* must be demo, hf:/],
  [{ model: 'https://host/model' }, /`model` .* must be demo, hf:/],
  [{ model: 'demo', slots: 1n }, /`a\.slots` is a bigint, but must be data/],
  [{ model: () => 'demo' }, /`a\.model` is a function, but must be data/],
  [{ model: 'demo', scale: new Map() }, /`a\.scale` is an object of a class/],
  [{ model: 'demo', slots: NaN }, /`a\.slots` is NaN/],
];

for (const [options, says] of refused) {
  test(`refused, naming the field: ${says}`, () => {
    assert.throws(() => read(options), says);
  });
}

test.run();
