import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { BlockUses } from '../../../../ts/cloud/routing/block-uses.js';

const test = suite('cloud: uses of blocks');

test('each block counts the prompts that begin with it', () => {
  const uses = new BlockUses();
  assert.equal([...uses.add([1, 2, 3])], [1, 1, 1]);
  const [one = 0, two = 0, three = 0] = uses.add([1, 2, 4]);
  assert.ok(one > 1.99 && two === one);
  assert.is(three, 1);
});

test('old uses count less, and finally nothing', () => {
  const uses = new BlockUses();
  for (let number = 0; number < 100; number++) uses.add([1]);
  for (let number = 0; number < 1024; number++) uses.add([2]);
  const [count = 0] = uses.add([1]);
  assert.ok(count > 20 && count < 50, String(count));
  for (let number = 0; number < 10_000; number++) uses.add([2]);
  assert.ok((uses.add([1])[0] ?? 0) < 1.01);
});

test('no more blocks are remembered than fit, those that all begin with the longest', () => {
  const uses = new BlockUses();
  const long = (from: number) => [1, ...Array.from({ length: 4000 }, (_, at) => from + at)];
  uses.add(long(10));
  for (let number = 1; number < 30; number++) uses.add(long(10 + 4000 * number));
  const [first = 0, second = 0] = uses.add(long(10));
  assert.ok(first > 29);
  assert.is(second, 1);
});

test.run();
