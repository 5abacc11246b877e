import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { BodyBudget } from '../../../../ts/http/body/read-body.js';

const test = suite('unit: the budget of bodies');

/** The share of one body. */
function open(budget: BodyBudget, makeWay: () => void) {
  const body = budget.open(makeWay);
  return {
    grow: (bytes: number) => budget.grow(body, bytes),
    complete: () => budget.complete(body),
    release: () => budget.release(body),
  };
}

test('the free bytes of each body are not counted', () => {
  const budget = new BodyBudget(100, 10, 0);
  const shares = Array.from({ length: 50 }, () => open(budget, () => assert.unreachable()));
  for (const share of shares) assert.ok(share.grow(10));
  assert.is(budget.held, 0);
  assert.ok(shares[0]?.grow(5));
  assert.is(budget.held, 5);
});

test('the largest that is still arriving makes way for a smaller one', () => {
  const budget = new BodyBudget(100, 0, 0);
  const gone: string[] = [];
  const large = open(budget, () => gone.push('large'));
  const medium = open(budget, () => gone.push('medium'));
  const small = open(budget, () => gone.push('small'));
  assert.ok(large.grow(60) && medium.grow(40));
  assert.ok(small.grow(10));
  assert.equal(gone, ['large']);
  assert.is(budget.held, 50);
});

test('the largest gets no more room than there is, and a complete one keeps its own', () => {
  const budget = new BodyBudget(100, 0, 0);
  const complete = open(budget, () => assert.unreachable());
  assert.ok(complete.grow(70));
  complete.complete();
  const next = open(budget, () => assert.unreachable());
  assert.not(next.grow(31));
  assert.ok(next.grow(30));
  const equal = open(budget, () => assert.unreachable());
  assert.not(equal.grow(30), 'equals do not push each other out');
  complete.release();
  assert.ok(equal.grow(30));
  assert.is(budget.held, 60);
});

test('a share is released once', () => {
  const budget = new BodyBudget(100, 0, 0);
  const share = open(budget, () => undefined);
  share.grow(40);
  for (const _ of [1, 2]) share.release();
  assert.is(budget.held, 0);
});

test('a body that is allowed finds room, however large', () => {
  for (const largest of [1, 64 * 2 ** 20, 2 ** 30]) {
    const budget = BodyBudget.forBodiesOf(largest);
    assert.ok(open(budget, () => assert.unreachable()).grow(largest));
  }
});

const MIB = 2 ** 20;

function fill(budget: BodyBudget, bytes: number): number {
  for (let count = 0; count < 1000; count++) {
    const share = open(budget, () => assert.unreachable());
    if (!share.grow(bytes)) return count;
    share.complete();
  }
  return 1000;
}

test('large texts find room while images fill the rest', () => {
  const budget = BodyBudget.forBodiesOf(64 * MIB);
  const images = fill(budget, 64 * MIB);
  assert.is(images, 3);
  for (const bytes of [32, 8, 5]) fill(budget, bytes * MIB);
  assert.is(fill(budget, 4 * MIB), 16);
});

test('an image that outgrows a text takes no room from texts', () => {
  const budget = BodyBudget.forBodiesOf(64 * MIB);
  fill(budget, 64 * MIB);
  fill(budget, 5 * MIB);
  const image = open(budget, () => assert.unreachable());
  assert.ok(image.grow(4 * MIB));
  const before = budget.held;
  assert.not(image.grow(MIB));
  image.release();
  assert.ok(budget.held < before);
  assert.ok(fill(budget, 4 * MIB) >= 16);
});

test('an image that is still arriving makes way for a smaller one where images have their room', () => {
  const budget = BodyBudget.forBodiesOf(64 * MIB);
  const gone: string[] = [];
  const largest = open(budget, () => gone.push('largest'));
  assert.ok(largest.grow(64 * MIB));
  assert.is(fill(budget, 60 * MIB), 3);
  assert.equal(gone, ['largest']);
});

test.run();
