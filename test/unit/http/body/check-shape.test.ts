import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { ChasquiError } from '../../../../ts/errors.js';
import { checkShape } from '../../../../ts/http/body/json-body.js';
import { MAX_BODY_DEPTH, MAX_STRUCTURE, MAX_VALUES } from '../../../../ts/http/body/limits.js';
import { cpuMs } from '../../../support/cpu-time.js';
import { seededRandom } from '../../../support/seeded-random.js';

const test = suite('unit: the shape of a body, by its bytes');

function outcome(json: string | Buffer): string {
  try {
    checkShape(Buffer.from(json));
    return 'taken';
  } catch (thrown) {
    const { code, message } = thrown as ChasquiError;
    return `${code}: ${message}`;
  }
}

const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);

test('as deep as the limit, and one deeper', () => {
  assert.is(outcome(nested(MAX_BODY_DEPTH)), 'taken');
  assert.match(outcome(nested(MAX_BODY_DEPTH + 1)), /^invalid_value: .*nested deeper.*limit, 128 levels/);
  assert.match(outcome('{"a":'.repeat(MAX_BODY_DEPTH + 1)), /^invalid_value: .*nested deeper/);
  assert.is(
    outcome(
      `[${Array(100)
        .fill(nested(MAX_BODY_DEPTH - 1))
        .join()}]`,
    ),
    'taken',
    'one beside the other',
  );
});

test('as many values, objects, arrays and keys as the limits, and more', () => {
  const elements = (count: number, element: string) => `[${Array(count).fill(element).join()}]`;
  assert.is(outcome(elements(MAX_VALUES - 1, '1')), 'taken');
  assert.match(outcome(elements(MAX_VALUES, '1')), /^request_too_large: .*limit, 1000000 values/);
  assert.is(outcome(elements(MAX_STRUCTURE - 1, '{}')), 'taken');
  assert.match(outcome(elements(MAX_STRUCTURE, '[]')), /^request_too_large: .*limit, 100000 objects, arrays and keys/);
  assert.match(outcome(elements(MAX_STRUCTURE / 2, '{"a":1}')), /^request_too_large: .*objects, arrays and keys/);
  assert.match(outcome('"'.repeat(4 * MAX_VALUES)), /^request_too_large/, 'strings without anything between them');
});

test('brackets within strings are not counted', () => {
  const inside = [
    '[[[',
    '{"',
    '\\',
    '\\"[',
    '\\\\',
    'x'.repeat(62),
    'x'.repeat(63),
    'x'.repeat(64),
    'é',
    '\u2028',
    ',,,',
  ];
  const random = seededRandom(1);
  for (let round = 0; round < 2000; round++) {
    const text = Array.from({ length: 20 }, () => inside[Math.floor(random() * inside.length)]).join('');
    const strings = JSON.stringify(Array(3).fill(text));
    // One level too deep, if the scan is where it should be after the strings.
    assert.is(outcome(`[${strings},${nested(MAX_BODY_DEPTH - 1)}]`), 'taken', text);
    assert.match(outcome(`[${strings},${nested(MAX_BODY_DEPTH)}]`), /nested deeper/, text);
  }
});

const MIB = 2 ** 20;
/** Each took seconds or minutes, or ended the process, when it was parsed. The limit is for a busy machine. */
const LIMIT_MS = 5000;

for (const [name, json] of [
  ['brackets only', Buffer.alloc(63 * MIB, '[')],
  ['empty objects', Buffer.alloc(63 * MIB, '{},')],
  ['quotes only', Buffer.alloc(63 * MIB, '"')],
  ['escaped quotes', Buffer.concat([Buffer.from('["'), Buffer.alloc(63 * MIB, '\\"')])],
  ['backslashes', Buffer.concat([Buffer.from('["'), Buffer.alloc(63 * MIB, '\\')])],
  ['an escaped quote now and then', Buffer.concat([Buffer.from('["'), Buffer.alloc(63 * MIB, `${'x'.repeat(64)}\\"`)])],
  ['blanks', Buffer.alloc(63 * MIB, ' ')],
] as const) {
  test(`63 MiB of ${name} are judged at once`, () => {
    const begun = cpuMs();
    outcome(json);
    assert.ok(cpuMs() - begun < LIMIT_MS, `${cpuMs() - begun} ms`);
  });
}

test.run();
