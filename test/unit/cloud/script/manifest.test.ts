// Valid options of an app. All others are refused by name.
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { APP, type AppOptions, app } from '../../../../ts/cloud/script/app.ts';
import { toPlainData } from '../../../../ts/cloud/script/canonical-json.ts';
import { fileFieldsOf, nameOfField, withField } from '../../../../ts/cloud/script/file-fields.ts';
import { filesIn, modelNamesOf, modelsIn, slotsOf, toManifest } from '../../../../ts/cloud/script/manifest.ts';
import type { ChasquiError } from '../../../../ts/errors.ts';

const read = (options: unknown) => toManifest(toPlainData(app(options as AppOptions)[APP], 'a'), 'a');

test('absent fields have defaults, and units are converted', () => {
  const { scale, timeouts, slots, auth, memoryBytes } = read({ model: 'demo', machine: { memory: '1.5Gi' } });
  assert.equal(scale, { min: 0, max: 1, keepAliveMs: 300_000, buffer: 0, delayMs: 0 });
  assert.equal(timeouts, { startMs: 600_000, requestMs: 3_600_000, drainMs: 300_000 });
  assert.equal([slots, auth, memoryBytes], [4, 'private', 1.5 * 2 ** 30]);
});

test('options of loadModel go by their own names, but for the context and the slots', () => {
  const { options } = read({ model: 'demo', context: 512, slots: 2, draftMax: 4, machine: { cpu: 3, gpu: 0 } });
  assert.equal(options, {
    alias: 'chasqui-demo',
    contextSize: 512,
    parallel: 2,
    draftMax: 4,
    threads: 3,
    gpuLayers: 0,
  });
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

test('an address whose path cannot be read is no model', () => {
  const unreadable = 'https://host/100%.gguf';
  for (const options of [{ model: unreadable }, { model: 'demo', adapters: { sql: unreadable } }]) {
    assert.throws(
      () => read(options),
      (error: ChasquiError) => error.code === 'script_invalid',
    );
  }
  assert.is(read({ model: 'https://host/100%25.gguf' }).options.alias, '100%');
});

test('adapters come from the same places, with a name and a scale', () => {
  const { adapters } = read({
    model: 'demo',
    adapters: { sql: 'hf:org/sql-lora', brief: { file: 'file:./brief.gguf', scale: 0.5 } },
  });
  assert.equal(adapters, [
    { name: 'brief', file: { kind: 'file', path: './brief.gguf' }, scale: 0.5 },
    { name: 'sql', file: { kind: 'hub', repository: 'org/sql-lora', variant: null }, scale: 1 },
  ]);
});

test('each of several models has what is said beside them, unless it says otherwise', () => {
  const manifest = read({
    models: [
      { model: 'demo', slots: 2 },
      { model: 'hf:org/big-GGUF:Q4_K_M', context: 8192, adapters: { sql: 'file:./sql.gguf' } },
    ],
    context: 512,
    slots: 8,
    machine: { cpu: 3 },
  });
  assert.equal(
    modelsIn(manifest).map(({ options }) => options),
    [
      { alias: 'chasqui-demo', contextSize: 512, parallel: 2, threads: 3 },
      { alias: 'big', contextSize: 8192, parallel: 8, threads: 3 },
    ],
  );
  assert.equal(modelNamesOf(manifest), ['chasqui-demo', 'big', 'big:sql']);
  assert.is(slotsOf(manifest), 10);
  assert.equal(
    filesIn(manifest).map(({ kind }) => kind),
    ['demo', 'hub', 'file'],
  );
});

test('fields that name files are found and replaced wherever they stand', () => {
  const options = {
    models: [
      { model: 'demo', adapters: { a: 'file:a.gguf', b: { file: 'file:b.gguf', scale: 2 } } },
      { model: 'file:m.gguf', draftModel: 'file:d.gguf' },
    ],
    slots: 2,
  };
  const fields = fileFieldsOf(options);
  assert.equal(
    fields.map(({ at, text }) => `${nameOfField(at)} ${text}`),
    [
      'models[0].model demo',
      'models[0].adapters.a file:a.gguf',
      'models[0].adapters.b.file file:b.gguf',
      'models[1].model file:m.gguf',
      'models[1].draftModel file:d.gguf',
    ],
  );
  let changed: Parameters<typeof withField>[0] = options;
  for (const { at, text } of fields) changed = withField(changed, at, text.toUpperCase());
  assert.equal(changed, {
    models: [
      { model: 'DEMO', adapters: { a: 'FILE:A.GGUF', b: { file: 'FILE:B.GGUF', scale: 2 } } },
      { model: 'FILE:M.GGUF', draftModel: 'FILE:D.GGUF' },
    ],
    slots: 2,
  });
});

test('secrets have no names that libraries and drivers look for by themselves', () => {
  const names = ['LD_PRELOAD', 'NODE_OPTIONS', 'PATH', 'NVTX_INJECTION64_PATH', 'CUDA_INJECTION64_PATH'];
  const drivers = ['VK_DRIVER_FILES', 'HSA_TOOLS_LIB', 'OMP_TOOL_LIBRARIES', '__EGL_VENDOR_LIBRARY_FILENAMES'];
  for (const name of [...names, ...drivers, 'GBM_BACKENDS_PATH', 'LIBVA_DRIVERS_PATH', 'LIBSQL_PREBUILD', 'BASH_ENV']) {
    assert.throws(
      () => toManifest({ model: 'demo', secrets: [name] }, 'a'),
      /that does not configure other programs/,
      name,
    );
  }
  for (const name of ['HF_TOKEN', 'OPENAI_API_KEY', 'NVIDIA_API_KEY', 'DATABASE_PATH', '_KEY']) {
    assert.equal(toManifest({ model: 'demo', secrets: [name] }, 'a').secrets, [name]);
  }
});

const refused: [options: unknown, says: RegExp][] = [
  [{}, /`model` of the app a is missing/],
  [{ model: 'demo', contxt: 5 }, /`contxt` of the app a is not an option; did you mean `context`\?/],
  [{ model: 'demo', contextSize: 5 }, /`contextSize` of the app a is not an option/],
  [
    { model: 'demo', scale: { mn: 1 } },
    /`scale\.mn` of the app a is not an option; known options: |did you mean `min`/,
  ],
  [{ model: 'demo', slots: 0 }, /`slots` of the app a is 0, but must be a whole number from 1 to 256/],
  [{ model: 'demo', splitMode: 'x' }, /`splitMode` of the app a is "x", but must be none, layer or row/],
  [
    { model: 'demo', scale: { keepAlive: '5' } },
    /`scale\.keepAlive` .* must be a duration of at most 24 days, such as/,
  ],
  [{ model: 'demo', timeouts: { drain: 5 } }, /`timeouts\.drain` .* is 5, but must be a duration/],
  [{ model: 'demo', machine: { memory: '8GB' } }, /`machine\.memory` .* must be a size/],
  [{ model: 'demo', scale: { min: 3, max: 2 } }, /`scale\.min` .* must be at most `scale\.max`/],
  [{ model: 'demo', secrets: ['a b'] }, /`secrets\[0\]` .* must be a name of capital letters/],
  [{ model: 'llama' }, /`model` of the app a is "llama", but must be demo, hf:/],
  [{ model: 'file:model.bin' }, /`model` .* must be demo, hf:/],
  [{ model: 'https://host/model' }, /`model` .* must be demo, hf:/],
  [{ model: 'demo', lora: ['a.gguf'] }, /`lora` of the app a is not an option/],
  [{ model: 'demo', cacheDiskMiB: 100 }, /`cacheDiskMiB` of the app a is not an option/],
  [{ model: 'demo', cacheFolder: '/tmp' }, /`cacheFolder` of the app a is not an option/],
  [{ model: 'demo', adapters: { 'a b': 'demo' } }, /`adapters` .* is "a b", but must be a name of letters/],
  [{ model: 'demo', adapters: { a: 'a.gguf' } }, /`adapters\.a` .* is "a\.gguf", but must be demo, hf:/],
  [{ model: 'demo', adapters: { a: { file: 'file:a.gguf', scale: 101 } } }, /`adapters\.a` .*`scale` from -100 to 100/],
  [{ model: 'demo', adapters: { a: { file: 'file:a.gguf', scal: 1 } } }, /`adapters\.a` .* must be/],
  [{ model: 'demo', bearer: 'yes' }, /`bearer` of the app a is "yes", but must be true or false/],
  [{ models: [] }, /`models` of the app a is \[\], but must be a list of 1 to 16 models/],
  [{ models: [{ context: 512 }] }, /`models\[0\]\.model` of the app a is missing/],
  [{ models: [{ model: 'demo', contxt: 5 }] }, /`models\[0\]\.contxt` .* did you mean `context`\?/],
  [{ models: [{ model: 'demo', auth: 'public' }] }, /`models\[0\]\.auth` of the app a is not an option/],
  [{ models: [{ model: 'demo' }], model: 'demo' }, /`model` of the app a belongs to a single model/],
  [{ models: [{ model: 'demo' }], alias: 'x' }, /`alias` of the app a belongs to a single model/],
  [
    { models: [{ model: 'demo' }, { model: 'demo' }] },
    /`models\[1\]\.alias` .* is chasqui-demo, which is also the name of another model/,
  ],
  [{ models: [{ model: 'demo' }, { model: 'demo', alias: 'x,y' }] }, /`models\[1\]\.alias` .* has several names/],
  [{ model: 'demo', slots: 1n }, /`a\.slots` is a bigint, but must be JSON data/],
  [{ model: () => 'demo' }, /`a\.model` is a function, but must be JSON data/],
  [{ model: 'demo', scale: new Map() }, /`a\.scale` is an object of a class/],
  [{ model: 'demo', slots: NaN }, /`a\.slots` is NaN/],
];

for (const [options, says] of refused) {
  test(`refused, naming the field: ${says}`, () => {
    assert.throws(() => read(options), says);
  });
}

test.run();
