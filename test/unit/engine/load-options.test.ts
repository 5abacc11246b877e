import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { renderDefaults } from '../../../ts/engine/chat-template.js';
import {
  completeLoadOptions,
  type LoadHooks,
  type LoadOptions,
  modelIdOf,
  splitHooks,
} from '../../../ts/engine/load-options.js';
import { partsOf, sizeOfModel } from '../../../ts/engine/model-files.js';
import { toOpenRequest } from '../../../ts/engine/to-native-options.js';
import { ChasquiError } from '../../../ts/errors.js';
import { LOAD_OPTIONS } from '../../../ts/options/load-option-table.js';
import { isNullable, type OptionRow } from '../../../ts/options/option-row.js';
import { samplingOf } from '../../../ts/options/sampling-table.js';

const test = suite('unit: load options');

/** Values that lists refuse. */
const REFUSED: Partial<Record<keyof typeof LOAD_OPTIONS, readonly unknown[]>> = {
  alias: ['', 3, [], ['a', '']],
  tags: ['', 3, [], ['a', '']],
  lora: ['a.gguf', [], [''], [3], null],
  device: ['', 'CUDA0,', ',', [], [''], [3], 3, null],
  draftDevice: ['', 'CUDA0,', [], [3], null],
  tensorSplit: [[-1], [Number.NaN], [0, 0], ['3'], [1e39], [3e38, 3e38], [1e-60], '3,1', 3, null],
  overrideKv: ['a=int:1', ['a'], ['a=int:x'], ['a=bool:1'], ['a=long:1'], [`${'a'.repeat(128)}=int:1`], [3], null],
  overrideTensor: ['exps=CPU', ['exps'], ['=CPU'], ['exps='], ['a=b,c'], [3], null],
  drySequenceBreakers: ['x', [''], ['x'.repeat(41)], Array(17).fill('x'), [3], null],
  samplers: ['top_q', '', ['topK'], [], 3, null],
};

function refusedBy(name: string, row: OptionRow): readonly unknown[] {
  switch (row.type) {
    case 'boolean':
      return [0, 1, 'true', 'yes', null];
    case 'integer':
      return [row.min - 1, row.max + 1, row.min + 0.5, String(row.min), 'most', null];
    case 'number':
      return [row.min - 1e-6, row.min - 1, row.max + 1, String(row.max), null];
    case 'string':
    case 'path':
      return ['', 3, {}, ...(isNullable(row) ? [false] : [null])];
    case 'choice':
      return ['', 'neither', row.choices[0]?.toUpperCase(), true, null];
    default:
      return REFUSED[name as keyof typeof LOAD_OPTIONS] as readonly unknown[];
  }
}

const NEVER = [Number.NaN, Number.POSITIVE_INFINITY, {}, () => 1, 10n, Symbol('x')];

for (const [name, row] of Object.entries(LOAD_OPTIONS)) {
  for (const value of [...refusedBy(name, row), ...NEVER]) {
    test(`refuses ${name} ${typeof value === 'object' ? JSON.stringify(value) : String(value)}`, () => {
      const { code, message } = refusal({ [name]: value } as LoadOptions);
      assert.is(code, 'invalid_options');
      assert.match(message, new RegExp(`^\`${name}\` is .+, but must be .+\\.$`));
    });
  }
}

function refusal(options: LoadOptions): ChasquiError {
  try {
    toOpenRequest('/models/a.gguf', options);
  } catch (error) {
    assert.instance(error, ChasquiError);
    return error as ChasquiError;
  }
  throw new Error('it was taken');
}

test('a message shows what was given, as far as it may be long', () => {
  const circle: unknown[] = [];
  circle.push(circle);
  assert.match(refusal({ parallel: 1000 }).message, '`parallel` is 1000, but must be a whole number from 1 to 256.');
  assert.match(refusal({ device: circle } as LoadOptions).message, '`device` is of type object, but');
  assert.ok(refusal({ pooling: 'x'.repeat(1000) } as unknown as LoadOptions).message.length < 250);
});

test('an option that does not exist is refused by its name', () => {
  assert.match(refusal({ contextsize: 512 } as LoadOptions).message, '`contextsize` is not an option of `loadModel`.');
  assert.match(refusal({ toString: 512 } as unknown as LoadOptions).message, '`toString` is not an option');
});

test('absent and undefined options have their defaults', () => {
  const given: object = { parallel: 2, threads: undefined, batchSize: undefined };
  const complete = completeLoadOptions(given);
  assert.is(complete.parallel, 2);
  assert.is(complete.threads, undefined);
  assert.equal(Object.keys(complete), Object.keys(LOAD_OPTIONS));
  for (const [name, row] of Object.entries(LOAD_OPTIONS)) {
    if (name !== 'parallel' && 'default' in row) assert.is(complete[name as keyof LoadOptions], row.default, name);
  }
});

test('native code is asked for what was given, in its own units', () => {
  const given: LoadOptions = { cacheRamMiB: 2, imageCacheMiB: 3, contextSize: 512, batchSize: 100, mmproj: null };
  const others = { prepareTimeoutMs: 77, kvBudgetMiB: 1.5 };
  const { options, prepareTimeoutMs } = toOpenRequest('/models/a.gguf', { ...given, ...others });
  assert.is(options.kvBudgetBytes, 1.5 * 2 ** 20);
  assert.is(prepareTimeoutMs, 77);
  assert.is(options.contextLength, 512);
  assert.equal([options.batchSize, options.ubatchSize], [100, 100]);
  assert.is(options.mmprojPath, '');
  assert.is(options.pooling, undefined);
});

test('native code is asked for the defaults', () => {
  const { options, prepareTimeoutMs, verbose } = toOpenRequest('/models/a.gguf', {});
  assert.equal([prepareTimeoutMs, verbose], [10_000, false]);
  assert.equal(options, {
    ...completeLoadOptions({}),
    offload: {
      devices: null,
      gpuLayers: null,
      draftDevices: null,
      draftGpuLayers: null,
      splitMode: 'layer',
      mainGpu: null,
      tensorSplit: [],
      overrides: [],
    },
    contextLength: 0,
    embeddingContextLength: 0,
    draftMax: 32,
    draftsOnGpus: false,
    chatTemplate: '',
    kvBudgetBytes: 0,
    cacheFolder: path.join(os.homedir(), '.chasqui', 'cache'),
    mmprojPath: '',
    adapters: [],
  });
});

test('drafts come from the text, a draft model or an MTP layer unless told otherwise; where a GPU is used, from the text if asked for', () => {
  const drafts = (options: LoadOptions) => {
    const { draftMax, draftsOnGpus } = toOpenRequest('/models/a.gguf', options).options;
    return [draftMax, draftsOnGpus];
  };
  assert.equal(drafts({}), [32, false]);
  assert.equal(drafts({ draftMin: 4 }), [32, false]);
  assert.equal(drafts({ draftMax: 0 }), [0, true]);
  assert.equal(drafts({ draftMax: 16 }), [16, true]);
  assert.equal(drafts({ draftModel: 'b.gguf' }), [8, true]);
  assert.equal(drafts({ draftModel: 'b.gguf', draftMax: 0 }), [0, true]);
  assert.equal(drafts({ specType: 'draft-mtp' }), [3, true]);
  assert.equal(drafts({ specType: 'draft-mtp', draftMax: 2 }), [2, true]);
  assert.equal(drafts({ specType: 'none' }), [32, false]);
  assert.equal(drafts({ specType: 'draft-simple', draftModel: 'b.gguf' }), [8, true]);
});

test('types of drafts that need a draft model, and that exclude one', () => {
  const refused = (options: LoadOptions, says: RegExp) =>
    assert.throws(
      () => toOpenRequest('/models/a.gguf', options),
      (error: ChasquiError) => error.code === 'invalid_options' && says.test(error.message),
    );
  refused({ specType: 'draft-simple' }, /`specType` is draft-simple, which requires `draftModel`/);
  refused({ specType: 'draft-mtp', draftModel: 'b.gguf' }, /`draftModel` replaces the model's own MTP layer/);
});

test('the type knows what the rows say', () => {
  const good: LoadOptions[] = [{ mmproj: null }, { gpuLayers: 'all' }, { gpuLayers: 3 }, { device: ['CUDA0'] }];
  for (const options of good) completeLoadOptions(options);
  const wrong: LoadOptions[] = [
    // @ts-expect-error: it is a number.
    { parallel: '4' },
    // @ts-expect-error: it is none of the choices.
    { pooling: 'max' },
    // @ts-expect-error: only the projector may be `null`.
    { draftModel: null },
    // @ts-expect-error: there is no such option.
    { ctxSize: 512 },
  ];
  for (const options of wrong) refusal(options);
  // @ts-expect-error: hooks are no data.
  refusal({ onProgress: () => undefined });
});

test('options are data: what is called stands apart, whichever way it was given', () => {
  const onProgress = () => undefined;
  const { signal } = new AbortController();
  const beside: LoadOptions & LoadHooks = { parallel: 2, onProgress, signal };
  const { options, hooks } = splitHooks(beside);
  assert.equal(structuredClone(options), { parallel: 2 });
  assert.equal(hooks, { onProgress, signal });
  const other = new AbortController().signal;
  assert.is(splitHooks(beside, { signal: other }).hooks.signal, other);
  assert.is(splitHooks(beside, { signal: other }).hooks.onProgress, onProgress);
});

test('how often positions are scaled is said in one way', () => {
  assert.is(toOpenRequest('/models/a.gguf', { ropeScale: 4 }).options.ropeFreqScale, 0.25);
  assert.is(toOpenRequest('/models/a.gguf', { ropeFreqScale: 0.5 }).options.ropeFreqScale, 0.5);
  assert.match(
    refusal({ ropeScale: 4, ropeFreqScale: 0.25 }).message,
    '`ropeScale` and `ropeFreqScale` exclude each other',
  );
});

test('a template comes as text or from a file, of a size that a template has', () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'template-'));
  const file = path.join(folder, 'template.jinja');
  try {
    fs.writeFileSync(file, '{{ messages }}');
    const templateOf = (given: LoadOptions) => toOpenRequest('/models/a.gguf', given).options.chatTemplate;
    assert.is(templateOf({ chatTemplateFile: file }), '{{ messages }}');
    assert.is(templateOf({ chatTemplate: '{{ x }}' }), '{{ x }}');
    assert.match(refusal({ chatTemplate: '{{ x }}', chatTemplateFile: file }).message, 'exclude each other');
    assert.is(templateOf({ chatTemplate: 'llama3' }), 'llama3');
    assert.match(refusal({ chatTemplateFile: `${file}.none` }).message, '`chatTemplateFile` cannot be read: ENOENT');
    fs.writeFileSync(file, Buffer.alloc(2 ** 20 + 1));
    assert.match(refusal({ chatTemplateFile: file }).message, '`chatTemplateFile` has 1048577 bytes');
    fs.writeFileSync(file, '');
    assert.match(refusal({ chatTemplateFile: file }).message, '`chatTemplateFile` has 0 bytes');
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
});

test('variables of the template are a JSON object, and reasoning is one of them', () => {
  assert.equal(renderDefaults({}).templateKwargs, {});
  assert.equal(renderDefaults({ chatTemplateKwargs: '{"a": [1]}', reasoning: 'auto' }).templateKwargs, { a: [1] });
  assert.equal(renderDefaults({ chatTemplateKwargs: '{"a": 1}', reasoning: 'off' }).templateKwargs, {
    a: 1,
    enable_thinking: false,
  });
  assert.equal(renderDefaults({ reasoning: 'on' }).templateKwargs, { enable_thinking: true });
  assert.match(refusal({ chatTemplateKwargs: '{a' }).message, '`chatTemplateKwargs` is not valid JSON');
  for (const json of ['[1]', 'null', '"a"']) {
    assert.match(refusal({ chatTemplateKwargs: json }).message, '`chatTemplateKwargs` must be a JSON object');
  }
});

test('a model in parts is named by its first one, and has the size of all', () => {
  assert.is(modelIdOf('/m/big-Q4-00001-of-00003.gguf', {}), 'big-Q4');
  assert.is(modelIdOf('/m/big-Q4-00002-of-00003.gguf', {}), 'big-Q4-00002-of-00003');
  assert.equal(partsOf('/m/a.gguf'), ['/m/a.gguf']);
  assert.equal(partsOf('/m/a-00001-of-00002.gguf'), ['/m/a-00001-of-00002.gguf', '/m/a-00002-of-00002.gguf']);
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'parts-'));
  try {
    for (const part of [1, 2]) fs.writeFileSync(path.join(folder, `a-0000${part}-of-00002.gguf`), 'x'.repeat(part));
    assert.is(sizeOfModel(path.join(folder, 'a-00001-of-00002.gguf')), 3);
    assert.is(sizeOfModel(path.join(folder, 'b-00001-of-00002.gguf')), null);
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
});

test('sampling is what the options say, and nothing else', () => {
  assert.equal(samplingOf({ parallel: 2 } as LoadOptions), {});
  assert.equal(samplingOf({ temperature: 0, seed: -1, samplers: 'top_k,min_p' }), {
    temperature: 0,
    samplers: ['top_k', 'min_p'],
  });
  assert.equal(samplingOf({ seed: 7, samplers: ['xtc'] }), { seed: 7, samplers: ['xtc'] });
  assert.equal(samplingOf({ seed: 2 ** 32 - 1 }), {}, 'as llama.cpp has it');
});

test.run();
