import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { runtime } from '../../../ts/profiles/runtime.js';
import { chatCompletionSchema } from '../../../ts/schemas/chat-completion.js';

const test = suite('unit: the chat request’s schema');

interface Schema {
  properties: Record<string, unknown>;
}

test('it has what the mode supports, and nothing else', () => {
  const { properties } = chatCompletionSchema(['model', 'messages', 'repeat_penalty']) as Schema;
  assert.equal(Object.keys(properties), ['model', 'messages', 'repeat_penalty']);
});

test('every parameter of the runtime mode has a schema', () => {
  const { properties } = chatCompletionSchema(runtime.parameters) as Schema;
  for (const name of runtime.parameters) assert.type(properties[name], 'object', name);
});

test('the runtime mode supports the fields of the specification that are its own', () => {
  const specified = ['model', 'messages', 'stream', 'temperature', 'top_p', 'top_k', 'max_tokens'];
  for (const name of [...specified, 'repetition_penalty', 'min_p', 'stop', 'seed']) {
    assert.ok((runtime.parameters as readonly string[]).includes(name), name);
  }
  assert.not.ok(runtime.parameters.includes('repeat_penalty'));
});

test.run();
