// Estimates of the speed of models, before and after the first completions.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { activeShareOf, SpeedBook } from '../../../ts/desktop/advice.js';
import { readGgufFile } from '../../../ts/engine/gguf-header.js';
import { textEntry, uint32Entry, writeGguf } from '../../support/gguf.js';

const test = suite('desktop: estimated speeds');
const GB = 1e9;

test('before the first completion: from the memory bandwidth, measured once, for models on the CPU', async () => {
  let measured = 0;
  const book = new SpeedBook([], async () => {
    measured += 1;
    return 40 * GB;
  });
  assert.is(book.expect(3 * GB, 'cpu'), null);
  await Promise.all([book.prepare(), book.prepare()]);
  await book.prepare();
  assert.is(measured, 1);
  // 3 GB at three quarters of 40 GB/s, and a millisecond.
  assert.is(book.expect(3 * GB, 'cpu'), 9.9);
  assert.equal([book.expect(3 * GB, 'gpu'), book.expect(3 * GB, 'too-large')], [null, null]);
});

test('after completions: from their median, and not from models that fit into caches', async () => {
  const book = new SpeedBook([], () => assert.unreachable() as never);
  book.add(500, 1e6);
  assert.equal(book.runs, []);
  for (const speed of [10, 30, 20]) book.add(speed, 2 * GB);
  await book.prepare();
  // 4 GB at 40 GB/s, and a millisecond.
  assert.is(book.expect(4 * GB, 'gpu'), 9.9);
  assert.equal(new SpeedBook(book.runs).expect(4 * GB, 'cpu'), 9.9);
});

for (const [repo, architecture, parameters, share] of [
  ['qwen/Qwen3-30B-A3B-GGUF', 'qwen3moe', 30e9, 0.1],
  ['a/Next-80B-A3.5B-Instruct', 'qwen3next', 70e9, 0.05],
  ['a/Plain-8B', 'llama', 8e9, 1],
  ['a/Plain-A100-8B', 'llama', 8e9, 1],
  ['a/Mixtral-8x7B', 'llama', 47e9, null],
  ['openai/gpt-oss-20b', 'gpt-oss', 20e9, null],
  ['a/Mix-A3B', 'qwen3moe', null, null],
] as const) {
  test(`${repo} reads ${share ?? 'an unknown share'} of its weights per token`, () => {
    assert.is(activeShareOf({ repo, architecture, parameters }), share);
  });
}

test('a header states the share: chosen experts, and embeddings only if they are the output too', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'chasqui-advice-'));
  const file = path.join(folder, 'mix.gguf');
  const tensor = (name: string, elements: number) => ({
    name,
    shape: [elements],
    type: 'F32' as const,
    fill: (count: number) => Buffer.alloc(count * 4),
  });
  const experts = [uint32Entry('mix.expert_count', 8), uint32Entry('mix.expert_used_count', 2)];
  const tensors = [tensor('blk.0.ffn_up_exps.weight', 800), tensor('blk.0.attn_q.weight', 100)];
  const shareOf = async (more: ReturnType<typeof tensor>[]) => {
    writeGguf(file, [textEntry('general.architecture', 'mix'), ...experts], [...tensors, ...more]);
    return (await readGgufFile(file)).activeShare;
  };
  assert.is(await shareOf([tensor('token_embd.weight', 100)]), 0.4);
  assert.is(await shareOf([tensor('token_embd.weight', 100), tensor('output.weight', 200)]), 500 / 1200);
  rmSync(folder, { recursive: true });
});

test.run();
