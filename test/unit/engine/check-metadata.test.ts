import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { checkMetadata } from '../../../ts/engine/check-metadata.js';
import { readGgufSizes } from '../../../ts/engine/gguf-header.js';
import { boolEntry, float32Entry, int32ArrayEntry, textEntry, uint32Entry, writeGguf } from '../../support/gguf.js';

const test = suite<{ folder: string; file: string }>('unit: values that go before those in a file');

test.before((context) => {
  context.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-metadata-'));
  context.file = path.join(context.folder, 'model.gguf');
  const many = Array.from({ length: 100_000 }, (_, at) => at);
  writeGguf(
    context.file,
    [
      textEntry('general.architecture', 'llama'),
      uint32Entry('llama.context_length', 512),
      float32Entry('llama.rope.freq_base', 10_000),
      int32ArrayEntry('tokenizer.ggml.token_type', many),
      boolEntry('tokenizer.ggml.add_bos_token', true),
      uint32Entry('tokenizer.ggml.bos_token_id', 1),
    ],
    [],
  );
});
test.after(({ folder }) => fs.rmSync(folder, { recursive: true }));

test('values of the type that the file has, and values that it has not', ({ file }) => {
  checkMetadata(file, [
    'llama.context_length=int:100',
    'llama.rope.freq_base=float:5.5',
    'tokenizer.ggml.add_bos_token=bool:false',
    'tokenizer.ggml.bos_token_id=int:0',
    'general.architecture=str:qwen2',
    'llama.expert_used_count=int:2',
    'tokenizer.ggml.pre=str:qwen2',
  ]);
  assert.is(readGgufSizes(file).get('context_length'), 512);
});

const wrong: [string, RegExp][] = [
  ['llama.context_length=float:5', /the model has a value of the type int there/],
  ['llama.context_length=str:5', /the model has a value of the type int there/],
  ['llama.rope.freq_base=int:5', /the model has a value of the type float there/],
  ['general.architecture=int:5', /the model has a value of the type str there/],
  // It stands behind a long list.
  ['tokenizer.ggml.add_bos_token=int:1', /the model has a value of the type bool there/],
  ['tokenizer.ggml.token_type=int:1', /the model has a list there/],
  ['lama.context_length=int:5', /values begin with general\., llama\., tokenizer\., but not with lama\./],
  ['context_length=int:5', /but not with context_length/],
  ['llama.context_length=int:-5', /a whole number from 0 to 4294967295/],
  ['llama.expert_used_count=int:99999999999', /a whole number from/],
];

for (const [entry, says] of wrong) {
  test(`${entry} is refused`, ({ file }) => {
    assert.throws(
      () => checkMetadata(file, ['llama.context_length=int:100', entry]),
      (error: Error & { code?: string }) =>
        error.code === 'invalid_options' &&
        error.message.includes(`\`overrideKv\` is ${entry}`) &&
        says.test(error.message),
    );
  });
}

test('a file that cannot be read is left to whoever loads it', ({ folder }) => {
  checkMetadata(path.join(folder, 'none.gguf'), ['a.b=int:1']);
  fs.writeFileSync(path.join(folder, 'text.gguf'), 'not a model');
  checkMetadata(path.join(folder, 'text.gguf'), ['a.b=int:1']);
});

test.run();
