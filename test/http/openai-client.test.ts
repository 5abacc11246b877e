import OpenAI, { APIError, toFile } from 'openai';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { closeApps, listeningApp, type TestApp } from '../support/build-app.js';
import { LOGPROB_BATCHES, LOGPROB_ENTRIES } from '../support/logprob-tokens.js';
import { until } from '../support/until.js';

const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'Hi' }];

interface Context {
  server: TestApp & { url: string };
  client: OpenAI;
}

const test = suite<Context>('http: the openai client');

test.before.each(async (context) => {
  context.server = await listeningApp();
  context.client = new OpenAI({ baseURL: `${context.server.url}/v1`, apiKey: 'not-needed', maxRetries: 0 });
});

test.after.each(closeApps);

test('completes', async ({ client }) => {
  const { data, request_id } = await client.chat.completions.create({ model: 'fake', messages }).withResponse();
  assert.is(data.choices[0]?.message.content, 'Hello!');
  assert.is(data.usage?.total_tokens, 12);
  assert.match(String(request_id), /^req_/);
});

test('streams', async ({ client }) => {
  const stream = await client.chat.completions.create({
    model: 'fake',
    messages,
    stream: true,
    stream_options: { include_usage: true },
  });
  let text = '';
  let usage: OpenAI.CompletionUsage | null | undefined;
  for await (const chunk of stream) {
    text += chunk.choices[0]?.delta.content ?? '';
    usage = chunk.usage;
  }
  assert.is(text, 'Hello!');
  assert.is(usage?.total_tokens, 12);
});

test('continues a text, whole and streamed', async ({ client }) => {
  const request = { model: 'fake', prompt: 'Once', logprobs: 1 };
  const { choices, usage } = await client.completions.create(request);
  assert.is(choices[0]?.text, 'Hello!');
  assert.is(usage?.total_tokens, 8);
  let text = '';
  for await (const chunk of await client.completions.create({ ...request, stream: true }))
    text += chunk.choices[0]?.text;
  assert.is(text, 'Hello!');
});

test('reads vectors, which it asks for in base64, and plain numbers', async ({ client }) => {
  for (const format of [{}, { encoding_format: 'float' as const }]) {
    const { data, usage } = await client.embeddings.create({ model: 'fake', input: ['abc', 'd'], ...format });
    assert.equal(
      data.map(({ embedding }) => embedding),
      [
        [3, 97],
        [1, 100],
      ],
    );
    assert.is(usage.prompt_tokens, 4);
  }
});

test('puts a stream together again', async ({ client, server }) => {
  server.engine.play({ batches: () => LOGPROB_BATCHES });
  const completion = await client.chat.completions
    .stream({ model: 'fake', messages, logprobs: true, top_logprobs: 2 })
    .finalChatCompletion();
  assert.is(completion.choices[0]?.message.content, 'hé');
  assert.is(completion.choices[0]?.finish_reason, 'stop');
  assert.equal(completion.choices[0]?.logprobs?.content, LOGPROB_ENTRIES);
});

test('aborts a stream, and the sequence is freed', async ({ client, server: { engine } }) => {
  engine.play({ manual: true });
  const pending = client.chat.completions.create({ model: 'fake', messages, stream: true });
  await until(() => engine.running.size === 1, 'the job is submitted');
  engine.step();
  const stream = await pending;
  for await (const _ of stream) break;
  stream.controller.abort();
  await until(() => engine.running.size === 0, 'the sequence is freed');
  assert.is(engine.cancelled, 1);
});

test('aborts a whole reply, and the sequence is freed', async ({ client, server: { engine } }) => {
  engine.play({ manual: true });
  const controller = new AbortController();
  const reply = client.chat.completions.create({ model: 'fake', messages }, { signal: controller.signal });
  const outcome = reply.catch((error: unknown) => error);
  await until(() => engine.running.size === 1, 'the job is submitted');
  controller.abort();
  assert.instance(await outcome, OpenAI.APIUserAbortError);
  await until(() => engine.running.size === 0, 'the sequence is freed');
  assert.is(engine.cancelled, 1);
});

test('gets typed errors', async ({ client: { chat, models, images } }) => {
  const failures: [() => Promise<unknown>, new (...args: never[]) => Error, string, string | null][] = [
    [
      () => chat.completions.create({ model: 'fake', messages, temperature: -1 }),
      OpenAI.BadRequestError,
      'invalid_value',
      'temperature',
    ],
    [() => chat.completions.create({ model: 'other', messages }), OpenAI.NotFoundError, 'model_not_found', 'model'],
    [() => models.retrieve('other'), OpenAI.NotFoundError, 'model_not_found', null],
    [() => images.generate({ model: 'fake', prompt: 'x' }), OpenAI.NotFoundError, 'unknown_url', null],
  ];
  for (const [request, type, code, param] of failures) {
    const error = await request().catch((thrown: unknown) => thrown);
    assert.instance(error, type);
    assert.equal([(error as APIError).code, (error as APIError).param], [code, param]);
  }
});

test('gets an error in the middle of a stream as an error', async ({ client, server }) => {
  server.engine.play({ failAt: 1, failWith: new Error('broken') });
  const stream = await client.chat.completions.create({ model: 'fake', messages, stream: true });
  let text = '';
  let failure: unknown;
  try {
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
  } catch (error) {
    failure = error;
  }
  assert.is(text, 'Hel');
  assert.instance(failure, APIError);
  assert.is((failure as APIError).code, 'internal_error');
});

test('lists and retrieves models', async ({ client }) => {
  const ids: string[] = [];
  for await (const model of client.models.list()) ids.push(model.id);
  assert.equal(ids, ['fake']);
  assert.is((await client.models.retrieve('fake')).owned_by, 'chasqui');
});

test('runs a batch', async ({ client }) => {
  const body = { model: 'fake', messages };
  const lines = ['a', 'b'].map((custom_id) => ({ custom_id, method: 'POST', url: '/v1/chat/completions', body }));
  const content = Buffer.from(lines.map((line) => JSON.stringify(line)).join('\n'));
  const { id: input_file_id } = await client.files.create({
    file: await toFile(content, 'batch.jsonl'),
    purpose: 'batch',
  });
  const request = { input_file_id, endpoint: '/v1/chat/completions', completion_window: '24h' } as const;
  const { id } = await client.batches.create(request);
  const read = () => client.batches.retrieve(id);
  await until(async () => (await read()).status === 'completed', 'the batch is completed');
  const batch = await read();
  assert.equal([batch.request_counts, batch.error_file_id], [{ total: 2, completed: 2, failed: 0 }, null]);
  const text = await (await client.files.content(String(batch.output_file_id))).text();
  const replies = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.equal(replies.map(({ custom_id }) => custom_id).sort(), ['a', 'b']);
  assert.is(replies[0].response.body.choices[0].message.content, 'Hello!');
  const listed: string[] = [];
  for await (const each of client.batches.list()) listed.push(each.id);
  assert.equal(listed, [id]);
  const error = await client.batches.cancel(id).catch((thrown: unknown) => thrown);
  assert.instance(error, OpenAI.BadRequestError);
});

test.run();
