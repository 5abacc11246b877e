// One word for one thing. ts/engine and ts/native still use some of the old ones.
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { files, offences } from './source-tree.ts';

const sources = files('ts', /\.(ts|mjs)$/).filter((file) => !/^ts\/(engine|native)\//.test(file));

const words: [word: string, instead: string, pattern: RegExp][] = [
  ['picture', 'image', /picture/i],
  ['fault', 'error', /\bfaults?\b|[a-z]Faults?\b|\bFault/],
  ['answer', 'completion', /\banswers?[A-Z]|Answers?([A-Z]|\b)/],
  ['guess', 'draft', /guess/i],
  ['MOST_, LARGEST_, LONGEST_, DEEPEST_', 'MAX_', /\b(MOST|LARGEST|LONGEST|DEEPEST|HIGHEST)(_|\b)/],
];

for (const [word, instead, pattern] of words) {
  test(`${instead}, not ${word}`, () => {
    assert.ok(sources.length > 50);
    assert.equal(
      offences(sources, (line) => pattern.test(line)),
      [],
    );
  });
}

test.run();
