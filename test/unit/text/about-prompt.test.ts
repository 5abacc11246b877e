import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { aboutPrompt } from '../../../ts/api/shared/text/submit-completions.js';
import { ChasquiError } from '../../../ts/errors.js';

const test = suite('unit: errors about the prompt of a completion');

const paramOf = (error: ChasquiError) => (aboutPrompt(error) as ChasquiError).param;

test('an error of the engine that is about the prompt names it', () => {
  for (const code of ['context_length_exceeded', 'invalid_job', 'prompt_refused'] as const) {
    assert.is(paramOf(new ChasquiError(code, 'x')), 'prompt');
  }
});

test('other errors stay as they are', () => {
  assert.is(paramOf(new ChasquiError('engine_closed', 'x')), null);
  assert.is(paramOf(new ChasquiError('invalid_job', 'x', 'prompt[3]')), 'prompt[3]');
  const other = new TypeError('x');
  assert.is(aboutPrompt(other), other);
});

test.run();
