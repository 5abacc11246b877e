// Copies of the demo model with damaged metadata. llama.cpp has assertions for some of them, which end the process.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type ChasquiError, loadModel } from '../../ts/index.js';
import { demoModelPath } from '../support/demo-model.js';
import {
  copyGguf,
  type Entry,
  float32ArrayEntry,
  float32Entry,
  int32ArrayEntry,
  readEntries,
  readValue,
  textEntry,
  textsEntry,
  uint32Entry,
} from '../support/gguf.js';

const test = suite('damaged models');
const folder = mkdtempSync(join(tmpdir(), 'chasqui-damaged-'));
test.after(() => rmSync(folder, { recursive: true }));

const entries = readEntries(demoModelPath);
const tokens = readValue(entries.find(({ key }) => key === 'tokenizer.ggml.tokens') as Entry) as string[];
const vocabulary = (model: string, kind: number): Entry[] => [
  textEntry('tokenizer.ggml.model', model),
  float32ArrayEntry(
    'tokenizer.ggml.scores',
    tokens.map(() => 0),
  ),
  int32ArrayEntry(
    'tokenizer.ggml.token_type',
    tokens.map(() => kind),
  ),
];
const BYTE = 6;

const DAMAGES: Readonly<Record<string, [change: Entry[], message: RegExp]>> = {
  'equal tokens': [[textsEntry('tokenizer.ggml.tokens', tokens.with(5, tokens[6] as string))], /have the same text/],
  'a token named as an empty one': [
    [textsEntry('tokenizer.ggml.tokens', tokens.with(5, '').with(6, '[EMPTY_5]'))],
    /have the same text/,
  ],
  'no tokens': [[textsEntry('tokenizer.ggml.tokens', [])], /wrong shape/],
  'no vocabulary': [[textEntry('tokenizer.ggml.model', 'none')], /has no vocabulary/],
  'kinds of too few tokens': [[int32ArrayEntry('tokenizer.ggml.token_type', [1])], /toktypes \(1 < 2056\)/],
  'scores of too few tokens': [[float32ArrayEntry('tokenizer.ggml.scores', [1])], /scores \(1 < 2056\)/],
  'bytes in WordPiece': [vocabulary('bert', BYTE), /damaged/],
  'bytes without numbers': [vocabulary('llama', BYTE), /vocabulary/],
  'merges of another type': [[int32ArrayEntry('tokenizer.ggml.merges', [1])], /tokenizer.ggml.merges/],
  'no layers': [[uint32Entry('llama.block_count', 0)], /n_layer/],
  'too many layers': [[uint32Entry('llama.block_count', 2 ** 32 - 1)], /n_layer/],
  'too many experts': [[uint32Entry('llama.expert_count', 2 ** 32 - 1)], /n_expert/],
  'no experts in use': [[uint32Entry('llama.expert_count', 8)], /n_expert/],
  'an unknown kind of RoPE': [[textEntry('llama.rope.scaling.type', 'spiral')], /rope_scaling_type/],
  'an epsilon below 0': [[float32Entry('llama.attention.layer_norm_rms_epsilon', -1)], /epsilon is -1/],
  'an epsilon that is no number': [[float32Entry('llama.attention.layer_norm_rms_epsilon', Number.NaN)], /epsilon is /],
};

for (const [name, [change, message]] of Object.entries(DAMAGES)) {
  test(name, async () => {
    const file = join(folder, 'damaged.gguf');
    const changed = new Set(change.map(({ key }) => key));
    copyGguf(demoModelPath, file, [...entries.filter(({ key }) => !changed.has(key)), ...change]);
    const error: ChasquiError = await loadModel(file, { threads: 1, contextSize: 256 }).then(
      async (model) => {
        await model.close();
        return assert.unreachable('it loaded');
      },
      (reason) => reason,
    );
    assert.ok(['model_load_failed', 'model_file_invalid'].includes(error.code), `${error.code} ${error.message}`);
    assert.match(error.message, message);
  });
}

const NORMAL = 1;

for (const model of ['llama', 'rwkv']) {
  test(`text outside a vocabulary of the kind ${model} without byte tokens is refused`, async () => {
    const file = join(folder, 'incomplete.gguf');
    const change = vocabulary(model, NORMAL);
    const changed = new Set(change.map(({ key }) => key));
    copyGguf(demoModelPath, file, [...entries.filter(({ key }) => !changed.has(key)), ...change]);
    const loaded = await loadModel(file, { threads: 1, contextSize: 256 });
    const messages = [{ role: 'user' as const, content: '\u4e2d' }];
    for (const ask of [() => loaded.tokenize('\u4e2d'), () => loaded.generate({ messages, maxTokens: 1 }).next()]) {
      const error: ChasquiError = await ask().then(
        () => assert.unreachable('it was accepted'),
        (reason) => reason,
      );
      assert.is(error.code, 'model_not_capable');
      assert.match(error.message, /vocabulary/);
    }
    await loaded.close();
  });
}

test('copies without damage load', async () => {
  const file = join(folder, 'whole.gguf');
  copyGguf(demoModelPath, file, entries);
  const model = await loadModel(file, { threads: 1, contextSize: 256 });
  assert.ok((await model.tokenize('Hi')).length > 0);
  await model.close();
});

test.run();
