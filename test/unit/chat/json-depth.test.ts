import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { isTextTooDeep, limitDepth, limitTextDepth } from '../../../ts/api/shared/json-schema/json-depth.js';
import { cpuMs } from '../../support/cpu-time.js';

const test = suite('unit: the depth of JSON');

const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);

test('as text and as a value: 64 levels, and no more', () => {
  limitTextDepth(nested(64), 'x');
  limitDepth(JSON.parse(nested(64)), 'x');
  const tooDeep = /`x` is nested deeper than 64 levels/;
  assert.throws(() => limitTextDepth(nested(65), 'x'), tooDeep);
  assert.throws(() => limitDepth(JSON.parse(nested(66)), 'x'), tooDeep);
});

test('brackets in strings do not count', () => {
  const inside = ['['.repeat(100), `\\"${'{'.repeat(100)}`, '\\\\', `\\\\\\"${'['.repeat(100)}`];
  for (const text of inside) {
    assert.not(isTextTooDeep(`{"a":"${text}","b":${nested(63)}}`), text);
    assert.ok(isTextTooDeep(`{"a":"${text}","b":${nested(64)}}`), text);
  }
});

test('what follows a string that is cut off does not count either', () => {
  assert.not(isTextTooDeep(`{"code":"${'{'.repeat(1000)}`));
  assert.not(isTextTooDeep(`{"code":"${'{'.repeat(1000)}\\`));
});

/** Milliseconds, where it were minutes; the limit is for a busy machine. */
const LIMIT_MS = 2000;

for (const [name, text] of [
  ['escaped quotes', `{"a":"${'\\"'.repeat(500_000)}`],
  ['escaped quotes and no string', '\\"'.repeat(500_000)],
  ['quotes', '"'.repeat(1_000_001)],
  ['backslashes', `"${'\\'.repeat(1_000_000)}`],
  ['an honest call that was cut off', `{"file":"${'const a = {\\"x\\": [1]};\\n'.repeat(40_000)}`],
] as const) {
  test(`a megabyte of ${name} takes milliseconds`, () => {
    const begun = cpuMs();
    limitTextDepth(text, 'x');
    assert.ok(cpuMs() - begun < LIMIT_MS, `${cpuMs() - begun} ms`);
  });
}

test.run();
