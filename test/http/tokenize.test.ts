import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { grammarOf } from '../../ts/engine/job.js';
import { testApp } from '../support/build-app.js';
import { expectError } from '../support/expect-error.js';

const test = suite('http: tokenizing, templates and what a model is');

test('a text’s tokens, and with what they spell', async () => {
  const { send } = testApp();
  assert.equal((await send('/tokenize', { content: 'hé' })).json(), { tokens: [104, 195, 169] });
  assert.equal((await send('/tokenize', { content: 'hé', with_pieces: true })).json(), {
    tokens: [
      { id: 104, piece: 'h' },
      { id: 195, piece: [195] },
      { id: 169, piece: [169] },
    ],
  });
});

test('the names that vLLM has for the fields', async () => {
  const { send, engine } = testApp();
  const added: unknown[] = [];
  engine.tokenize = async (text, options: object = {}) => {
    added.push('addSpecial' in options && options.addSpecial);
    return Int32Array.from(Buffer.from(text));
  };
  const expected = { tokens: [104], count: 1, max_model_len: engine.model.contextLength };
  assert.equal((await send('/tokenize', { prompt: 'h' })).json(), expected);
  assert.equal((await send('/tokenize', { prompt: 'h', add_special_tokens: false })).json(), expected);
  assert.equal(added, [true, false]);
  expectError(await send('/tokenize', {}), { status: 400, code: 'missing_required_parameter', param: 'content' });
});

test('the tokenizer of a model whose file was deleted', async () => {
  const { app } = testApp();
  const reply = await app.inject({ method: 'GET', url: '/tokenizer_info' });
  expectError(reply, {
    status: 404,
    code: 'model_file_missing',
    param: 'model',
    type: 'not_found_error',
    says: /ENOENT/,
  });
});

test('tokens’ text', async () => {
  const { send } = testApp();
  assert.equal((await send('/detokenize', { tokens: [104, 195, 169] })).json(), { content: 'hé', prompt: 'hé' });
  assert.equal((await send('/detokenize', { tokens: [] })).json(), { content: '', prompt: '' });
  expectError(await send('/detokenize', { tokens: [104, 256] }), {
    status: 400,
    code: 'invalid_value',
    param: 'tokens[1]',
    says: /from 0 to 255/,
  });
});

test('a conversation as the model reads it, the model named or not', async () => {
  const { send } = testApp();
  const messages = [{ role: 'user', content: 'Hi' }];
  for (const model of [undefined, 'fake']) {
    assert.equal((await send('/apply-template', { model, messages })).json(), { prompt: '<user>Hi' });
  }
  expectError(await send('/apply-template', { messages: [] }), {
    status: 400,
    code: 'invalid_value',
    param: 'messages',
  });
});

test('the end of the prompt is left out where the template tells what it is', async () => {
  const messages = [{ role: 'user', content: 'Hi' }];
  const body = { model: 'fake', messages, add_generation_prompt: false };
  const ends = (prompt: string, prefill: string) =>
    testApp({ renderWith: () => ({ prompt, grammar: { ...grammarOf('root ::= "a"'), prefill } }) });
  const told = ends('<user>Hi<bot>', '<bot>');
  assert.equal((await told.send('/apply-template', body)).json(), { prompt: '<user>Hi' });
  assert.equal((await told.send('/apply-template', { model: 'fake', messages })).json(), { prompt: '<user>Hi<bot>' });
  const refused = { status: 400, code: 'unsupported_parameter', param: 'add_generation_prompt' };
  for (const prefill of ['', '<other>']) {
    expectError(await ends('<user>Hi<bot>', prefill).send('/apply-template', body), refused);
  }
  expectError(await told.send('/v1/chat/completions', body), refused);
});

test('another model than the one that is served is not found', async () => {
  const { send } = testApp();
  for (const [url, fields] of [
    ['/tokenize', { content: 'a' }],
    ['/detokenize', { tokens: [] }],
    ['/apply-template', { messages: [{ role: 'user', content: 'Hi' }] }],
  ] as const) {
    const reply = await send(url, { model: 'other', ...fields });
    expectError(reply, { status: 404, type: 'not_found_error', code: 'model_not_found', param: 'model' });
  }
});

test('only POST', async () => {
  const { app } = testApp();
  for (const url of [
    '/v1/completions',
    '/v1/embeddings',
    '/v1/rerank',
    '/tokenize',
    '/detokenize',
    '/apply-template',
  ]) {
    const reply = await app.inject({ method: 'GET', url });
    expectError(reply, { status: 405, code: 'method_not_allowed' });
    assert.is(reply.headers.allow, 'POST');
  }
});

test('a path without /v1 is told the right one', async () => {
  const { app } = testApp();
  for (const path of ['conversations', 'files', 'messages']) {
    const reply = await app.inject({ method: 'POST', url: `/${path}`, payload: '{}' });
    expectError(reply, { status: 404, type: 'not_found_error', code: 'unknown_url', says: new RegExp(`/v1/${path}`) });
  }
});

test('an entry of the models says what can be asked of it', async () => {
  const entry = async (model: object) => (await testApp({ model }).app.inject('/v1/models/fake')).json();
  const { created, ...generating } = await entry({});
  assert.ok(created > 0);
  assert.equal(generating, {
    id: 'fake',
    object: 'model',
    owned_by: 'chasqui',
    status: { value: 'loaded' },
    context_length: 4096,
    input_modalities: ['text'],
    output_modalities: ['text'],
    capabilities: ['completion', 'chat', 'infill', 'embeddings'],
    quantization: 'F16',
    size: 0,
    meta: {
      vocab_type: 2,
      n_vocab: 256,
      n_ctx: 4096,
      n_ctx_train: 4096,
      n_embd: 2,
      n_params: 0,
      size: 0,
      ftype: 'F16',
      pooling: 'mean',
    },
  });
  const ranking = await entry({ generates: false, infills: false, pooling: 'rank' });
  assert.equal(ranking.capabilities, ['rerank']);
  assert.equal(ranking.output_modalities, ['scores']);
  assert.is(ranking.context_length, 16);
});

test.run();
