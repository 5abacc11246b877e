import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { TextInputs } from '../../../ts/api/shared/text/text-schema.js';
import { toInputs } from '../../../ts/api/shared/text/to-inputs.js';
import { ChasquiError } from '../../../ts/errors.js';

const test = suite('text: to-inputs');

function refused(field: unknown, most = 4): ChasquiError {
  try {
    toInputs(field as TextInputs, 'input', most);
  } catch (error) {
    assert.instance(error, ChasquiError);
    return error as ChasquiError;
  }
  throw new Error('nothing was refused');
}

test('a text, texts, tokens and lists of tokens', () => {
  assert.equal(toInputs('a', 'input', 4).inputs, ['a']);
  assert.equal(toInputs(['a', 'b'], 'input', 4).inputs, ['a', 'b']);
  assert.equal(toInputs([1, 2, 3], 'input', 4).inputs, [[1, 2, 3]]);
  assert.equal(toInputs([[1], [2, 3]], 'input', 4).inputs, [[1], [2, 3]]);
  assert.equal(toInputs(['a', [2, 3]], 'input', 4).inputs, ['a', [2, 3]]);
});

test('only what was a list has places', () => {
  assert.is(toInputs('a', 'input', 4).nameOf(0), 'input');
  assert.is(toInputs([7, 8], 'prompt', 4).nameOf(0), 'prompt');
  assert.is(toInputs(['a', 'b'], 'input', 4).nameOf(1), 'input[1]');
});

test('single tokens among texts or lists are refused, and the odd one named', () => {
  const error = refused([[1], 'b', 2]);
  assert.is(error.code, 'invalid_type');
  assert.is(error.param, 'input[2]');
  assert.match(error.message, /must be a string or an array of tokens like those before it/);
  assert.is(refused([1, 2, [3]]).param, 'input[2]');
  assert.match(refused([1, 'a']).message, /must be a token like those before it/);
});

test('tokens may be many, texts may not', () => {
  assert.is(toInputs([1, 2, 3, 4, 5], 'input', 4).inputs.length, 1);
  assert.is(refused(['a', 'b', 'c', 'd', 'e']).code, 'invalid_value');
});

test.run();
