import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ChasquiError } from '../../ts/errors.js';
import { closeApps, testApp } from '../support/build-app.js';

const test = suite('http: embeddings of ollama');
test.after.each(closeApps);

test('texts are embedded, and shortened where they are too long', async () => {
  const { send, engine } = testApp();
  const reply = (await send('/api/embed', { model: 'fake', input: ['ab', 'c'], options: {} })).json();
  assert.equal(
    [reply.embeddings, reply.prompt_eval_count],
    [
      [
        [2, 97],
        [1, 99],
      ],
      3,
    ],
  );
  assert.equal((await send('/api/embed', { model: 'fake', input: [] })).json().embeddings, []);
  const long = 'x'.repeat(40);
  assert.equal((await send('/api/embed', { model: 'fake', input: ['ab', long] })).json().embeddings, [
    [2, 97],
    [16, 120],
  ]);
  const refused = await send('/api/embed', { model: 'fake', input: long, truncate: false });
  assert.equal([refused.statusCode, /`input`/.test(refused.json().error)], [400, true]);
  assert.equal((await send('/api/embeddings', { model: 'fake', prompt: 'ab' })).json(), { embedding: [2, 97] });
  for (const body of [{ model: 'fake', input: '', prompt: '' }, { model: 'fake' }]) {
    assert.equal((await send('/api/embed', body)).json().embeddings, []);
    assert.equal((await send('/api/embeddings', body)).json(), { embedding: [] });
  }
  engine.embed = async () => {
    throw new ChasquiError('invalid_value', 'The text `input[0]` is odd.', 'input[0]');
  };
  assert.is((await send('/api/embeddings', { model: 'fake', prompt: 'a' })).json().error, 'The text `prompt` is odd.');
  assert.is((await send('/api/embed', { model: 'fake', input: ['a'] })).json().error, 'The text `input[0]` is odd.');
});

test.run();
