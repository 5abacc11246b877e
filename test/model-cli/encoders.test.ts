// chasqui serve with models that generate nothing, and the endpoints that need no chat with one that does.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import OpenAI, { BadRequestError } from 'openai';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { writeEncoder } from '../support/random-model.js';
import { readJson } from '../support/read-json.js';
import { type RunningServer, startServer } from '../support/start-server.js';

const test = suite<{ folder: string; server: RunningServer | null }>('cli: serving models of other kinds');

test.before.each((context) => {
  context.folder = mkdtempSync(join(tmpdir(), 'chasqui-encoders-'));
  context.server = null;
});
test.after.each(async ({ folder, server }) => {
  await server?.stop();
  rmSync(folder, { recursive: true });
});

const clientOf = (server: RunningServer) => new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'none', maxRetries: 0 });

async function post(url: string, body: object) {
  const headers = { 'content-type': 'application/json' };
  return readJson(await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) }));
}

test('an embedding model: vectors for the openai client, no chat, and it goes on', async (context) => {
  const model = 'mean';
  context.server = await startServer(['--model', writeEncoder(join(context.folder, 'mean.gguf'), 'mean')]);
  const client = clientOf(context.server);
  const { data, usage } = await client.embeddings.create({ model, input: ['one', 'two', 'one'] });
  assert.is(data.length, 3);
  assert.is(data[0]?.embedding.length, 64);
  assert.ok(usage.prompt_tokens > 0);
  const messages = [{ role: 'user' as const, content: 'Hello!' }];
  for (const ask of [
    () => client.chat.completions.create({ model, messages }),
    () => client.chat.completions.create({ model, messages, stream: true }),
    () => client.completions.create({ model, prompt: 'Once' }),
  ]) {
    const error = await Promise.resolve(ask()).then(
      () => assert.unreachable(),
      (thrown) => thrown,
    );
    assert.instance(error, BadRequestError);
    assert.is(error.code, 'model_not_capable');
    assert.is(error.param, 'model');
  }
  assert.is((await client.embeddings.create({ model, input: 'still there' })).data.length, 1);
});

test('a ranking model: documents in order', async (context) => {
  context.server = await startServer(['--model', writeEncoder(join(context.folder, 'rank.gguf'), 'rank')]);
  const documents = ['hello world', 'The quick brown fox', 'naïve'];
  const { results } = await post(`${context.server.url}/v1/rerank`, { query: 'fox?', documents });
  assert.is(results.length, 3);
  const scores = results.map(({ relevance_score }: { relevance_score: number }) => relevance_score);
  assert.equal(
    scores,
    [...scores].sort((one, other) => other - one),
  );
});

test('the demo model: texts continued and embedded, tokens and templates', async (context) => {
  context.server = await startServer(['--ctx-size', '512', '--threads', '1']);
  const { url } = context.server;
  const client = clientOf(context.server);
  const model = 'chasqui-demo';
  const request = { model, prompt: ['Hello', 'The'], n: 2, max_tokens: 5, temperature: 0, echo: true };
  const { choices, usage } = await client.completions.create(request);
  assert.is(choices.length, 4);
  assert.ok(choices[3]?.text.startsWith('The'));
  assert.ok(usage && usage.completion_tokens <= 20);
  let streamed = '';
  for await (const chunk of await client.completions.create({ ...request, prompt: 'Hello', n: 1, stream: true })) {
    streamed += chunk.choices[0]?.text ?? '';
  }
  assert.is(streamed, choices[0]?.text);
  const { data } = await client.embeddings.create({ model, input: ['Hello', 'The'] });
  const length = Math.hypot(...(data[1]?.embedding ?? []));
  assert.ok(Math.abs(length - 1) < 1e-5, `the length is ${length}`);

  const content = 'Hello there, 日本!';
  const { tokens } = await post(`${url}/tokenize`, { content });
  assert.equal(await post(`${url}/detokenize`, { tokens }), { content, prompt: content });
  const messages = [{ role: 'user', content: 'Hi' }];
  assert.match((await post(`${url}/apply-template`, { messages })).prompt, /Hi/);
});

test.run();
