import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Rate } from '../../../ts/cli/bench/repeat.js';
import { describeModel, legend, rowLine } from '../../../ts/cli/bench/report.js';
import { FakeEngine } from '../../support/fake-engine.js';

const test = suite('cli: report of bench');

const LENGTHS = { promptTokens: 512, newTokens: 128 };
const rate = (...samplesMs: number[]): Rate => ({ tokens: 100, mean: 50, deviation: 0.5, samplesMs });
const row = (each: Rate) => rowLine({ streams: 1, depth: 0, prompt: each, decode: each, firstTokenMs: 20 });

test('a size that llama.cpp does not know is omitted', () => {
  const describe = (description: string) => describeModel({ ...new FakeEngine().model, description });
  assert.match(describe('llama ?B F16'), ': llama F16, ');
  assert.match(describe('llama 8B Q4_K - Medium'), ': llama 8B Q4_K - Medium, ');
});

test('the deviation of a single run is omitted', () => {
  assert.not.match(row(rate(2000)), '±');
  assert.not.match(legend(LENGTHS, 1), /±|deviation/);
});

test('the deviation of several runs is printed and explained, within 80 columns', () => {
  assert.is(row(rate(2000, 2010)).match(/50\.00 ± 0\.50/g)?.length, 2);
  assert.match(legend(LENGTHS, 5), /± is the standard deviation of up to\s5 runs\./);
  assert.ok(
    legend(LENGTHS, 5)
      .split('\n')
      .every((line) => line.length <= 80),
  );
});

test.run();
