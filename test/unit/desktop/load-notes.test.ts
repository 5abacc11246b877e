// What is said about a model that was loaded otherwise than one might expect.
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadNotes } from '../../../ts/desktop/load-notes.js';
import type { ModelInfo } from '../../../ts/engine/engine.js';
import { FakeEngine } from '../../support/fake-engine.js';

const usual: ModelInfo = new FakeEngine({}).model;
const placed = (gpuLayers: number, layers = 33) => ({ devices: gpuLayers > 0 ? ['CUDA0'] : [], gpuLayers, layers });
const gpus = [{ name: 'CUDA0', memoryBytes: 8e9 }];
const notesOn = (change: Partial<ModelInfo>, config = {}) =>
  loadNotes(
    { ...usual, contextLength: 4096, kvCells: 16_384, trainedContextLength: 4096, genericTools: false, ...change },
    config,
  );

test('a model without peculiarities has no notes', () => {
  assert.equal(notesOn({}), []);
});

test('a shorter context than the model was trained for is told with who chose it', () => {
  const long = { trainedContextLength: 131_072, parallel: 4 };
  const [byDefault = '', ...others] = notesOn(long);
  assert.equal(others, []);
  assert.match(byDefault, 'Context: 4,096 of 131,072 tokens, for each of 4 parallel conversations');
  assert.match(byDefault, 'to leave memory for other models');
  assert.match(notesOn(long, { contextSize: 4096 })[0] ?? '', 'set in its load settings');
  assert.match(notesOn(long, { fit: 'on' })[0] ?? '', 'half of the free memory');
  assert.equal(notesOn({ ...long, generates: false }), []);
  assert.equal(notesOn({ kvCells: 6000 }), [
    'Context: 4,096 of 4,096 tokens, 6,000 in total for 4 parallel conversations.',
  ]);
});

test('where layers are on a GPU, it is said how many, and what would put more there', () => {
  assert.equal(notesOn({ placement: placed(33), gpus }), ['All 33 layers are on CUDA0.']);
  assert.match(
    notesOn({ placement: placed(12), gpus })[0] ?? '',
    /^12 of 33 layers are on CUDA0, as many as fit; a smaller/,
  );
  assert.match(notesOn({ placement: placed(12), gpus }, { gpuLayers: 12 })[0] ?? '', 'set in its load settings');
  assert.match(notesOn({ placement: placed(0), gpus })[0] ?? '', 'because they do not fit into GPU memory');
  assert.match(notesOn({ placement: placed(0), gpus }, { gpuLayers: 0 })[0] ?? '', 'It would be faster on the GPU');
  assert.equal(notesOn({ placement: placed(0) }), []);
});

test('options that keep all layers on the GPU have the labels of the form', () => {
  const unfitted = 'Some layers are on the CPU. All layers fit with `parallel` 12, or with `contextSize` 24576';
  assert.equal(notesOn({ unfitted, placement: placed(12), gpus }), [
    'Some layers are on the CPU. All layers fit with parallel 12, or with context size 24576.',
  ]);
  assert.equal(notesOn({ unfitted: 'Set `gpuLayers`', gpus }), ['Set GPU layers.']);
});

test('a template without a form for tools is told of, as `chasqui serve` does', () => {
  assert.equal(notesOn({ genericTools: true }), [
    'Its chat template does not support tools; a generic format is used.',
  ]);
  assert.equal(notesOn({ genericTools: true, generates: false }), []);
});

test.run();
