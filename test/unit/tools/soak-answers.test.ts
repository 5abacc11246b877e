import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  type Answer,
  type Choice,
  marginOf,
  moreProbable,
  partingOf,
  readAnswer,
  sameAnswer,
} from '../../../bench/soak/answers.js';
import { askIdle } from '../../../bench/soak/idle.js';
import type { ChatRequest } from '../../../bench/soak/requests.js';

const test = suite('unit: answers of the soak');

const request: ChatRequest = { messages: [], max_tokens: 50, temperature: 0 };

/** A token and alternatives with the given margins; a negative margin means less probable. */
function choice(bytes: string, others: Record<string, number> = { '?': -1 }): Choice {
  const all = [[bytes, 0] as const, ...Object.entries(others)];
  const top = all.map(([each, lead]) => ({ bytes: each, logprob: -5 + lead })).sort((a, b) => b.logprob - a.logprob);
  return { bytes, logprob: -5, top };
}

function answer(tokens: Choice[], rest: Partial<Answer> = {}): Answer {
  const text = tokens.map(({ bytes }) => bytes).join('');
  return { text, finishReason: 'stop', promptTokens: 3, completionTokens: tokens.length + 1, tokens, ...rest };
}

const near = (actual: number, expected: number) => assert.ok(Math.abs(actual - expected) < 1e-9, `${actual}`);

test('the lead is over the best token behind; the end, where it is forbidden, is ahead', () => {
  const token = choice('a', { '<end>': 2.7, b: -0.4, c: -1 });
  near(marginOf(token), 0.4);
  assert.equal(
    moreProbable(token).map(({ bytes }) => bytes),
    ['<end>'],
  );
  assert.equal(moreProbable(choice('a')), []);
});

test('where nothing is behind, nobody knows the lead', () => {
  assert.ok(Number.isNaN(marginOf(choice('a', { '<end>': 2.7 }))));
});

test('answers with the same text of other tokens are not the same, and part at the token', () => {
  const known = answer([choice('a'), choice('bc', { b: -3 }), choice('d', { e: -0.01 })]);
  const other = answer([choice('a'), choice('b'), choice('cd')]);
  assert.is(known.text, other.text);
  assert.not.ok(sameAnswer(known, other));
  const { index, margin } = partingOf(known, other);
  assert.is(index, 1);
  near(margin, 3);
});

test('the lead is over the token that the other chose, not over a better one', () => {
  const known = answer([choice('a', { b: -0.01, c: -2 })]);
  near(partingOf(known, answer([choice('c')])).margin, 2);
  near(partingOf(known, answer([choice('unheard of')])).margin, 2);
});

test('without tokens the texts part where their bytes do', () => {
  const known = answer([choice('\xc3'), choice('\xa9', { '\xa8': -0.1 }), choice('x', { y: -4 })], { text: 'éx' });
  const parting = (text: string) => partingOf(known, answer([], { text }));
  assert.is(parting('èx').index, 1);
  near(parting('èx').margin, 0.1);
  near(parting('éy').margin, 4);
});

test('a text that goes on where the known one ended: the end was ahead by what the idle server said', () => {
  const known = answer([choice('a', { b: -0.01 })]);
  const other = answer([choice('a'), choice('b')]);
  assert.ok(Number.isNaN(partingOf(known, other).margin));
  assert.equal(partingOf({ ...known, endMargin: 1.5 }, other), { index: 1, margin: 1.5 });
});

test('equal texts whose counts differ part nowhere', () => {
  const known = answer([choice('a', { b: -0.01 })]);
  assert.ok(Number.isNaN(partingOf(known, answer([choice('a')], { promptTokens: 4 })).margin));
});

test('the idle server is asked what would have come instead of the end', async () => {
  const asked: ChatRequest[] = [];
  const idle = await askIdle(
    async (each) => {
      asked.push(each);
      if (!each.ignore_eos) return answer([choice('a')]);
      return answer([choice('a'), choice('b', { '<end>': 2.5, c: -1 })], { finishReason: 'length' });
    },
    { ...request, stop: ['z'] },
  );
  near(idle.endMargin ?? 0, 2.5);
  assert.equal(asked.at(-1), { ...request, ignore_eos: true, max_tokens: 2 });
});

test('tokens that do not make up the text are refused', async () => {
  const ask = async () => answer([choice('a')], { text: 'b', finishReason: 'length' });
  let message = '';
  await askIdle(ask, request).catch((error: Error) => {
    message = error.message;
  });
  assert.match(message, /do not make up the text/);
});

test('a reply is read with the bytes of its tokens', () => {
  const top = [
    { token: '\ufffd', logprob: -0.1, bytes: [195] },
    { token: 'b', logprob: -2, bytes: [98] },
  ];
  const content = [{ token: '\ufffd', logprob: -0.1, bytes: [195], top_logprobs: top }];
  const choices = [{ message: { content: 'é' }, logprobs: { content }, finish_reason: 'length' }];
  const text = JSON.stringify({ choices, usage: { prompt_tokens: 1, completion_tokens: 2 } });
  const read = readAnswer({ status: 200, contentType: 'application/json', text, dropped: false });
  assert.is(read.tokens[0]?.bytes, '\xc3');
  near(marginOf(read.tokens[0] as Choice), 1.9);
});

test.run();
