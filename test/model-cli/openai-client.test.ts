// The official client against the real server and the demo model, as a user would put them together.
import OpenAI from 'openai';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type RunningServer, startServer } from '../support/start-server.js';
import { until } from '../support/until.js';

const test = suite<{ server: RunningServer; client: OpenAI }>('the openai client and chasqui serve');

test.before(async (context) => {
  context.server = await startServer(['--parallel', '4', '--ctx-size', '512', '--threads', '1']);
  context.client = new OpenAI({ baseURL: `${context.server.url}/v1`, apiKey: 'not-needed', maxRetries: 0 });
});
test.after(({ server }) => server.stop());

const model = 'chasqui-demo';
const ask = (content: string) => ({ model, temperature: 0, messages: [{ role: 'user' as const, content }] });
const endless = { ...ask('Hello'), ignore_eos: true };

async function allFree(server: RunningServer): Promise<void> {
  await until(async () => {
    const { active, queued } = await server.health();
    return active === 0 && queued === 0;
  }, 'no sequence is held');
}

test('completes', async ({ client }) => {
  const { choices, usage } = await client.chat.completions.create(ask('Count from 3 to 9'));
  assert.is(choices[0]?.message.content, '3, 4, 5, 6, 7, 8, 9');
  assert.is(choices[0]?.finish_reason, 'stop');
  assert.ok(usage && usage.total_tokens === usage.prompt_tokens + usage.completion_tokens);
});

test('streams', async ({ client }) => {
  let text = '';
  for await (const chunk of await client.chat.completions.create({ ...ask('Count from 3 to 9'), stream: true })) {
    text += chunk.choices[0]?.delta.content ?? '';
  }
  assert.is(text, '3, 4, 5, 6, 7, 8, 9');
});

test('aborts a stream and a whole reply, and the sequence is freed', async () => {
  // More tokens than are computed before the abort.
  const server = await startServer(['--ctx-size', '65536', '--threads', '1']);
  const client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'not-needed', maxRetries: 0 });
  const stream = await client.chat.completions.create({ ...endless, stream: true });
  for await (const _ of stream) break;
  await allFree(server);
  const controller = new AbortController();
  const whole = client.chat.completions.create(endless, { signal: controller.signal });
  await until(async () => (await server.health()).active > 0, 'the request runs');
  controller.abort();
  await whole.then(
    () => assert.unreachable(),
    (error) => assert.instance(error, OpenAI.APIUserAbortError),
  );
  await allFree(server);
  await server.stop();
});

test('learns that the demo model is too small for many tools', async ({ client }) => {
  const parameters = { type: 'object', properties: { text: { type: 'string', description: 'The text to use' } } };
  const tools = Array.from({ length: 36 }, (_, index) => ({
    type: 'function' as const,
    function: { name: `tool_${index}`, description: 'Translates the text.', parameters },
  }));
  const error = await client.chat.completions.create({ ...ask('Hello'), tools }).catch((thrown) => thrown);
  assert.instance(error, OpenAI.BadRequestError);
  assert.is(error.code, 'context_length_exceeded');
  assert.match(error.message, /demo model is too small for tools and long prompts\. .*chasqui serve -hf qwen3:4b\.$/);
});

test('gets several choices, computed from one prompt', async ({ client }) => {
  const { choices, usage } = await client.chat.completions.create({ ...ask('Hello!'), n: 3, temperature: 1, seed: 1 });
  assert.equal(
    choices.map(({ index }) => index),
    [0, 1, 2],
  );
  assert.ok((usage?.completion_tokens ?? 0) >= 3);
});

test('gets typed errors', async ({ client }) => {
  const failure = async (body: object) => {
    try {
      await client.chat.completions.create(body as ReturnType<typeof ask>);
    } catch (error) {
      return error as InstanceType<typeof OpenAI.APIError>;
    }
    throw new Error('the request succeeded');
  };
  assert.instance(await failure({ ...ask('a'), model: 'other' }), OpenAI.NotFoundError);
  assert.instance(await failure({ ...ask('a'), temperature: '0.5' }), OpenAI.BadRequestError);
  const long = await failure(ask('word '.repeat(3000)));
  assert.instance(long, OpenAI.BadRequestError);
  assert.is(long.code, 'context_length_exceeded');
  assert.match(long.message, /\d+ tokens.* 512 .*`--ctx-size`/);
});

test('a thousand bad requests hold nothing and hurt nobody', async ({ client, server }) => {
  const bodies = [
    '{"model":',
    JSON.stringify({ ...ask('a'), temperature: '1' }),
    JSON.stringify({ model, messages: [] }),
    JSON.stringify({ model, messages: [{ role: 'nobody', content: 'a' }] }),
    JSON.stringify({ ...ask('a'), max_tokens: 0 }),
    JSON.stringify({ ...ask('a'), n: 0 }),
    JSON.stringify({ ...ask('a'), model: 'other' }),
    JSON.stringify(ask('x '.repeat(2000))),
    JSON.stringify({ ...ask('a'), logit_bias: { 99999999: 1 } }),
    JSON.stringify({ model, messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'a' } }] }] }),
  ];
  const running = client.chat.completions.create({ ...endless, max_tokens: 400 });
  const post = (body: string) =>
    fetch(`${server.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    }).then(async (response) => {
      await response.arrayBuffer();
      return response.status;
    });
  for (let round = 0; round < 100; round++) {
    const statuses = await Promise.all(bodies.map(post));
    assert.equal(statuses, [400, 400, 400, 400, 400, 400, 404, 400, 400, 400]);
  }
  assert.is((await running).usage?.completion_tokens, 400);
  await allFree(server);
  assert.is((await client.chat.completions.create(ask('Count from 3 to 9'))).choices[0]?.finish_reason, 'stop');
});

test.run();
