import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { parametersOf } from '../../../ts/api/shared/chat/chat-schema.js';
import { nearestParameter, pickSupported } from '../../../ts/http/read-fields.js';
import { runtime } from '../../../ts/profiles/runtime.js';

const test = suite('unit: supported fields');

test('keeps what is supported, drops nulls, names the rest in order', () => {
  const sent = { zeta: 1, model: 'm', temperature: null, alpha: false, seed: 0, beta: null };
  assert.equal(pickSupported(sent, parametersOf(runtime)), {
    body: { model: 'm', seed: 0 },
    ignored: ['zeta', 'alpha'],
  });
});

test('names that every object has are not taken for parameters', () => {
  const sent = { constructor: 1, toString: 2, hasOwnProperty: 3 };
  assert.equal(pickSupported(sent, parametersOf(runtime)).ignored, ['constructor', 'toString', 'hasOwnProperty']);
});

const NEAR: [name: string, nearest: string | null][] = [
  ['constructor', null],
  ['toString', null],
  ['temprature', 'temperature'],
  ['Temperature', 'temperature'],
  ['maxTokens', 'max_tokens'],
  ['max_token', 'max_tokens'],
  ['topk', 'top_k'],
  ['repeat_penalty', 'repetition_penalty'],
  ['n_predict', 'max_tokens'],
  ['user', null],
  ['store', null],
  ['constructor', null],
  ['toString', null],
  ['x'.repeat(1_000_000), null],
];

for (const [name, nearest] of NEAR) {
  test(`${name.slice(0, 20)} is near ${nearest}`, () => {
    assert.is(nearestParameter(name, parametersOf(runtime)), nearest);
  });
}

test.run();
