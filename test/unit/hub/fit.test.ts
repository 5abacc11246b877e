import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readGgufFile, readGgufHeader } from '../../../ts/engine/gguf-header.js';
import { type Machine, quickFit } from '../../../ts/hub/fit.js';
import type { Quantisation } from '../../../ts/hub/hub-types.js';
import { recommend } from '../../../ts/hub/quantisation-advice.js';
import { groupQuantisations } from '../../../ts/hub/quantisations.js';
import { demoModelPath } from '../../support/demo-model.js';

const GB = 1e9;
const eight = { sizeBytes: 4.9 * GB, parameters: 8e9, contextLength: 131_072, architecture: 'llama' };
const machine = (freeBytes: number, gpuBytes = 0): Machine => ({
  freeBytes,
  totalBytes: 32 * GB,
  gpus: gpuBytes > 0 ? [{ name: 'GPU0', freeBytes: gpuBytes, totalBytes: gpuBytes }] : [],
});

for (const [badge, on, words] of [
  ['cpu', machine(16 * GB), 'Runs on the CPU'],
  ['gpu', machine(16 * GB, 8 * GB), 'Runs fully on the GPU'],
  ['partly-gpu', machine(16 * GB, 3 * GB), 'Runs partly on the GPU'],
  ['cpu', machine(16 * GB, 0.1 * GB), 'Runs on the CPU'],
  ['too-large', machine(4 * GB), 'Too large now (needs 5.8 GB, you have 4.0 GB free); end other programs'],
  ['too-large', { ...machine(4 * GB), totalBytes: 5 * GB }, 'Too large (needs 5.8 GB, you have 4.0 GB)'],
] as const) {
  test(`8B at four bits: ${words}`, () => {
    const fit = quickFit(eight, on);
    assert.equal([fit.badge, fit.words], [badge, words]);
  });
}

test('what is needed grows with the context, up to the longest that the model takes', () => {
  const need = (context: number) => quickFit({ ...eight, contextLength: 8192, context }, machine(GB)).needBytes;
  // Llama 3 8B has 128 KiB for each token.
  assert.is(need(8192) - need(4096), 4096 * 131_072);
  assert.is(need(100_000), need(8192));
});

test('one is recommended and one is better, of those that fit', () => {
  const advice = (freeBytes: number, sizes: Record<string, number>) => {
    const files = Object.entries(sizes).map(([label, size]) => ({
      path: `m-${label}.gguf`,
      sizeBytes: size * GB,
      sha256: null,
    }));
    const quantisations = groupQuantisations(files, eight.parameters);
    return recommend({ ...eight, quantisations }, machine(freeBytes));
  };
  const usual = { Q2_K: 3.2, Q3_K_M: 4, Q4_K_M: 4.9, Q6_K: 6.6, F16: 16 };
  assert.equal(advice(16 * GB, usual), [null, null, 'recommended', 'better', null]);
  // It fits, too, but not with a long conversation.
  assert.equal(advice(9 * GB, usual), [null, null, 'recommended', null, null]);
  assert.equal(advice(5.5 * GB, usual), [null, 'recommended', null, null, null]);
  assert.equal(advice(4.5 * GB, usual), ['recommended', null, null, null, null]);
  assert.equal(advice(GB, usual), [null, null, null, null, null]);
  const dynamic = { 'UD-Q3_K_XL': 4.2, 'UD-Q4_K_XL': 5, 'UD-Q6_K_XL': 7 };
  assert.equal(advice(16 * GB, dynamic), [null, 'recommended', 'better']);
  assert.equal(advice(16 * GB, { Q4_0: 4.7, Q4_1: 4.9, Q8_0: 8.5 }), ['recommended', null, 'better']);
  assert.equal(advice(24 * GB, { Q8_0: 8.5, F16: 16 }), ['recommended', null]);
  const [quantisation] = groupQuantisations([{ path: 'm-Q4_K_M.gguf', sizeBytes: GB, sha256: null }], 1e9);
  const odd = { ...eight, architecture: 'quite-unknown', quantisations: [quantisation as Quantisation] };
  assert.equal(recommend(odd, machine(24 * GB)), [null]);
});

test('a header says what the model is', async () => {
  const { metadata, parameters, dataOffset, lengths } = await readGgufFile(demoModelPath);
  assert.equal([metadata.get('general.architecture'), metadata.get('llama.context_length')], ['llama', 2048]);
  assert.is(parameters, 1_600_160);
  assert.ok(dataOffset > 10_000 && dataOffset % 32 === 0);
  assert.ok((lengths.get('tokenizer.ggml.tokens') ?? 0) > 100);
});

const uint32 = (value: number) => Buffer.from(Uint32Array.of(value).buffer);
const uint64 = (value: bigint) => Buffer.from(BigUint64Array.of(value).buffer);
const text = (value: string) => Buffer.concat([uint64(BigInt(value.length)), Buffer.from(value)]);
const head = (tensors: bigint, entries: bigint) =>
  Buffer.concat([Buffer.from('GGUF'), uint32(3), uint64(tensors), uint64(entries)]);
const list = (type: number, count: bigint) => [text('k'), uint32(9), uint32(type), uint64(count)];

for (const [what, bytes, says] of [
  ['nothing', Buffer.alloc(0), /truncated/],
  ['something else', Buffer.from('<!doctype html>'), /no GGUF header/],
  ['another version', Buffer.concat([Buffer.from('GGUF'), uint32(9)]), /version 9/],
  ['more entries than any file', head(0n, 2n ** 60n), /too large|claims/],
  ['more tensors than any file', head(10n ** 9n, 0n), /claims 1000000000 tensors/],
  ['a key without end', Buffer.concat([head(0n, 1n), uint64(2n ** 40n)]), /claims/],
  ['a list without end', Buffer.concat([head(0n, 1n), ...list(4, 2n ** 50n)]), /claims/],
  [
    'lists in lists in lists',
    Buffer.concat([head(0n, 1n), ...list(9, 1n), uint32(9), uint64(1n), uint32(9), uint64(1n)]),
    /too deeply/,
  ],
  ['an unknown type', Buffer.concat([head(0n, 1n), text('k'), uint32(77)]), /unknown type 77/],
  [
    'an alignment of nothing',
    Buffer.concat([head(0n, 1n), text('general.alignment'), uint32(4), uint32(0)]),
    /alignment/,
  ],
  ['a tensor of too many dimensions', Buffer.concat([head(1n, 0n), text('t'), uint32(99)]), /dimensions/],
  [
    'a tensor larger than any',
    Buffer.concat([head(1n, 0n), text('t'), uint32(2), uint64(2n ** 50n), uint64(2n ** 50n), Buffer.alloc(12)]),
    /too large/,
  ],
] as const) {
  test(`a header that is none: ${what}`, async () => {
    let read = 0;
    const reading = readGgufHeader(async (start, length) => {
      read += 1;
      return bytes.subarray(start, start + length);
    });
    const ended = reading.then(() => assert.unreachable());
    await ended.catch((error) => {
      assert.is(error.code, 'model_file_invalid');
      assert.match(error.message, says);
    });
    assert.ok(read < 10);
  });
}

test('a header of several megabytes is read piece by piece, each byte once', async () => {
  const words = Array.from({ length: 300_000 }, (_, index) => text(`word ${index}`));
  const entries = [...list(8, BigInt(words.length)), ...words, text('general.name'), uint32(8), text('Large')];
  const bytes = Buffer.concat([head(0n, 2n), ...entries]);
  let end = 0;
  const { metadata, lengths } = await readGgufHeader(async (start, length) => {
    assert.is(start, end);
    end = Math.min(start + length, bytes.length);
    return bytes.subarray(start, end);
  });
  assert.is(lengths.get('k'), words.length);
  assert.is(metadata.get('general.name'), 'Large');
  assert.is(end, bytes.length);
});

test.run();
