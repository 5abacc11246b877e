import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Turns } from '../../../ts/images/turns.js';

const test = suite('unit: requests take turns');

/** Work that ends when the test says so. */
function works() {
  const begun: string[] = [];
  const end = new Map<string, () => void>();
  const work = (name: string) => () => {
    begun.push(name);
    return new Promise<void>((resolve) => end.set(name, resolve));
  };
  return { begun, work, end: (name: string) => end.get(name)?.() };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

test('large requests do not delay small ones', async () => {
  const turns = new Turns(2);
  const { begun, work, end } = works();
  const [much, little] = [{}, {}];
  for (const name of ['a', 'b', 'c', 'd', 'e']) void turns.run(much, undefined, work(name));
  for (const name of ['x', 'y']) void turns.run(little, undefined, work(name));
  await settled();
  assert.equal(begun, ['a', 'b']);
  for (const name of ['a', 'b', 'c', 'x', 'd']) {
    end(name);
    await settled();
  }
  assert.equal(begun, ['a', 'b', 'c', 'x', 'd', 'y', 'e']);
});

test('an aborted request rejects at once and takes no turn', async () => {
  const turns = new Turns(1);
  const { begun, work, end } = works();
  const leaving = new AbortController();
  void turns.run({}, undefined, work('a'));
  const left = turns.run({}, leaving.signal, work('b')).catch((error) => error);
  void turns.run({}, undefined, work('c'));
  const reason = new Error('gone');
  leaving.abort(reason);
  assert.is(await left, reason);
  assert.is(await turns.run({}, leaving.signal, work('d')).catch((error) => error), reason);
  end('a');
  await settled();
  assert.equal(begun, ['a', 'c']);
});

test('work that fails gives its place back', async () => {
  const turns = new Turns(1);
  const failure = new Error('broken');
  const fail = () => Promise.reject(failure);
  const both = [turns.run({}, undefined, fail), turns.run({}, undefined, fail)];
  for (const each of both) assert.is(await each.catch((error) => error), failure);
  assert.is(await turns.run({}, undefined, async () => 1), 1);
});

test.run();
