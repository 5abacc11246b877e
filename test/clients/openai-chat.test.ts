// The official client and POST /v1/chat/completions of a real server with the demo model: streams, tools, structured
// outputs, typed errors, retries.
import OpenAI from 'openai';
import { zodFunction, zodResponseFormat } from 'openai/helpers/zod';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { z } from 'zod';
import { inPieces } from '../support/in-pieces.js';
import { ENDLESS_CONTEXT } from '../support/long-answer.js';
import { HostedMode, MODEL, MODES, type Mode } from '../support/modes.js';
import { openAiClient } from '../support/openai-client.js';
import { until } from '../support/until.js';

interface Context {
  hosted: HostedMode;
  client: OpenAI;
}

const ask = (content: string) => ({
  model: MODEL,
  temperature: 0,
  messages: [{ role: 'user' as const, content }],
});
const counting = ask('Count from 3 to 9');
const NUMBERS = '3, 4, 5, 6, 7, 8, 9';

const Forecast = z.object({ city: z.enum(['Cuzco', 'Lima']), days: z.number().int().min(1).max(9) });
const weather = zodFunction({ name: 'weather', parameters: Forecast });
/** Arguments of hundreds of tokens. */
const Notes = z.object({ days: z.array(z.number().int().min(1).max(9)).length(100) });
const noting = zodFunction({ name: 'note', parameters: Notes });
const asking = {
  ...ask('How is the weather in Cuzco?'),
  tools: [weather],
  tool_choice: { type: 'function' as const, function: { name: 'weather' } },
};

function testIn(mode: Mode): void {
  const test = suite<Context>(`clients: openai, chat, ${mode} mode`);

  test.before(async (context) => {
    context.hosted = await HostedMode.start(mode, ENDLESS_CONTEXT);
    context.client = openAiClient(context.hosted);
  });
  test.after(({ hosted }) => hosted.stop());

  test('gets a whole completion', async ({ client }) => {
    const { data, request_id } = await client.chat.completions.create(counting).withResponse();
    assert.equal([data.choices[0]?.message.content, data.choices[0]?.finish_reason], [NUMBERS, 'stop']);
    assert.match(String(request_id), /^req_/);
    assert.ok(data.usage && data.usage.total_tokens === data.usage.prompt_tokens + data.usage.completion_tokens);
  });

  test('puts a stream together again, the same as the whole, with its usage', async ({ client }) => {
    const stream = client.chat.completions.stream({ ...counting, stream_options: { include_usage: true } });
    let snapshot = '';
    stream.on('content', (_, all) => {
      snapshot = all;
    });
    const completion = await stream.finalChatCompletion();
    assert.equal([snapshot, completion.choices[0]?.message.content], [NUMBERS, NUMBERS]);
    assert.ok((completion.usage?.completion_tokens ?? 0) > 5);
  });

  test('lists and retrieves the model', async ({ client }) => {
    const ids: string[] = [];
    for await (const { id } of client.models.list()) ids.push(id);
    assert.equal(ids, [MODEL]);
    assert.is((await client.models.retrieve(MODEL)).id, MODEL);
  });

  test('gets an answer of the form it asks for, whole and streamed', async ({ client }) => {
    const form = { ...ask('How is the weather in Cuzco?'), response_format: zodResponseFormat(Forecast, 'forecast') };
    const { choices } = await client.chat.completions.parse(form);
    const parsed = choices[0]?.message.parsed;
    assert.equal(Forecast.parse(parsed), parsed);
    const streamed = await client.chat.completions.stream(form).finalChatCompletion();
    assert.equal(streamed.choices[0]?.message.parsed, parsed);
  });

  test('gets a call of its function, and sends back what it came to', async ({ client }) => {
    const called = await client.chat.completions.parse(asking);
    const message = called.choices[0]?.message;
    const call = message?.tool_calls?.[0];
    assert.ok(message && call?.type === 'function' && message.tool_calls?.length === 1, JSON.stringify(message));
    assert.equal([call.function.name, called.choices[0]?.finish_reason], ['weather', 'tool_calls']);
    assert.equal(Forecast.parse(call.function.parsed_arguments), call.function.parsed_arguments);
    const answered = await client.chat.completions.create({
      ...asking,
      messages: [...asking.messages, message, { role: 'tool', tool_call_id: call.id, content: 'Rain' }],
      tool_choice: 'none',
      max_tokens: 20,
    });
    assert.type(answered.choices[0]?.message.content, 'string');
  });

  test('reads a streamed call', async ({ client }) => {
    const long = { ...asking, tools: [noting], tool_choice: { ...asking.tool_choice, function: { name: 'note' } } };
    const { pieces, call } = await inPieces(async () => {
      const stream = client.chat.completions.stream(long);
      const pieces: string[] = [];
      stream.on('tool_calls.function.arguments.delta', ({ arguments_delta }) => pieces.push(arguments_delta));
      return { pieces, call: (await stream.finalChatCompletion()).choices[0]?.message.tool_calls?.[0] };
    });
    assert.ok(call?.type === 'function');
    assert.is(pieces.join(''), call.function.arguments);
    assert.equal(Notes.parse(call.function.parsed_arguments), JSON.parse(call.function.arguments));
  });

  test('runs a loop of tools', async ({ client }) => {
    let asked: unknown;
    const forecast = zodFunction({
      name: 'weather',
      parameters: Forecast,
      function: (days) => {
        asked = days;
        return 'Rain';
      },
    });
    const runner = client.chat.completions.runTools(
      { ...asking, tools: [forecast], max_tokens: 200 },
      { maxChatCompletions: 1 },
    );
    // The loop stops after the call that was demanded: the model has nothing to say of what it came to.
    await runner.finalChatCompletion().catch(() => undefined);
    await until(() => asked !== undefined, 'the function is called');
    assert.equal(Forecast.parse(asked), asked);
  });

  test('gets typed errors', async ({ client }) => {
    const failures: [object, new (...args: never[]) => Error, string, string][] = [
      [{ temperature: -1 }, OpenAI.BadRequestError, 'invalid_value', 'temperature'],
      [{ max_tokens: '9' }, OpenAI.BadRequestError, 'invalid_type', 'max_tokens'],
      [ask('word '.repeat(ENDLESS_CONTEXT)), OpenAI.BadRequestError, 'context_length_exceeded', 'messages'],
      [
        { ...ask('word '.repeat(ENDLESS_CONTEXT)), stream: true },
        OpenAI.BadRequestError,
        'context_length_exceeded',
        'messages',
      ],
    ];
    if (mode !== 'desktop') failures.push([{ model: 'other' }, OpenAI.NotFoundError, 'model_not_found', 'model']);
    for (const [change, type, code, param] of failures) {
      const error = await client.chat.completions.create({ ...counting, ...change }).catch((thrown: unknown) => thrown);
      assert.instance(error, type);
      const { code: told, param: field, requestID } = error as InstanceType<typeof OpenAI.APIError>;
      assert.equal([told, field], [code, param]);
      assert.match(String(requestID), /^req_/);
    }
    if (mode !== 'serverless') return;
    const keyless = client.withOptions({ defaultHeaders: { authorization: null } });
    const refused = await keyless.chat.completions.create(counting).catch((thrown: unknown) => thrown);
    assert.instance(refused, OpenAI.AuthenticationError);
  });

  test('aborts a stream and a whole completion, and the sequence is freed', async ({ client, hosted }) => {
    const endless = { ...counting, ignore_eos: true };
    for await (const { choices } of await client.chat.completions.create({ ...endless, stream: true })) {
      if (choices[0]?.delta.content) break;
    }
    await hosted.untilFree();
    const controller = new AbortController();
    const whole = client.chat.completions
      .create(endless, { signal: controller.signal })
      .catch((thrown: unknown) => thrown);
    await until(async () => (await hosted.health()).active > 0, 'the request runs');
    controller.abort();
    assert.instance(await whole, OpenAI.APIUserAbortError);
    await hosted.untilFree();
  });

  test.run();
}

for (const mode of MODES) testIn(mode);
