import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Family, toExposition } from '../../../ts/metrics/exposition.js';
import { Exposition } from '../../support/read-metrics.js';

const test = suite('unit: metrics as text');

const family = (samples: Family['samples'], help = 'Help.'): Family => ({ name: 'a_b', kind: 'gauge', help, samples });

test('a family has its help, its type and its samples, in this order', () => {
  const samples = [
    { labels: {}, value: 1 },
    { labels: { x: '1', y: '2' }, value: 0.5 },
  ];
  assert.is(toExposition([family(samples)]), '# HELP a_b Help.\n# TYPE a_b gauge\na_b 1\na_b{x="1",y="2"} 0.5\n');
});

test('a family without samples is left out', () => {
  assert.is(toExposition([family([])]), '');
});

test('labels and help texts are escaped', () => {
  const odd = 'a "model"\\of\nmine, x="1"} 7\\n';
  const text = toExposition([family([{ labels: { name: odd }, value: 1 }], 'One\nline \\ two')]);
  assert.is(text.split('\n').length, 4);
  assert.match(text, '# HELP a_b One\\nline \\\\ two\n');
  assert.is(new Exposition(text).families.get('a_b')?.samples[0]?.labels.name, odd);
});

test('numbers', () => {
  const numbers = [0, 1e21, 1.5e-7, 123456789012345, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NaN];
  const text = toExposition([family(numbers.map((value, at) => ({ labels: { at: String(at) }, value })))]);
  const shown = [...text.matchAll(/\} (\S+)$/gm)].map(([, number]) => number);
  assert.equal(shown, ['0', '1e+21', '1.5e-7', '123456789012345', '+Inf', '-Inf', 'NaN']);
});

test.run();
