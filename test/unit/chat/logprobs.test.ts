import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { toLogprobEntry } from '../../../ts/api/shared/completion/logprobs.js';
import type { Finish, Token } from '../../../ts/engine/engine.js';
import { finishOf } from '../../support/fake-engine.js';

const test = suite('unit: log-probabilities');

const logprobs = { id: 7, bytes: Uint8Array.from([120]), logprob: -2, top: [] };
const entry = { token: 'x', logprob: -2, bytes: [120], top_logprobs: [] };

function entryAt(finish: Finish): ReturnType<typeof toLogprobEntry> {
  const token: Token = { id: 7, text: 'x', logprobs, finish };
  return toLogprobEntry(token);
}

test('none where none were asked for', () => {
  assert.is(toLogprobEntry({ id: 7, text: 'x' }), null);
});

test('the end-of-generation token has none', () => {
  assert.is(entryAt(finishOf(1, 1)), null);
});

test('a last token that is part of the text has its own', () => {
  assert.equal(entryAt(finishOf(1, 1, { reason: 'length' })), entry);
  assert.equal(entryAt(finishOf(1, 1, { stopString: 'x' })), entry);
});

test('an impossible token is a number in JSON too', () => {
  const token: Token = { id: 7, text: 'x', logprobs: { ...logprobs, logprob: Number.NEGATIVE_INFINITY } };
  assert.is(toLogprobEntry(token)?.logprob, -9999);
});

test.run();
