// Vertex AI's prediction route.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { runtime } from '../../ts/profiles/runtime.js';
import { serverless } from '../../ts/profiles/serverless.js';
import { closeApps, testApp } from '../support/build-app.js';
import { expectError } from '../support/expect-error.js';

const test = suite('http: predictions');

test.after.each(closeApps);

const MESSAGES = [{ role: 'user', content: 'Hi' }];
const chat = (fields: object = {}) => ({ '@requestFormat': 'chatCompletions', messages: MESSAGES, ...fields });

test('each instance is a request to another endpoint', async () => {
  const { send } = testApp();
  const instances = [
    chat({ stream: true }),
    { '@requestFormat': 'embeddings', model: 'fake', input: 'abc' },
    ...Array.from({ length: 20 }, (_, index) => ({ '@requestFormat': 'tokenize', content: 'x'.repeat(index) })),
    { '@requestFormat': 'messages', messages: MESSAGES, max_tokens: 5 },
  ];
  const reply = await send('/predict', { instances });
  assert.is(reply.statusCode, 200, reply.body);
  const { predictions } = reply.json();
  assert.equal([predictions[0].object, predictions[0].choices[0].message.content], ['chat.completion', 'Hello!']);
  assert.equal(predictions[1].data[0].embedding, [3, 97]);
  const lengths = predictions.slice(2, 22).map(({ tokens }: { tokens: number[] }) => tokens.length);
  assert.equal(lengths, [...Array(20).keys()]);
  assert.is(predictions[22].type, 'message');
});

test('an error in one instance is its prediction', async () => {
  const { send } = testApp();
  const { predictions } = (
    await send('/predict', { instances: [chat({ model: 'none' }), chat({ messages: 5 }), chat()] })
  ).json();
  assert.equal(
    predictions.map(({ error }: { error?: { code: string } }) => error?.code),
    ['model_not_found', 'invalid_type', undefined],
  );
});

test('`instances` must be a list', async () => {
  const { send } = testApp();
  const refused = async (instances: unknown, param: string, code = 'invalid_value') =>
    expectError(await send('/predict', { instances }), { status: 400, param, code });
  await refused(undefined, 'instances', 'missing_required_parameter');
  await refused([], 'instances');
  await refused(Array(129).fill(chat()), 'instances');
  await refused([5], 'instances[0]', 'invalid_type');
  await refused([{}], 'instances[0].@requestFormat', 'missing_required_parameter');
  for (const format of ['predict', '/v1/chat/completions', '__proto__', 7, null])
    await refused([chat(), chat({ '@requestFormat': format })], 'instances[1].@requestFormat');
});

test('instances are sent with the key of the request', async () => {
  const { app } = testApp({}, { access: (key) => key === 'k' }, { ...runtime, authentication: 'bearer' });
  const post = (headers: object) =>
    app.inject({ method: 'POST', url: '/predict', headers: { ...headers }, payload: { instances: [chat()] } });
  for (const headers of [{ authorization: 'Bearer k' }, { 'x-api-key': 'k' }]) {
    assert.is((await post(headers)).json().predictions[0].object, 'chat.completion');
  }
  assert.is((await post({ authorization: 'Bearer x' })).statusCode, 401);
});

test('serverless mode does not have it', async () => {
  const deployed = { deployment: { org: 'o', app: 'a' }, access: 'public' } as const;
  const { app } = testApp({}, deployed, serverless);
  assert.is((await app.inject({ method: 'POST', url: '/predict', payload: {} })).statusCode, 404);
});

test.run();
