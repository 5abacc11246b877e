// Tools, formats and grammars as the official client asks for them, with the real server and the demo model.
import OpenAI from 'openai';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type RunningServer, startServer } from '../support/start-server.js';
import { until } from '../support/until.js';

const test = suite<{ server: RunningServer; client: OpenAI }>('tools through the openai client');

test.before(async (context) => {
  context.server = await startServer(['--parallel', '4', '--ctx-size', '1024', '--threads', '1']);
  context.client = new OpenAI({ baseURL: `${context.server.url}/v1`, apiKey: 'not-needed', maxRetries: 0 });
});
test.after(({ server }) => server.stop());

const model = 'chasqui-demo';
const messages = [{ role: 'user' as const, content: 'Count from 3 to 9' }];
const pair = {
  type: 'object',
  properties: { left: { enum: ['a', 'b'] }, right: { type: 'integer', minimum: 10, maximum: 99 } },
  required: ['left', 'right'],
  additionalProperties: false,
};
const tools = [{ type: 'function' as const, function: { name: 'join', parameters: pair } }];
const tool_choice = { type: 'function' as const, function: { name: 'join' } };

function assertPair(json: string | null | undefined): void {
  const { left, right, ...rest } = JSON.parse(json ?? '');
  assert.ok(['a', 'b'].includes(left) && right >= 10 && right <= 99, json ?? '');
  assert.equal(rest, {});
}

test('a named function is called, and the conversation goes on with its result', async ({ client }) => {
  const { choices } = await client.chat.completions.create({ model, messages, tools, tool_choice, n: 3 });
  const ids = new Set<string>();
  for (const { message, finish_reason } of choices) {
    assert.is(finish_reason, 'tool_calls');
    assert.is(message.content, null);
    const [call, ...more] = message.tool_calls ?? [];
    assert.is(more.length, 0);
    if (call?.type !== 'function') throw new Error('no call of a function');
    assert.is(call.function.name, 'join');
    assertPair(call.function.arguments);
    ids.add(call.id);
  }
  assert.is(ids.size, 3);
  const message = choices[0]?.message;
  if (!message) throw new Error('no choice');
  const result = { role: 'tool' as const, tool_call_id: message.tool_calls?.[0]?.id ?? '', content: 'done' };
  const next = await client.chat.completions.create({
    model,
    tools,
    tool_choice: 'none',
    messages: [...messages, message, result],
    max_tokens: 20,
  });
  assert.type(next.choices[0]?.message.content, 'string');
});

test('a streamed call accumulates to the same', async ({ client }) => {
  const stream = client.chat.completions.stream({ model, messages, tools, tool_choice, seed: 5 });
  const streamed = (await stream.finalChatCompletion()).choices[0];
  const whole = (await client.chat.completions.create({ model, messages, tools, tool_choice, seed: 5 })).choices[0];
  assert.is(streamed?.finish_reason, 'tool_calls');
  const argumentsOf = (choice: typeof whole) => {
    const call = choice?.message.tool_calls?.[0];
    return call?.type === 'function' ? call.function.arguments : undefined;
  };
  assertPair(argumentsOf(whole));
  assert.is(argumentsOf(streamed as typeof whole), argumentsOf(whole));
});

test('a response format is obeyed, with log-probabilities for what was answered', async ({ client }) => {
  const { choices } = await client.chat.completions.create({
    model,
    messages,
    logprobs: true,
    response_format: { type: 'json_schema', json_schema: { name: 'pair', schema: pair, strict: true } },
  });
  assertPair(choices[0]?.message.content);
  const text = choices[0]?.logprobs?.content?.map(({ token }) => token).join('');
  assert.is(text, choices[0]?.message.content);
});

test('an answer that was begun is continued', async ({ client }) => {
  const begun = [...messages, { role: 'assistant' as const, content: '3, 4, 5,' }];
  for (const stream of [false, true]) {
    const request = { model, messages: begun, temperature: 0 };
    const text = stream
      ? (await client.chat.completions.stream(request).finalMessage()).content
      : (await client.chat.completions.create(request)).choices[0]?.message.content;
    assert.is(text, stream ? ' 6, 7, 8, 9' : '3, 4, 5, 6, 7, 8, 9');
  }
});

test('impossible requests are clear errors and affect no other request', async ({ client, server }) => {
  const format = (schema: Record<string, unknown>) => ({
    response_format: { type: 'json_schema' as const, json_schema: { name: 'x', schema, strict: true } },
  });
  for (const [body, code, param] of [
    [{ grammar: '%llguidance {}' }, 'invalid_grammar', 'grammar'],
    [format({ type: 'object', properties: { a: { type: 'oops' } } }), 'invalid_grammar', 'response_format'],
    [format({ type: 'string', format: 'color' }), 'unsupported_parameter', 'response_format.json_schema.schema.format'],
  ] as const) {
    try {
      await client.chat.completions.create({ model, messages, ...body });
      assert.unreachable('it was taken');
    } catch (error) {
      assert.instance(error, OpenAI.BadRequestError);
      assert.is((error as InstanceType<typeof OpenAI.BadRequestError>).code, code);
      assert.is((error as InstanceType<typeof OpenAI.BadRequestError>).param, param);
    }
  }
  await until(async () => (await server.health()).active === 0, 'no sequence is held');
});

test('unenforceable keywords are ignored and reported, the others are enforced', async ({ client }) => {
  const ask = async (schema: Record<string, unknown>) => {
    const response_format = { type: 'json_schema' as const, json_schema: { name: 'x', schema } };
    const request = { model, messages, response_format, max_tokens: 60, temperature: 0 };
    const { data, response } = await client.chat.completions.create(request).withResponse();
    return { text: data.choices[0]?.message.content ?? '', ignored: response.headers.get('x-chasqui-ignored') };
  };
  const path = 'response_format.json_schema.schema';
  const object = await ask({ type: 'object', properties: { v: true }, required: ['v'] });
  assert.match(object.text, /^\s*\{\s*"v"\s*:/);
  assert.is(object.ignored, null);
  assert.is((await ask({ $ref: '#' })).ignored, `${path}.%24ref`);
  const text = await ask({ type: 'string', enum: [] });
  assert.match(text.text, /^"/);
  assert.is(text.ignored, `${path}.enum`);
});

test('a grammar that is too ambiguous fails its own request, and nobody else’s', async ({ client, server }) => {
  const grammar = 'root ::= s\ns ::= [a-z] s "y" | [a-z] s "z"';
  const hostile = client.chat.completions.create({ model, messages, max_tokens: 100, grammar } as never);
  const [failed, honest] = await Promise.allSettled([hostile, client.chat.completions.create({ model, messages })]);
  assert.is(honest.status, 'fulfilled');
  assert.is(failed.status === 'rejected' && failed.reason.code, 'invalid_grammar');
  await until(async () => (await server.health()).active === 0, 'no sequence is held');
});

test.run();
