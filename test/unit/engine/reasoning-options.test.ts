import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { completeJob, grammarOf, reasoningLimitOf, reasoningLimits } from '../../../ts/engine/job.js';
import { FAKE_TAGS } from '../../support/fake-engine.js';

const test = suite('unit: how long a model may reason');

const limitOf = (job: object, options: object = {}) =>
  reasoningLimitOf(completeJob({ prompt: 'p', reasoning: FAKE_TAGS, ...job }), reasoningLimits(options));

test('a job goes before the options, and without either there is no limit', () => {
  const options = { reasoningBudget: 20, reasoningBudgetMessage: 'Enough.' };
  assert.is(limitOf({}), null);
  assert.is(limitOf({}, { reasoningBudget: -1 }), null);
  // The engine follows reasoning for stop strings.
  assert.equal(limitOf({ stop: ['a'] }), { ...FAKE_TAGS, maxTokens: 2 ** 31 - 1, message: '' });
  assert.equal(limitOf({}, options), { ...FAKE_TAGS, maxTokens: 20, message: 'Enough.' });
  assert.equal(limitOf({ reasoningBudget: 0 }, options), { ...FAKE_TAGS, maxTokens: 0, message: 'Enough.' });
  assert.equal(limitOf({ reasoningBudget: 3, reasoningMessage: '' }, options), {
    ...FAKE_TAGS,
    maxTokens: 3,
    message: '',
  });
});

test('reasoning before a forced call leaves it half of the tokens', () => {
  const grammar = { ...grammarOf('root ::= "a"'), calls: true };
  const most = (job: object, options: object = {}) => limitOf({ grammar, maxTokens: 101, ...job }, options)?.maxTokens;
  assert.is(most({}), 50);
  assert.is(most({ stop: ['a'] }), 50);
  assert.is(most({}, { reasoningBudget: 20 }), 20);
  assert.is(most({}, { reasoningBudget: 80 }), 50);
  assert.is(most({ reasoningBudget: 80 }), 80);
  assert.is(most({ maxTokens: null }), undefined);
  assert.is(most({ grammar: { ...grammar, lazy: true } }), undefined, 'not forced');
  assert.is(most({ grammar: { ...grammar, calls: false } }), undefined, 'no call');
});

test('where reasoning cannot be told from the rest there is none either', () => {
  assert.is(limitOf({ reasoning: null }, { reasoningBudget: 20 }), null);
});

test('a message ends before a closing tag that it has itself, as models’ pages recommend it', () => {
  const tags = { ...FAKE_TAGS, ends: ['\n</think>', '</thought>'] };
  const messageOf = (message: string) =>
    limitOf({ reasoning: tags, reasoningBudget: 1, reasoningMessage: message })?.message;
  assert.is(messageOf('I have to answer now.\n</think>\n\n'), 'I have to answer now.\n');
  assert.is(messageOf('a</thought>b</think>c'), 'a');
  assert.is(messageOf('</think>'), '');
  assert.is(messageOf('a <think> b'), 'a <think> b');
});

test('a message that is too long is refused before the model is loaded', () => {
  const long = () => reasoningLimits({ reasoningBudgetMessage: 'x'.repeat(2001) });
  assert.throws(long, /`reasoningBudgetMessage` has 2001 characters/);
});

test.run();
