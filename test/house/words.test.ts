// Vocabulary rules for TypeScript and C++.
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { hardSentences } from './sentences.ts';
import { exists, files, offences } from './source-tree.ts';

const sources = files('ts', /\.(ts|mjs)$/);

const words: [word: string, instead: string, pattern: RegExp][] = [
  ['picture', 'image', /picture/i],
  ['fault', 'error', /\bfaults?\b|[a-z]Faults?\b|\bFault/],
  ['answer', 'completion', /\banswers?[A-Z]|Answers?([A-Z]|\b)/],
  ['guess', 'draft', /guess/i],
  ['MOST_, LARGEST_, LONGEST_, DEEPEST_', 'MAX_', /\b(MOST|LARGEST|LONGEST|DEEPEST|HIGHEST)(_|\b)/],
];

const native = files('native', /\.(h|cpp)$/);

const nativeWords: typeof words = [
  ['picture', 'image', /picture/i],
  ['fault', 'error', /\bfaults?\b|[a-z]Faults?\b|\bFault/],
  ['guess', 'draft', /guess/i],
  ['kMost, kLargest, kLongest, kDeepest', 'kMax', /\bk(Most|Largest|Longest|Deepest)(?=[A-Z]|\b)/],
  ['kLeast, kFewest, kSmallest', 'kMin', /\bk(Least|Fewest|Smallest)(?=[A-Z]|\b)/],
  ['nobody, somebody, whoever', 'the name of the part', /\b(no|some|every)body\b|\bwhoever\b/i],
];

for (const [folder, listed, among] of [
  ['ts', words, sources],
  ['native', nativeWords, native],
] as const) {
  for (const [word, instead, pattern] of listed) {
    test(`${folder}: ${instead}, not ${word}`, () => {
      assert.ok(among.length > 50);
      assert.equal(
        offences(among, (line) => pattern.test(line)),
        [],
      );
    });
  }
}

const code = /\.(tsx?|mjs|h|cpp)$/;
const pages = ['README.md', '.github/CONTRIBUTING.md', 'bench', 'docs', 'native', 'ts', 'vendor/README.md'];

/** How many sentences may match a pattern of sentences.ts. Lower a number when you have rewritten some; never raise it. */
const CEILINGS: [what: string, among: string[], ceiling: number][] = [
  ['ts', files('ts', code), 5],
  ['native', files('native', code), 5],
  ['bench', files('bench', code), 6],
  ['test', files('test', code), 14],
  ['pages', pages.flatMap((page) => (page.endsWith('.md') && exists(page) ? [page] : files(page, /\.md$/))), 5],
];

for (const [what, among, ceiling] of CEILINGS) {
  test(`${what}: at most ${ceiling} sentences are hard to read`, () => {
    const hard = among.flatMap(hardSentences);
    assert.ok(hard.length <= ceiling, `${hard.length} sentences, such as\n${hard.slice(0, 20).join('\n')}`);
  });
}

test.run();
