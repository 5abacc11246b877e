import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { desktop } from '../../ts/profiles/desktop.js';
import { testApp } from '../support/build-app.js';
import { type ExpectedError, expectError } from '../support/expect-error.js';
import { picture, pictureUri } from '../support/image-files.js';

const test = suite('http: embeddings and reranking');

const EMBEDDINGS = '/v1/embeddings';
const RERANK = '/v1/rerank';
const input = (fields: object) => ({ model: 'fake', ...fields });

test('a text’s vector, in the published shape and nothing else', async () => {
  const reply = await testApp().send(EMBEDDINGS, input({ input: 'abc' }));
  assert.is(reply.statusCode, 200, reply.body);
  assert.equal(reply.json(), {
    object: 'list',
    model: 'fake',
    data: [{ object: 'embedding', index: 0, embedding: [3, 97] }],
    usage: { prompt_tokens: 3, total_tokens: 3 },
  });
});

test('texts, tokens and lists of tokens', async () => {
  const { send } = testApp();
  const vectors = async (value: unknown) =>
    (await send(EMBEDDINGS, input({ input: value })))
      .json()
      .data.map(({ embedding }: { embedding: number[] }) => embedding);
  assert.equal(await vectors(['a', 'bb']), [
    [1, 97],
    [2, 98],
  ]);
  assert.equal(await vectors([7, 8, 9]), [[3, 7]]);
  assert.equal(await vectors([[7], [8, 9]]), [
    [1, 7],
    [2, 8],
  ]);
  assert.equal(await vectors([[7], 'bb']), [
    [1, 7],
    [2, 98],
  ]);
});

test('lists may mix tokens and texts, as in llama-server', async () => {
  const { send } = testApp();
  const vectors = async (url: string, body: object) =>
    (await send(url, body)).json().data.map(({ embedding }: { embedding: number[] }) => embedding);
  assert.equal(await vectors(EMBEDDINGS, input({ input: [7, 'bb', 9] })), [[4, 7]]);
  assert.equal(await vectors(EMBEDDINGS, input({ input: [[7, 8], ['bb', 9], 'a'] })), [
    [2, 7],
    [3, 98],
    [1, 97],
  ]);
});

test('base64 holds the same as 32-bit floats, little-endian', async () => {
  const { send } = testApp();
  const { data } = (await send(EMBEDDINGS, input({ input: ['a', 'bb'], encoding_format: 'base64' }))).json();
  const bytes = Buffer.from(data[1].embedding, 'base64');
  assert.is(bytes.length, 8);
  assert.equal([bytes.readFloatLE(0), bytes.readFloatLE(4)], [2, 98]);
});

test('fewer dimensions are the first ones, with length 1 again', async () => {
  const { send } = testApp();
  const embeddingOf = async (dimensions: number) => {
    const { data } = (await send(EMBEDDINGS, input({ input: ['abc'], dimensions }))).json();
    return data[0].embedding;
  };
  assert.equal(await embeddingOf(2), [3, 97]);
  assert.equal(await embeddingOf(1), [1]);
  const base64 = await send(EMBEDDINGS, input({ input: 'abc', dimensions: 1, encoding_format: 'base64' }));
  assert.is(base64.json().data[0].embedding, Buffer.from(Float32Array.of(1).buffer).toString('base64'));
  assert.equal((await send('/api/embed', { model: 'fake', input: 'abc', dimensions: 1 })).json().embeddings, [[1]]);
  for (const dimensions of [3, 0]) {
    expectError(await send(EMBEDDINGS, input({ input: 'a', dimensions })), {
      status: 400,
      code: 'invalid_value',
      param: 'dimensions',
      says: dimensions === 3 ? /at most 2/ : /1/,
    });
  }
});

const tooLong = 'x'.repeat(17);
const REFUSED: [name: string, fields: object, expected: ExpectedError][] = [
  ['no input', {}, { status: 400, code: 'missing_required_parameter', param: 'input' }],
  ['an object', { input: {} }, { status: 400, code: 'invalid_type', param: 'input' }],
  ['nothing', { input: [] }, { status: 400, code: 'invalid_value', param: 'input' }],
  ['an object in a list', { input: ['a', [{}]] }, { status: 400, code: 'invalid_type', param: 'input[1][0]' }],
  ['a token beside lists', { input: [['a'], 1] }, { status: 400, code: 'invalid_type', param: 'input[1]' }],
  ['an unknown token after a text', { input: ['a', 999] }, { status: 400, code: 'invalid_value', param: 'input[1]' }],
  ['1025 texts', { input: [1, ...Array(1025).fill('a')] }, { status: 400, code: 'invalid_value', param: 'input' }],
  ['too many', { input: Array(2049).fill('a') }, { status: 400, code: 'invalid_value', param: 'input' }],
  [
    'another format',
    { input: 'a', encoding_format: 'int8' },
    { status: 400, code: 'invalid_value', param: 'encoding_format' },
  ],
  [
    'a long text among others',
    { input: ['a', 'b', 'c', tooLong] },
    { status: 400, code: 'context_length_exceeded', param: 'input[3]' },
  ],
  [
    'a long text alone',
    { input: tooLong },
    { status: 400, code: 'context_length_exceeded', param: 'input', says: /^`input` is/ },
  ],
  [
    'another model',
    { input: 'a', model: 'other' },
    { status: 404, type: 'not_found_error', code: 'model_not_found', param: 'model' },
  ],
];

for (const [name, fields, expected] of REFUSED) {
  test(`refused: ${name}`, async () => expectError(await testApp().send(EMBEDDINGS, input(fields)), expected));
}

test('/embedding takes texts in objects, and images if the model does', async () => {
  const { send } = testApp({ model: { vision: true, imageMarker: '<image>' } });
  const [a, b] = (await send('/embedding', { content: ['a', 'bc'] })).json();
  assert.equal((await send('/embedding', { content: { prompt_string: 'a' } })).json(), [a]);
  const objects = [
    { prompt_string: 'a', multimodal_data: [] },
    { prompt_string: 'bc', multimodal_data: null },
  ];
  assert.equal((await send('/embeddings', { content: objects })).json(), [a, b]);
  const file = (await picture('png')).toString('base64');
  const shown = { prompt_string: 'a<__media__>', multimodal_data: [file] };
  const reply = await send('/embeddings', {
    input: [shown, 'bc', { ...shown, multimodal_data: [await pictureUri('png')] }],
  });
  assert.is(reply.statusCode, 200, reply.body);
  const image = { embedding: [['a<image>'.length + 1, 97]] };
  assert.equal(reply.json(), [{ index: 0, ...image }, b, { index: 2, ...image }]);
});

test('objects that /embedding refuses', async () => {
  const shown = { prompt_string: '<__media__>', multimodal_data: [(await picture('png')).toString('base64')] };
  const { send } = testApp({ model: { vision: true, imageMarker: '<image>' } });
  for (const [content, param] of [
    [[{ multimodal_data: [] }], 'content[0].prompt_string'],
    [[{ prompt_string: 7 }], 'content[0].prompt_string'],
    [[{ prompt_string: 'a', multimodal_data: 'b' }], 'content[0].multimodal_data'],
    [[shown, { ...shown, prompt_string: 'a' }], 'content[1].prompt_string'],
    [{ ...shown, multimodal_data: ['bWFsZm9ybWVk'] }, 'content.multimodal_data[0]'],
    [{ ...shown, multimodal_data: ['no base64!'] }, 'content.multimodal_data[0]'],
    [[shown, [1, 2]], 'content[1]'],
    [{ ...shown, prompt_string: `<__media__>${'x'.repeat(4000)}` }, 'content'],
    [Array(129).fill(shown), 'content'],
  ] as const) {
    const refused = await send('/embedding', { content });
    assert.equal([refused.statusCode, refused.json().error.param], [400, param]);
  }
  const blind = await testApp().send('/embedding', { content: ['a', shown] });
  expectError(blind, { status: 400, code: 'image_not_supported', param: 'content[1].multimodal_data[0]' });
});

test('without pooling, /embedding has a vector for each token, and the other endpoints refuse', async () => {
  const { send } = testApp({ model: { pooling: 'none' } });
  const reply = await send('/embedding', { content: ['ab', 'c'] });
  assert.equal(reply.json(), [
    {
      index: 0,
      embedding: [
        [0, 97],
        [1, 98],
      ],
    },
    { index: 1, embedding: [[0, 99]] },
  ]);
  const bodies: Record<string, object> = {
    [EMBEDDINGS]: input({ input: 'a' }),
    '/v2/embed': { model: 'fake', texts: ['a'], input_type: 'search_query' },
  };
  for (const [url, body] of Object.entries(bodies)) {
    const refused = await send(url, body);
    expectError(refused, { status: 400, code: 'model_not_capable', param: 'model', says: /`pooling`/ });
  }
});

test('documents come in the order of their scores, with their places', async () => {
  const { send } = testApp({ model: { pooling: 'rank' } });
  const reply = await send(RERANK, { query: 'q', documents: ['bb', { text: 'cccc' }, 'a'] });
  assert.is(reply.statusCode, 200, reply.body);
  assert.equal(reply.json(), {
    object: 'list',
    model: 'fake',
    results: [
      { index: 1, relevance_score: 4 },
      { index: 0, relevance_score: 2 },
      { index: 2, relevance_score: 1 },
    ],
    usage: { prompt_tokens: 10, total_tokens: 10 },
  });
});

test('top_n cuts the list, return_documents brings the texts along', async () => {
  const { send } = testApp({ model: { pooling: 'rank' } });
  const { results } = (
    await send(RERANK, { query: 'q', documents: ['a', 'bb'], top_n: 1, return_documents: true })
  ).json();
  assert.equal(results, [{ index: 1, relevance_score: 2, document: { text: 'bb' } }]);
});

test('a model that does not rank says so', async () => {
  const reply = await testApp().send(RERANK, { query: 'q', documents: ['a'] });
  expectError(reply, { status: 400, code: 'model_not_capable', param: 'model' });
});

test('refused: no documents, no query, a document of no text', async () => {
  const { send } = testApp({ model: { pooling: 'rank' } });
  const refused = async (body: object, code: string, param: string) =>
    expectError(await send(RERANK, body), { status: 400, code, param });
  await refused({ query: 'q', documents: [] }, 'invalid_value', 'documents');
  await refused({ documents: ['a'] }, 'missing_required_parameter', 'query');
  await refused({ query: 'q', documents: [{}] }, 'missing_required_parameter', 'documents[0].text');
  await refused({ query: 'q', documents: ['a'], top_n: 0 }, 'invalid_value', 'top_n');
});

test('Cohere’s and llama-server’s paths rank as well', async () => {
  const { send } = testApp({ model: { pooling: 'rank' } });
  const body = { query: 'q', documents: ['a', 'bb'], return_documents: true };
  const { results } = (await send(RERANK, body)).json();
  for (const path of ['/v2/rerank', '/v1/reranking', '/reranking']) {
    assert.equal((await send(path, body)).json().results, results, path);
  }
});

test('Cohere’s embeddings by type', async () => {
  const { send } = testApp({ model: { embeddingContextLength: 8 } });
  const embed = (fields: object) => send('/v2/embed', { model: 'fake', texts: ['abc', 'de'], ...fields });
  const { id, ...reply } = (await embed({ input_type: 'search_query' })).json();
  assert.match(id, /^embd-/);
  assert.equal(reply, {
    response_type: 'embeddings_by_type',
    texts: ['abc', 'de'],
    meta: { api_version: { version: '2' }, billed_units: { input_tokens: 5 } },
    embeddings: {
      float: [
        [3, 97],
        [2, 100],
      ],
    },
  });
  const types = ['base64', 'binary', 'ubinary', 'ubinary'];
  const { embeddings } = (await embed({ texts: ['abc'], embedding_types: types })).json();
  const base64 = Buffer.from(new Float32Array([3, 97]).buffer).toString('base64');
  assert.equal(embeddings, { base64: [base64], binary: [[64]], ubinary: [[192]] });
  const short = (await embed({ texts: ['abc'], output_dimension: 1 })).json();
  assert.equal(short.embeddings.float, [[1]]);
  const long = { texts: ['a', 'much too long'] };
  assert.is((await embed(long)).json().meta.billed_units.input_tokens, 1 + 8);
  const refused = async (fields: object, param: string, code = 'invalid_value') =>
    expectError(await embed(fields), { status: 400, code, param });
  await refused({ ...long, truncate: 'NONE' }, 'texts[1]', 'context_length_exceeded');
  await refused({ truncate: 'START' }, 'truncate');
  await refused({ embedding_types: ['int8'] }, 'embedding_types[0]');
  await refused({ embedding_types: [] }, 'embedding_types');
  await refused({ output_dimension: 3 }, 'output_dimension');
  await refused({ texts: [] }, 'texts');
  await refused({ texts: undefined }, 'texts', 'missing_required_parameter');
});

test('Ollama’s replies name the model as the request does', async () => {
  const { send } = testApp({}, {}, desktop);
  for (const model of ['fake', 'fake:latest', 'any:7b']) {
    const body = { model, input: 'a', prompt: 'a', messages: [{ role: 'user', content: 'Hi' }], stream: false };
    for (const path of ['/api/embed', '/api/chat', '/api/generate']) {
      assert.is((await send(path, body)).json().model, model, path);
    }
  }
});

test.run();
