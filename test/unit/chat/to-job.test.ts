import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { ChatCompletionRequest } from '../../../ts/api/shared/chat/chat-schema.js';
import { toJob } from '../../../ts/api/shared/chat/to-job.js';
import { SAMPLER_LETTERS, SAMPLERS } from '../../../ts/options/sampling-table.js';
import { runtime } from '../../../ts/profiles/runtime.js';
import { FAKE_TAGS, plainPrompt } from '../../support/fake-engine.js';

const test = suite('unit: request → job');

function jobOf(body: Partial<ChatCompletionRequest>, additionalStops: string[] = []) {
  return toJob({ model: 'm', messages: [], ...body }, { ...plainPrompt('p'), additionalStops }, runtime);
}

const samplingOf = (body: Partial<ChatCompletionRequest>) => jobOf(body).sampling;

test('what is left open comes from the profile', () => {
  assert.equal(samplingOf({}), runtime.sampling);
  assert.equal(samplingOf({ temperature: 0, top_k: 0 }), { ...runtime.sampling, temperature: 0, topK: 0 });
});

test('max_completion_tokens wins over max_tokens', () => {
  assert.is(jobOf({ max_tokens: 5 }).maxTokens, 5);
  assert.is(jobOf({ max_completion_tokens: 6 }).maxTokens, 6);
  assert.is(jobOf({ max_tokens: 5, max_completion_tokens: 6 }).maxTokens, 6);
  assert.is(jobOf({}).maxTokens, null);
});

test('a request may lower its priority, and raise it as far as the server allows', () => {
  const priorityOf = (priority: number, maxPriority: number) =>
    toJob({ model: 'm', messages: [], priority }, plainPrompt('p'), { ...runtime, maxPriority }).priority;
  assert.is(jobOf({}).priority, 0);
  assert.is(priorityOf(100, 0), 0);
  assert.is(priorityOf(-100, 0), -100);
  assert.is(priorityOf(3, 5), 3);
  assert.is(priorityOf(7, 5), 5);
});

test('a budget of reasoning: the first name that says one, and -1 as the server does', () => {
  const budgetOf = (body: Partial<ChatCompletionRequest>) => jobOf(body).reasoningBudget;
  assert.is(budgetOf({}), null);
  assert.is(budgetOf({ reasoning_budget_tokens: 0 }), 0);
  assert.is(budgetOf({ thinking_budget_tokens: 5 }), 5);
  assert.is(budgetOf({ thinking_budget_tokens: 5, reasoning_budget_tokens: 6 }), 6);
  assert.is(budgetOf({ thinking_budget_tokens: 5, reasoning_budget_tokens: -1 }), 5);
  assert.is(budgetOf({ reasoning_budget_tokens: 2 ** 40 }), 2 ** 31 - 1);
  assert.is(jobOf({}).reasoningMessage, null);
  assert.is(jobOf({ reasoning_budget_message: '' }).reasoningMessage, '');
});

test('reasoning is not limited within a grammar that has no place for its end', () => {
  const tagsOf = (grammar?: string) =>
    toJob(
      { model: 'm', messages: [], ...(grammar && { grammar }) },
      { ...plainPrompt('p'), reasoning: FAKE_TAGS },
      runtime,
    ).reasoning;
  assert.equal(tagsOf(), FAKE_TAGS);
  assert.equal(tagsOf('root ::= [a-z]* "</think>" [0-9]'), FAKE_TAGS);
  assert.is(tagsOf('root ::= "\\"" [^"]* "\\""'), null);
});

test('stop strings: one or several, and those of the template apart from them', () => {
  assert.equal(jobOf({ stop: 'a' }).stop, ['a']);
  const both = jobOf({ stop: ['a', 'b'] }, ['<end>']);
  assert.equal([both.stop, both.formatStops], [['a', 'b'], ['<end>']]);
  assert.equal(jobOf({}, ['<end>']).stop, []);
});

test('log-probabilities: none, the token’s own, alternatives', () => {
  assert.is(jobOf({}).topLogprobs, null);
  assert.is(jobOf({ logprobs: false, top_logprobs: 0 }).topLogprobs, null);
  assert.is(jobOf({ logprobs: true }).topLogprobs, 0);
  assert.is(jobOf({ logprobs: true, top_logprobs: 5 }).topLogprobs, 5);
});

test('both words for the penalty mean the same', () => {
  assert.is(samplingOf({ repetition_penalty: 1.3 }).repeatPenalty, 1.3);
  assert.is(samplingOf({ repeat_penalty: 1.4 }).repeatPenalty, 1.4);
});

test('llama.cpp’s samplers go by their names there', () => {
  assert.equal(samplingOf({ samplers: ['top_k', 'typical_p', 'typ_p'] }).samplers, ['top_k', 'typ_p', 'typ_p']);
  assert.equal(samplingOf({ samplers: Object.values(SAMPLER_LETTERS).join('') }).samplers, SAMPLERS);
  assert.equal(samplingOf({ dry_sequence_breakers: [] }).drySequenceBreakers, []);
  assert.is(samplingOf({ dry_base: 0.5 }).dryBase, 1.75);
  assert.equal(
    samplingOf({
      top_n_sigma: -1e300,
      adaptive_target: -1e300,
      dynatemp_range: 1e300,
      dry_multiplier: -1e300,
      dry_penalty_last_n: 1e300,
    }),
    { ...runtime.sampling, topNSigma: -1, dynatempRange: 1e6, dryMultiplier: -1e6, dryPenaltyLastN: 2 ** 31 - 1 },
  );
});

test('the options of the model go before the profile, and the request before both', () => {
  const model = { sampling: { temperature: 0.3, topK: 7, mirostat: 2 } };
  const body = { model: 'm', messages: [], top_k: 9 };
  assert.equal(toJob(body, plainPrompt('p'), runtime, model).sampling, {
    ...runtime.sampling,
    temperature: 0.3,
    topK: 9,
    mirostat: 2,
  });
});

test('extreme values stay within what a float can hold', () => {
  const { temperature, repeatPenalty, presencePenalty, frequencyPenalty, topK, logitBias } = samplingOf({
    temperature: 1e300,
    repetition_penalty: 1e-300,
    presence_penalty: -1e300,
    frequency_penalty: 1e300,
    top_k: 1e300,
    logit_bias: { 3: -1e300 },
  });
  assert.equal([temperature, repeatPenalty, presencePenalty, frequencyPenalty], [1e6, 1e-6, -1e6, 1e6]);
  assert.is(topK, 2 ** 31 - 1);
  assert.equal(logitBias, { 3: -1e6 });
  assert.is(samplingOf({ temperature: 1e-300 }).temperature, 0);
  assert.is(jobOf({ max_tokens: 1e300 }).maxTokens, 2 ** 31 - 1);
});

test('a seed of any size becomes 32 bits, and one of 32 bits stays', () => {
  const fold = (seed: number) => samplingOf({ seed }).seed;
  assert.equal([0, 42, 2 ** 32 - 2].map(fold), [0, 42, 2 ** 32 - 2]);
  assert.is(fold(2 ** 40 + 7), 256 ^ 7);
  assert.is(fold(-1), null, 'which is how other servers are told to draw one');
  assert.is(fold(2 ** 32 - 1), null, 'which is how clients of llama.cpp tell them');
  for (const seed of [-2, -5, -(2 ** 63), 2 ** 64, Number.MAX_SAFE_INTEGER]) {
    const folded = fold(seed) as number;
    assert.ok(Number.isInteger(folded) && folded >= 0 && folded < 2 ** 32, `${seed} became ${folded}`);
  }
  assert.is.not(fold(2 ** 40), fold(2 ** 41));
});

test.run();
