// Drafts must not change the distribution of sampled tokens.
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type GenerateRequest, grammarOf, loadModel, type Model } from '../../ts/index.js';
import { answer } from '../support/answer.js';
import { demoModelPath } from '../support/demo-model.js';

const COUNT = 600;
/**
 * Bound for the difference of two shares, in standard deviations. The probability of exceeding it by chance is below
 * 10^-8.
 */
const SIGMAS = 6;

const WORDS = 'one two three four five six seven eight nine ten ';
const request = { prompt: WORDS.repeat(3).trimEnd(), maxTokens: 5, ignoreEos: true, temperature: 2, topK: 2 };

const SETTINGS: [name: string, more: Partial<GenerateRequest>][] = [
  ['the most probable two of each place', {}],
  ['penalties', { repeatPenalty: 1.1, frequencyPenalty: -0.2 }],
  ['mirostat', { topK: 0, mirostat: 2, mirostatTau: 4, mirostatEta: 0.5 }],
  ['adaptive_p', { topK: 3, samplers: ['top_k', 'adaptive_p'], adaptiveTarget: 0.3, adaptiveDecay: 0.5 }],
  ['a chain of samplers', { topK: 3, xtcProbability: 0.5, xtcThreshold: 0.1, dynatempRange: 1 }],
  ['a bias', { logitBias: { 1: 2 } }],
  ['a grammar', { grammar: grammarOf('root ::= [a-z ]+') }],
  ['text that a grammar determines', { grammar: grammarOf('root ::= " " [a-z] "ne" [a-z ]+') }],
];

let plain: Model;
let drafting: Model;
test.before(async () => {
  const options = { contextSize: 512, parallel: 2, threads: 1 };
  plain = await loadModel(demoModelPath, { ...options, draftMax: 0 });
  drafting = await loadModel(demoModelPath, { ...options, draftMax: 16, draftMin: 2 });
});
test.after(async () => {
  await plain.close();
  await drafting.close();
});

/** How often each completion came, and how many drafted tokens were right and wrong. */
async function draw(model: Model, more: Partial<GenerateRequest>) {
  const counts = new Map<string, number>();
  let accepted = 0;
  let rejected = 0;
  const one = async () => {
    const { ids, finish } = await answer(model, { ...request, ...more });
    counts.set(ids.join(' '), (counts.get(ids.join(' ')) ?? 0) + 1);
    accepted += finish.acceptedTokens;
    rejected += finish.draftedTokens - finish.acceptedTokens;
  };
  for (let at = 0; at < COUNT; at += 2) await Promise.all([one(), one()]);
  return { counts, accepted, rejected };
}

for (const [name, more] of SETTINGS) {
  test(`drawn with drafts each completion comes as often as without: ${name}`, async () => {
    const without = await draw(plain, more);
    const drafted = await draw(drafting, more);
    assert.is(without.accepted + without.rejected, 0);
    assert.ok(drafted.accepted > 0 && drafted.rejected > 0, `${drafted.accepted} right, ${drafted.rejected} wrong`);
    assert.ok(without.counts.size > 1, 'more than one completion');
    for (const completion of new Set([...without.counts.keys(), ...drafted.counts.keys()])) {
      const counts = [without, drafted].map((each) => each.counts.get(completion) ?? 0) as [number, number];
      const share = (counts[0] + counts[1]) / (2 * COUNT);
      const allowed = SIGMAS * Math.sqrt(2 * COUNT * share * (1 - share)) + 1;
      assert.ok(Math.abs(counts[0] - counts[1]) <= allowed, `${completion}: ${counts}, of ${COUNT} each`);
    }
  });
}

test.run();
