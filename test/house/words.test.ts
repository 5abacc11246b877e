// Vocabulary rules for TypeScript and C++.
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { files, offences } from './source-tree.ts';

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

test.run();
