// Official clients of a model in this process: without a port, and over HTTP.
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createFetch, createServer, loadModel, type Model } from '../../ts/index.js';
import { demoModelPath } from '../support/demo-model.js';
import { until } from '../support/until.js';

let model: Model;
let client: OpenAI;
test.before(async () => {
  model = await loadModel(demoModelPath, { contextSize: 8192, parallel: 2, threads: 1 });
  client = new OpenAI({ apiKey: 'none', fetch: createFetch(model), maxRetries: 0 });
});
test.after(() => model.close());

const ask = { model: 'any', temperature: 0, messages: [{ role: 'user' as const, content: 'Count from 3 to 9' }] };
const NUMBERS = '3, 4, 5, 6, 7, 8, 9';

async function freed(): Promise<void> {
  await until(async () => (await model.stats()).active === 0, 'no sequence is held');
}

test('fetch: the OpenAI client completes and streams', async () => {
  assert.is((await client.chat.completions.create(ask)).choices[0]?.message.content, NUMBERS);
  const pieces: string[] = [];
  for await (const { choices } of await client.chat.completions.create({ ...ask, stream: true })) {
    pieces.push(choices[0]?.delta.content ?? '');
  }
  assert.is(pieces.join(''), NUMBERS);
});

test('fetch: lists models, and reports errors as responses', async () => {
  const ids = [];
  for await (const { id } of client.models.list()) ids.push(id);
  assert.equal(ids, [model.model.id]);
  const error = await client.chat.completions.create({ ...ask, temperature: -1 }).catch((thrown) => thrown);
  assert.instance(error, OpenAI.BadRequestError);
  assert.is(error.param, 'temperature');
  const missing = await createFetch(model)('https://api.openai.com/v1/nothing');
  assert.is(missing.status, 404);
});

test('fetch: an abort and a stream that is left free the sequence', async () => {
  const endless = { ...ask, ignore_eos: true };
  for await (const _ of await client.chat.completions.create({ ...endless, stream: true })) break;
  await freed();
  const controller = new AbortController();
  const whole = client.chat.completions.create(endless, { signal: controller.signal }).catch((thrown) => thrown);
  await until(async () => (await model.stats()).active > 0, 'the request runs');
  controller.abort();
  assert.instance(await whole, OpenAI.APIUserAbortError);
  await freed();
  const late = createFetch(model)('http://localhost/v1/models', { signal: AbortSignal.abort('left') });
  assert.is(await late.catch((thrown) => thrown), 'left');
});

test('fetch: the client of Anthropic', async () => {
  const anthropic = new Anthropic({ apiKey: 'none', fetch: createFetch(model), maxRetries: 0 });
  const { content } = await anthropic.messages.create({ ...ask, max_tokens: 100 });
  assert.equal(
    content.map((block) => block.type === 'text' && block.text),
    [NUMBERS],
  );
});

test('server: listens, requires its keys, and leaves the model open', async () => {
  const server = await createServer(model, { port: 0, apiKeys: ['secret'] });
  const completion = (apiKey: string) =>
    new OpenAI({ baseURL: server.url, apiKey, maxRetries: 0 }).chat.completions.create(ask);
  assert.is((await completion('secret')).choices[0]?.message.content, NUMBERS);
  assert.instance(await completion('other').catch((thrown) => thrown), OpenAI.AuthenticationError);
  const taken = await createServer(model, { port: server.port }).catch((thrown) => thrown);
  assert.is(taken.code, 'EADDRINUSE');
  await server.close();
  await server.close();
  assert.is(await model.generate({ messages: ask.messages, temperature: 0 }).text(), NUMBERS);
});

test.run();
