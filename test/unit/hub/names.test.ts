import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { chooseQuantisation, parseModelName } from '../../../ts/hub/model-name.js';
import { groupQuantisations, labelOf } from '../../../ts/hub/quantisations.js';
import { isSafePath } from '../../../ts/hub/read-hub-replies.js';

for (const [text, repo, tag] of [
  ['ada/tiny', 'ada/tiny', null],
  [' ada/tiny:Q4_K_M ', 'ada/tiny', 'Q4_K_M'],
  ['hf.co/ada/tiny:q8_0', 'ada/tiny', 'q8_0'],
  ['ada/tiny:latest', 'ada/tiny', null],
  ['hf:ada/tiny:Q8_0', 'ada/tiny', 'Q8_0'],
  ['llama3.2', 'bartowski/Llama-3.2-3B-Instruct-GGUF', null],
  ['hf:llama3.2:latest', 'bartowski/Llama-3.2-3B-Instruct-GGUF', null],
  ['Qwen3:30b-a3b', 'Qwen/Qwen3-30B-A3B-GGUF', null],
  ['gemma3:12b-it-q8_0', 'ggml-org/gemma-3-12b-it-GGUF', 'q8_0'],
  ['nomic-embed-text:v1.5', 'nomic-ai/nomic-embed-text-v1.5-GGUF', null],
  ['phi4:fp16', 'bartowski/phi-4-GGUF', 'f16'],
  ['ada/tiny:sub/tiny-Q8_0.gguf', 'ada/tiny', 'sub/tiny-Q8_0.gguf'],
  ['https://huggingface.co/ada/tiny', 'ada/tiny', null],
  ['https://huggingface.co/ada/tiny/tree/main', 'ada/tiny', null],
  ['https://huggingface.co/ada/tiny/blob/main/a%20b.gguf?download=true', 'ada/tiny', 'a b.gguf'],
] as const) {
  test(`a name: ${text}`, () => assert.equal(parseModelName(text), { repo, tag }));
}

for (const text of [
  '',
  'tiny',
  'ada/',
  'a/b/c',
  '../etc',
  'ada/..',
  'ada/tiny:../x',
  'ada/tiny:',
  'a--b/c',
  'ada/ti ny',
  '-ada/tiny',
  'ada/tiny:a/../../b.gguf',
  `ada/${'x'.repeat(500)}`,
  'https://evil.example/ada/tiny',
]) {
  test(`no name: ${text.slice(0, 40)}`, () => assert.throws(() => parseModelName(text), /is not a model name/));
}

for (const [path, label] of [
  ['Llama-3-8B-Q4_K_M.gguf', 'Q4_K_M'],
  ['x-UD-Q4_K_XL.gguf', 'UD-Q4_K_XL'],
  ['x.IQ3_XXS.gguf', 'IQ3_XXS'],
  ['gpt-oss-20b-MXFP4.gguf', 'MXFP4'],
  ['x-bf16.gguf', 'BF16'],
  ['Q8_0/x-Q8_0-00001-of-00002.gguf', 'Q8_0'],
  ['x-q4_0.gguf', 'Q4_0'],
  ['Q4_K_M/x-F16.gguf', 'F16'],
  ['plain.gguf', null],
] as const) {
  test(`the label of ${path}`, () => assert.is(labelOf(path), label));
}

const file = (path: string, sizeBytes = 1_000_000_000) => ({ path, sizeBytes, sha256: null });

test('parts and the nearest projector make one quantisation; what is no model makes none', () => {
  const grouped = groupQuantisations(
    [
      file('m-Q8_0-00002-of-00002.gguf', 3e9),
      file('m-Q8_0-00001-of-00002.gguf', 5e9),
      file('m-Q4_K_M.gguf', 4e9),
      file('m-Q6_K-00001-of-00003.gguf'),
      file('mmproj-F16.gguf', 2e9),
      file('mmproj-Q8_0.gguf', 1e9),
      file('imatrix.gguf'),
      file('mtp-m-Q8_0.gguf'),
      file('README.md'),
    ],
    8e9,
  );
  assert.equal(
    grouped.map(({ label, sizeBytes, files, projector, bitsPerWeight }) => ({
      label,
      sizeBytes,
      files: files.map(({ path }) => path),
      projector: projector?.path,
      bitsPerWeight,
    })),
    [
      { label: 'Q4_K_M', sizeBytes: 5e9, files: ['m-Q4_K_M.gguf'], projector: 'mmproj-Q8_0.gguf', bitsPerWeight: 4 },
      {
        label: 'Q8_0',
        sizeBytes: 9e9,
        files: ['m-Q8_0-00001-of-00002.gguf', 'm-Q8_0-00002-of-00002.gguf'],
        projector: 'mmproj-Q8_0.gguf',
        bitsPerWeight: 8,
      },
    ],
  );
});

test('a projector of another folder is not that of a model', () => {
  const [one, other] = groupQuantisations(
    [file('a/m-Q8_0.gguf', 1e9), file('b/n-Q4_0.gguf', 2e9), file('b/mmproj-x.gguf')],
    null,
  );
  assert.equal([one?.projector, other?.projector?.path], [null, 'b/mmproj-x.gguf']);
});

test('two of one label are called by their files', () => {
  const labels = groupQuantisations([file('small-Q8_0.gguf'), file('large-Q8_0.gguf', 2e9)], null).map(
    ({ label }) => label,
  );
  assert.equal(labels, ['small-Q8_0', 'large-Q8_0']);
});

const there = groupQuantisations(
  ['m-F16.gguf', 'm-Q8_0.gguf', 'm-Q4_K_M.gguf', 'm-Q4_K_S.gguf', 'sub/m-UD-Q4_K_XL.gguf'].map((path, at) =>
    file(path, 9 - at),
  ),
  null,
);

for (const [tag, label] of [
  [null, 'Q4_K_M'],
  ['q8_0', 'Q8_0'],
  ['UD-Q4_K_XL', 'UD-Q4_K_XL'],
  ['m-Q4_K_S.gguf', 'Q4_K_S'],
  ['sub/m-UD-Q4_K_XL.gguf', 'UD-Q4_K_XL'],
] as const) {
  test(`the tag ${tag} means ${label}`, () => assert.is(chooseQuantisation(there, tag).label, label));
}

test('without a tag Q8_0 where there is no Q4_K_M, and else the first; a tag that is not there is said', () => {
  assert.is(
    chooseQuantisation(
      there.filter(({ label }) => label !== 'Q4_K_M'),
      null,
    ).label,
    'Q8_0',
  );
  assert.is(
    chooseQuantisation(
      there.filter(({ label }) => label === 'F16'),
      null,
    ).label,
    'F16',
  );
  // Q4_K stands in names, but is not followed by a dot or a dash there.
  assert.throws(() => chooseQuantisation(there, 'Q4_K'), /no `Q4_K`\. Available: .*Q4_K_M/);
  assert.throws(() => chooseQuantisation([], null), /no GGUF model/);
});

for (const path of [
  '../x.gguf',
  '/x.gguf',
  'a//b',
  'a/./b',
  'a\\b',
  'c:x',
  'a\0b',
  'x'.repeat(400),
  `${'a/'.repeat(20)}b`,
  '',
  'a.',
  7,
]) {
  test(`a path that is not taken: ${String(path).slice(0, 20)}`, () => assert.not.ok(isSafePath(path)));
}

test.run();
