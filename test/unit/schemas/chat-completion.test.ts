import { Ajv } from 'ajv';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { chatCompletionSchema, MAX_LOGIT_BIASES, parametersOf } from '../../../ts/api/shared/chat/chat-schema.js';
import { runtime } from '../../../ts/profiles/runtime.js';

const test = suite('unit: the chat request’s schema');

interface Schema {
  properties: Record<string, unknown>;
}

test('it has what the mode supports, and nothing else', () => {
  const { properties } = chatCompletionSchema(['model', 'messages', 'repeat_penalty']) as Schema;
  assert.equal(Object.keys(properties), ['model', 'messages', 'repeat_penalty']);
});

test('every parameter of the runtime mode has a schema', () => {
  const { properties } = chatCompletionSchema(parametersOf(runtime)) as Schema;
  for (const name of parametersOf(runtime)) assert.type(properties[name], 'object', name);
});

test('the runtime mode supports the fields of the specification that are its own', () => {
  const specified = ['model', 'messages', 'stream', 'temperature', 'top_p', 'top_k', 'max_tokens'];
  for (const name of [...specified, 'repetition_penalty', 'min_p', 'stop', 'seed']) {
    assert.ok((parametersOf(runtime) as readonly string[]).includes(name), name);
  }
  assert.not.ok(parametersOf(runtime).includes('repeat_penalty'));
});

test('a token has one name in logit_bias, and there is a limit to them', () => {
  const accepts = new Ajv().compile({ ...chatCompletionSchema(['logit_bias']), required: [] });
  for (const name of ['0', '1', '10', '151935', '999999999']) assert.ok(accepts({ logit_bias: { [name]: 1 } }), name);
  for (const name of ['01', '001', '00', '-1', '1.0', '1e3', ' 1', '', '1000000000']) {
    assert.not.ok(accepts({ logit_bias: { [name]: 1 } }), name);
  }
  const biases = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, token) => [token, -100]));
  assert.ok(accepts({ logit_bias: biases(MAX_LOGIT_BIASES) }));
  assert.not.ok(accepts({ logit_bias: biases(MAX_LOGIT_BIASES + 1) }));
});

test.run();
