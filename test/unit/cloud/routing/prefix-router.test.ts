import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { CachedBlocks } from '../../../../ts/cloud/routing/cached-blocks.js';
import { PrefixRouter } from '../../../../ts/cloud/routing/prefix-router.js';
import { BLOCK_LENGTH, blocksOf, promptBlocks } from '../../../../ts/cloud/routing/prompt-blocks.js';

const test = suite('cloud: routing by prefix');

const idle = (...ids: string[]) => ids.map((id) => ({ id, slots: 4, running: 0 }));
const prompt = (beginning: string, blocks: number, end = '') => blocksOf(beginning.repeat(BLOCK_LENGTH * blocks) + end);
const report = (promptTokens: number, cachedTokens: number) => ({ promptTokens, cachedTokens, completionTokens: 10 });

test('a conversation goes on where it was, others elsewhere', () => {
  const router = new PrefixRouter();
  const first = router.choose(prompt('a', 4), idle('r1', 'r2'));
  first.finished(report(512, 0));
  for (let turn = 1; turn < 5; turn++) {
    const next = router.choose(prompt('a', 4, 'x'.repeat(turn * BLOCK_LENGTH)), idle('r1', 'r2'));
    assert.is(next.id, first.id);
    assert.ok(next.predicted >= 4);
    next.finished(report(512 + 128 * turn, 512));
  }
});

test('a runner that has too much to do is left, and the other one has the prefix then, too', () => {
  const router = new PrefixRouter();
  const first = router.choose(prompt('a', 4), idle('r1', 'r2'));
  first.finished(report(512, 0));
  const busy = [
    { id: first.id, slots: 4, running: 8 },
    { id: first.id === 'r1' ? 'r2' : 'r1', slots: 4, running: 0 },
  ];
  const second = router.choose(prompt('a', 4, 'x'), busy);
  assert.is.not(second.id, first.id);
  assert.is(second.predicted, 0);
  assert.is(router.choose(prompt('a', 4, 'x'), [busy[1] as (typeof busy)[1]]).predicted, 5);
});

test('prompts that wait count until their first token has come', () => {
  const router = new PrefixRouter();
  const long = router.choose(prompt('a', 100), idle('r1', 'r2'));
  const other = router.choose(prompt('b', 10), idle('r1', 'r2'));
  assert.is.not(other.id, long.id);
  const third = router.choose(prompt('c', 10), idle('r1', 'r2'));
  assert.is(third.id, other.id);
  long.prefilled();
  const fourth = router.choose(prompt('d', 10), idle('r1', 'r2'));
  assert.is(fourth.id, long.id);
});

test('frequent prefixes spread to a second runner earlier than rare ones', () => {
  const timesBeforeItSpreads = (earlier: number): number => {
    const router = new PrefixRouter();
    const ask = (number: number) => prompt('a', 20, String.fromCharCode(number).repeat(2 * BLOCK_LENGTH));
    const first = router.choose(ask(0), idle('r1', 'r2'));
    first.finished(report(2816, 0));
    for (let number = 1; number < earlier; number++) {
      router.choose(ask(number), idle('r1', 'r2')).finished(report(2816, 2560));
    }
    let waiting = 0;
    while (waiting < 100 && router.choose(ask(1000 + waiting), idle('r1', 'r2')).id === first.id) waiting += 1;
    return waiting;
  };
  const [few, many] = [timesBeforeItSpreads(2), timesBeforeItSpreads(500)];
  assert.ok(many < few / 2, `after ${many} and ${few} requests that wait`);
  assert.ok(many > 0);
});

test('equal runners take turns', () => {
  const router = new PrefixRouter();
  const counts = new Map<string, number>();
  for (let number = 0; number < 300; number++) {
    const decision = router.choose(blocksOf(`${number}`), idle('r1', 'r2', 'r3'));
    decision.finished(report(1, 0));
    counts.set(decision.id, (counts.get(decision.id) ?? 0) + 1);
  }
  assert.equal([...counts.values()], [100, 100, 100]);
});

test('prefixes that a reply did not find cached are forgotten', () => {
  const router = new PrefixRouter();
  const one = idle('r1');
  router.choose(prompt('a', 4), one).finished(report(512, 0));
  for (let number = 0; number < 1000; number++) {
    router.choose(blocksOf(`${number}: unlike the others`), one).finished(report(128, 0));
  }
  const again = router.choose(prompt('a', 4), one);
  assert.is(again.predicted, 4);
  again.finished(report(512, 0));
  for (let number = 0; number < 1000; number++) {
    router.choose(blocksOf(`${number}; unlike them`), one).finished(report(128, 0));
  }
  assert.is(router.choose(prompt('a', 4), one).predicted, 0);
});

test('a runner that is gone comes back with an empty cache', () => {
  const router = new PrefixRouter();
  router.choose(prompt('a', 4), idle('r1')).finished(null);
  router.keep(new Set(['r2']));
  assert.is(router.choose(prompt('a', 4), idle('r1')).predicted, 0);
});

test('a chain is forgotten from its end, the oldest first, and a runner is never believed to have more than it can', () => {
  const cached = new CachedBlocks();
  cached.missed(0);
  const capacity = cached.capacity;
  const chain = Array.from({ length: capacity }, (_, at) => at);
  cached.add(chain, 0);
  cached.add([-1, -2, -3], 0);
  assert.is(cached.size, capacity);
  assert.is(cached.match(chain), capacity - 3);
  assert.is(cached.match([-1, -2, -3, -4]), 3);
  assert.is(cached.match([]), 0);
  const before = cached.capacity;
  cached.hit(0);
  assert.ok(cached.capacity > before);
});

test('the blocks of two prompts are equal as far as their texts are', () => {
  const text = 'abc'.repeat(1000);
  const [one, other] = [blocksOf(`${text}x`), blocksOf(`${text}y and more`)];
  const shared = Math.floor(3000 / BLOCK_LENGTH);
  assert.equal(one.slice(0, shared), other.slice(0, shared));
  assert.is.not(one[shared], other[shared]);
  assert.ok(one.every((block) => Number.isSafeInteger(block) && block >= 0));
  assert.is(new Set(blocksOf('x'.repeat(100 * BLOCK_LENGTH))).size, 100);
  assert.equal(blocksOf(''), []);
  assert.ok(blocksOf('x'.repeat(10_000_000)).length <= 4096);
});

test('requests are compared by what comes first in their prompts, not by the order of their fields', () => {
  const messages = [
    { role: 'system', content: 's'.repeat(2000) },
    { role: 'user', content: 'one' },
  ];
  const longer = [...messages, { role: 'assistant', content: 'two' }, { role: 'user', content: 'three' }];
  const one = promptBlocks(Buffer.from(JSON.stringify({ temperature: 0, stream: true, messages })), null);
  const other = promptBlocks(Buffer.from(JSON.stringify({ messages: longer, max_tokens: 7 })), null);
  assert.ok(one.length > 3);
  assert.equal(one.slice(0, 3), other.slice(0, 3));
  const tools = promptBlocks(Buffer.from(JSON.stringify({ messages, tools: [{ type: 'function' }] })), null);
  assert.is.not(tools[0], one[0]);
  assert.equal(promptBlocks(Buffer.alloc(0), 'key'), []);
  assert.ok(promptBlocks(Buffer.from('no JSON'), null).length === 1);
  assert.ok(promptBlocks(Buffer.from('null'), null).length >= 1);
  assert.ok(promptBlocks(Buffer.alloc(5 * 1024 * 1024, '['), null).length > 100);
});

test.run();
