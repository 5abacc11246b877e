import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Counter, Histogram, SeriesByLabels } from '../../../ts/metrics/registry.js';

const test = suite('unit: counters and histograms');

test('a bucket counts what is not above its bound, and all below it', () => {
  const histogram = new Histogram([1, 2, 5]);
  for (const value of [0, 1, 1.5, 2, 4, 5.1, 1000]) histogram.observe(value);
  const samples = histogram.samples({ a: 'b' });
  assert.equal(
    samples.map(({ suffix, labels, value }) => [suffix, labels.le, value]),
    [
      ['_bucket', '1', 2],
      ['_bucket', '2', 4],
      ['_bucket', '5', 5],
      ['_bucket', '+Inf', 7],
      ['_sum', undefined, 1013.6],
      ['_count', undefined, 7],
    ],
  );
  assert.ok(samples.every(({ labels }) => labels.a === 'b'));
});

test('the same labels are the same series', () => {
  const families = new SeriesByLabels(['x', 'y'], () => new Counter());
  families.with('1', '2').add();
  families.with('1', '2').add(2);
  families.with('12', '').add(5);
  assert.equal(families.samples(), [
    { labels: { x: '1', y: '2' }, value: 3 },
    { labels: { x: '12', y: '' }, value: 5 },
  ]);
});

test('labels that somebody fills at will come together in one series', () => {
  const families = new SeriesByLabels(['name'], () => new Counter(), 10);
  for (let i = 0; i < 1000; i++) families.with(`model-${i}`).add();
  const samples = families.samples();
  assert.is(samples.length, 11);
  assert.equal(samples.at(-1), { labels: { name: 'other' }, value: 990 });
  families.with('model-3').add();
  assert.equal(families.samples()[3], { labels: { name: 'model-3' }, value: 2 });
});

test('a long label is cut, and what is cut alike is one series', () => {
  const families = new SeriesByLabels(['name'], () => new Counter());
  families.with(`${'x'.repeat(1000)}1`).add();
  families.with(`${'x'.repeat(1000)}2`).add();
  assert.equal(families.samples(), [{ labels: { name: 'x'.repeat(200) }, value: 2 }]);
});

test.run();
