// What is judged of a body by its bytes, against what JSON.parse makes of it: random texts, cut and spoilt.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ChasquiError } from '../../ts/errors.js';
import { checkShape } from '../../ts/http/body/json-body.js';
import { MAX_BODY_DEPTH } from '../../ts/http/body/limits.js';
import { seededRandom } from '../support/seeded-random.js';
import { mutateText } from './mutate.js';
import { below, pick, type Random } from './random-values.js';

const test = suite('property: the shape of a body');

/** CHASQUI_SHAPE_COUNT=1000000 makes it long. */
const COUNT = Number(process.env.CHASQUI_SHAPE_COUNT ?? 20_000);
const SEED = 1;

const STRINGS = [
  '',
  'a',
  '\\',
  '"',
  '\\"',
  '[[[[',
  '{"a":',
  ']',
  '\u0000',
  'é',
  '\ud83d\ude00',
  '\ud800',
  'x'.repeat(63),
];

/** Deep in one place, and around the limit more often than anywhere else. */
function randomText(random: Random): string {
  const levels = random() < 0.5 ? MAX_BODY_DEPTH - 2 + below(random, 6) : below(random, 40);
  let text = leaf(random);
  for (let level = 0; level < levels; level++) {
    const before = random() < 0.1 ? `${leaf(random)},` : '';
    const after = random() < 0.1 ? ` , ${leaf(random)}` : '';
    const named = (value: string) => `${JSON.stringify(pick(random, STRINGS))}:${value}`;
    text = random() < 0.5 ? `[${before}${text}${after}]` : `{${named(text)}}`;
  }
  return text;
}

function leaf(random: Random): string {
  const text = Array.from({ length: below(random, 4) }, () => pick(random, STRINGS)).join('');
  return pick(random, [JSON.stringify(text), '1', 'null', '[]', '{}', '-0.5e3', 'true']);
}

/** Levels of objects and arrays, empty ones too. */
function nesting(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Object.values(value).reduce((deepest: number, each) => Math.max(deepest, nesting(each)), 0);
}

function isTaken(text: string): boolean {
  try {
    checkShape(Buffer.from(text));
    return true;
  } catch (thrown) {
    if (thrown instanceof ChasquiError && thrown.code === 'invalid_value') return false;
    throw thrown;
  }
}

test(`${COUNT} texts of seed ${SEED}: what is JSON is taken if it is no deeper than the limit, and nothing else throws`, () => {
  const outcomes = { taken: 0, refused: 0, noJson: 0 };
  for (let index = 0; index < COUNT; index++) {
    const random = seededRandom(SEED * 1_000_003 + index);
    let text = randomText(random);
    while (random() < 0.3) text = mutateText(random, text);
    const taken = isTaken(text);
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      outcomes.noJson += 1;
      continue;
    }
    assert.is(taken, nesting(value) <= MAX_BODY_DEPTH, text);
    outcomes[taken ? 'taken' : 'refused'] += 1;
  }
  for (const [kind, count] of Object.entries(outcomes)) assert.ok(count > COUNT / 20, `${kind}: ${count}`);
});

test.run();
