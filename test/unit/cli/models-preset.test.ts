import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { readModelsPreset } from '../../../ts/cli/options/models-preset.js';
import { ChasquiError } from '../../../ts/errors.js';

const test = suite<{ file: string; folder: string }>('unit: a file of models with their options');

test.before((context) => {
  context.folder = mkdtempSync(path.join(os.tmpdir(), 'chasqui-preset-'));
  context.file = path.join(context.folder, 'models.ini');
});
test.after(({ folder }) => rmSync(folder, { recursive: true }));

const read = (file: string, lines: readonly string[], end = '\n') => {
  writeFileSync(file, lines.join(end));
  return readModelsPreset(file);
};

test("llama-server's example is read, with all of its forms of keys", ({ file }) => {
  const lines = [
    'version = 1',
    '',
    '; shared across all presets',
    '[*]',
    'c = 8192',
    'n-gpu-layers = 8   # of all',
    '[ggml-org/MY-MODEL-GGUF:Q8_0]',
    'n-gpu-layers = 123',
    'jinja = true',
    '  ',
    '[ custom_model ]',
    'model = /models/my awesome model.gguf',
    'c = 4096',
    'LLAMA_ARG_CACHE_RAM = 0',
    'CHASQUI_THREADS = 3',
    'model-draft = ./draft.gguf',
    'no-mmproj = true',
    'deterministic = on',
    'lora-scaled = a.gguf:0.5,b=b.gguf',
    'lora = c.gguf',
    'load-on-startup = true',
    'pin = 1',
    'sleep-idle-seconds = 60',
    'stop-timeout = 3',
  ];
  for (const end of ['\n', '\r\n']) {
    assert.equal(read(file, lines, end), {
      defaults: { contextSize: 8192, gpuLayers: 8 },
      models: [
        { id: 'ggml-org/MY-MODEL-GGUF:Q8_0', options: { contextSize: 8192, gpuLayers: 123 } },
        {
          id: 'custom_model',
          file: '/models/my awesome model.gguf',
          atStart: true,
          pin: true,
          ttlMs: 60_000,
          options: {
            contextSize: 4096,
            gpuLayers: 8,
            cacheRamMiB: 0,
            threads: 3,
            draftModel: './draft.gguf',
            mmproj: null,
            deterministic: true,
            lora: ['a.gguf:0.5', 'b=b.gguf', 'c.gguf'],
          },
        },
      ],
      ignored: [
        `${file}, line 9: jinja means nothing here and is ignored`,
        `${file}, line 24: stop-timeout means nothing here and is ignored`,
      ],
    });
  }
});

test('models of the hub are named as with -hf and -hff', ({ file }) => {
  const lines = ['[a]', 'hf-repo = x/y', '[b]', 'hf = x/y:Q8_0', '[c]', 'LLAMA_ARG_HF_REPO = x/y:Q8_0', 'hff = z.gguf'];
  assert.equal(read(file, lines).models, [
    { id: 'a', hf: 'x/y', options: {} },
    { id: 'b', hf: 'x/y:Q8_0', options: {} },
    { id: 'c', hf: 'x/y:z.gguf', options: {} },
  ]);
});

test('errors name the line and the key', ({ file, folder }) => {
  const wrong: [string[], RegExp][] = [
    [['c = 1'], /line 1: c stands before the first section/],
    [['version = 2'], /line 1: version stands before/],
    [['[a]', 'c'], /line 2: neither a section .*: c\./],
    [['[a', 'c = 1'], /line 1: neither/],
    [['[a]', '', 'ctx-size = 3'], /line 3: ctx-size is '3', but must be a whole number of tokens from 16/],
    [['[a]', 'c = 32', 'ctx-size = 64'], /line 3: ctx-size is given twice in \[a\]/],
    [['[a]', 'c = 32', 'c = 64'], /line 3: c is given twice in \[a\]/],
    [['[a]', 'm = a', 'model = b'], /line 3: model is given twice/],
    [['[a]', 'hf-repo ='], /line 2: hf-repo is '', but must be the name of a model or file in the hub/],
    [['[a]', 'hf-file = x.gguf'], /line 1: \[a\] has hf-file, but no hf-repo/],
    [['', '[a]', 'hf-repo = x/y', 'm = z.gguf'], /line 2: \[a\] has both model and hf-repo/],
    [['[*]', 'hf-repo = x/y'], /line 2: hf-repo is for one model/],
    [['[a]', 'spec-draft-hf = x/y'], /line 2: spec-draft-hf is no option of a model/],
    [['[a]', 'constructor = 1'], /line 2: constructor is no option of a model/],
    [['[a]', '__proto__ = 1'], /line 2: __proto__ is no option of a model/],
    [['[a]', 'no-ctx-size = 1'], /line 2: no-ctx-size is no option/],
    [['[a]', 'verbose = maybe'], /line 2: verbose is 'maybe', but must be true or false/],
    [['[a]', 'model ='], /line 2: model is '', but must be a path/],
    [['[a]', 'ttl = soon'], /line 2: ttl is 'soon'/],
    [['[a]', 'pooling = max'], /line 2: pooling is 'max', but must be none, mean/],
    [['[a]', '[b]', '[a]'], /line 3: the section \[a\] stands in line 1 already/],
    [['[*]', 'model = a.gguf'], /line 2: model is for one model/],
    [['[*]', 'lora = a.gguf'], /line 2: lora is for one model/],
    [[`[${'a'.repeat(500)}`], /line 1: .{1,250}$/],
    [['x'.repeat(2 ** 20 + 1)], /more than 1048576 bytes/],
  ];
  for (const [lines, says] of wrong) {
    const error = thrownBy(() => read(file, lines));
    assert.match(error.message, says);
    assert.match(error.message, file);
  }
  assert.match(thrownBy(() => readModelsPreset(path.join(folder, 'none.ini'))).message, /none\.ini cannot be read/);
  assert.match(thrownBy(() => readModelsPreset(folder)).message, /cannot be read/);
});

function thrownBy(run: () => unknown): ChasquiError {
  try {
    run();
  } catch (error) {
    assert.ok(error instanceof ChasquiError && error.code === 'invalid_options', `${error}`);
    return error;
  }
  throw new Error('It was taken.');
}

test('long lines of odd characters take no time', ({ file }) => {
  for (const line of [' '.repeat(500_000), `a${' '.repeat(500_000)}`, `[${' '.repeat(500_000)}`, ';'.repeat(500_000)]) {
    try {
      read(file, [line]);
    } catch (error) {
      assert.ok(error instanceof ChasquiError);
    }
  }
});

test.run();
