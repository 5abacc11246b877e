// Anthropic's official client, its stream helper included, and POST /v1/messages of a real server with the demo model.
import Anthropic from '@anthropic-ai/sdk';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { pictureUri } from '../support/image-files.js';
import { ENDLESS, ENDLESS_CONTEXT } from '../support/long-answer.js';
import { HostedMode, MODEL, MODES, type Mode } from '../support/modes.js';

interface Context {
  hosted: HostedMode;
  client: Anthropic;
}

const model = MODEL;
const counting = {
  model,
  max_tokens: 100,
  // The types of this client no longer know it; the wire format does.
  temperature: 0,
  messages: [{ role: 'user' as const, content: 'Count from 3 to 9' }],
};
const NUMBERS = '3, 4, 5, 6, 7, 8, 9';

const weather: Anthropic.Tool = {
  name: 'weather',
  description: 'The weather of the next days',
  input_schema: {
    type: 'object',
    properties: { city: { enum: ['Cuzco', 'Lima'] }, days: { type: 'integer', minimum: 1, maximum: 9 } },
    required: ['city', 'days'],
    additionalProperties: false,
  },
};
const asking = {
  model,
  max_tokens: 300,
  temperature: 0,
  messages: [{ role: 'user' as const, content: 'How is the weather in Cuzco?' }],
  tools: [weather],
  tool_choice: { type: 'any' as const, disable_parallel_tool_use: true },
};

function assertForecast(input: unknown): void {
  const { city, days, ...rest } = input as { city: string; days: number };
  assert.ok(['Cuzco', 'Lima'].includes(city) && Number.isInteger(days), JSON.stringify(input));
  assert.ok(days >= 1 && days <= 9 && Object.keys(rest).length === 0);
}

const textOf = ({ content }: Anthropic.Message) =>
  content.map((block) => (block.type === 'text' ? block.text : `<${block.type}>`)).join('');

const clientOf = ({ baseUrl: baseURL, authorization: defaultHeaders }: HostedMode) =>
  new Anthropic({ baseURL, apiKey: 'not-needed', defaultHeaders, maxRetries: 0 });

function testIn(mode: Mode): void {
  const test = suite<Context>(`clients: @anthropic-ai/sdk, ${mode} mode`);

  test.before(async (context) => {
    const hosted = await HostedMode.start(mode, 1024);
    context.hosted = hosted;
    context.client = clientOf(hosted);
  });
  test.after(({ hosted }) => hosted.stop());

  test('gets a whole message', async ({ client }) => {
    const message = await client.messages.create(counting);
    assert.equal([textOf(message), message.role, message.stop_reason], [NUMBERS, 'assistant', 'end_turn']);
    assert.match(String(message._request_id), /^req_/);
    assert.ok(message.usage.input_tokens > 0 && message.usage.output_tokens > 5);
  });

  test('reads a stream event by event, blocks opened and closed in order', async ({ client }) => {
    const types: string[] = [];
    let text = '';
    for await (const event of await client.messages.create({ ...counting, stream: true })) {
      if (event.type !== types.at(-1)) types.push(event.type);
      if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') text += event.delta.text;
    }
    assert.is(text, NUMBERS);
    assert.equal(types, [
      'message_start',
      'content_block_start',
      'content_block_delta',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ]);
  });

  test('puts a stream together again, the same as the whole', async ({ client }) => {
    const stream = client.messages.stream(counting);
    let snapshot = '';
    let begun: number | undefined;
    stream.on('text', (_, all) => {
      snapshot = all;
    });
    stream.on('streamEvent', (event) => {
      if (event.type === 'message_start') begun = event.message.usage.input_tokens;
    });
    const message = await stream.finalMessage();
    assert.equal([snapshot, await stream.finalText(), textOf(message)], [NUMBERS, NUMBERS, NUMBERS]);
    const { input_tokens, cache_read_input_tokens } = message.usage;
    assert.is(input_tokens + (cache_read_input_tokens ?? 0), begun);
  });

  test('a conversation with a system prompt goes on, and its beginning is found in the cache', async ({ client }) => {
    const system = [{ type: 'text' as const, text: 'You are brief and you count well, whatever you are asked.' }];
    const first = await client.messages.create({ ...counting, system });
    const messages: Anthropic.MessageParam[] = [
      ...counting.messages,
      { role: 'assistant', content: first.content },
      { role: 'user', content: [{ type: 'text', text: 'Count from 3 to 5' }] },
    ];
    const second = await client.messages.create({ ...counting, system, messages });
    assert.is(second.stop_reason, 'end_turn');
    assert.ok((second.usage.cache_read_input_tokens ?? 0) > first.usage.input_tokens);
  });

  test('is told why a message ends', async ({ client }) => {
    const stopped = await client.messages.create({ ...counting, stop_sequences: ['7', 'x'] });
    assert.equal([stopped.stop_reason, stopped.stop_sequence, textOf(stopped)], ['stop_sequence', '7', '3, 4, 5, 6, ']);
    const short = await client.messages.create({ ...counting, max_tokens: 4 });
    assert.equal([short.stop_reason, short.usage.output_tokens], ['max_tokens', 4]);
    const endless = { ...counting, max_tokens: 5000, ignore_eos: true };
    assert.is((await client.messages.create(endless)).stop_reason, 'model_context_window_exceeded');
  });

  test('continues what the assistant has begun to say', async ({ client }) => {
    const messages = [...counting.messages, { role: 'assistant' as const, content: '3, 4, 5,' }];
    assert.is(textOf(await client.messages.create({ ...counting, messages })).trim(), '6, 7, 8, 9');
  });

  test('gets a use of its tool, and sends back what it came to', async ({ client }) => {
    const called = await client.messages.create(asking);
    const [use, ...more] = called.content;
    assert.is(called.stop_reason, 'tool_use');
    assert.ok(use?.type === 'tool_use' && use.name === 'weather' && more.length === 0);
    assertForecast(use.input);
    const messages: Anthropic.MessageParam[] = [
      ...asking.messages,
      { role: 'assistant', content: called.content },
      {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: use.id, content: [{ type: 'text', text: 'Rain' }] }],
      },
    ];
    const answered = await client.messages.create({ ...asking, messages, tool_choice: { type: 'none' } });
    assert.is(answered.content[0]?.type, 'text');
  });

  test('sends only the new messages of a thread, and replays a lost one', async ({ client }) => {
    const { model, max_tokens, messages } = counting;
    const system = 'You count well.';
    const params = { model, max_tokens, system };
    const thread = client.beta.messages.thread(params);
    const assertWhole = async ({ usage }: Anthropic.Beta.BetaMessage) => {
      const prompt = { model, system, messages: thread.messages.slice(0, -1) };
      const { input_tokens } = await client.beta.messages.countTokens(prompt);
      assert.is(usage.input_tokens + (usage.cache_read_input_tokens ?? 0), input_tokens);
    };
    const first = await thread.send(messages);
    assert.is(thread.previousMessageId, first.id);
    await assertWhole(await thread.send({ role: 'user', content: 'Count from 3 to 5' }));
    await assertWhole(await thread.stream({ role: 'user', content: 'Count from 4 to 5' }).finalMessage());
    assert.is(thread.messages.length, 6);
    if (mode === 'serverless') return;
    // Another key does not find the thread.
    const headers = { 'x-api-key': 'other' };
    await assertWhole(await thread.send({ role: 'user', content: 'Count from 5 to 6' }, {}, { headers }));
    assert.is(thread.messages.length, 8);
  });

  test('runs its tools in a thread', async ({ client }) => {
    const seen: string[] = [];
    const runner = client.beta.messages.toolRunner({
      ...asking,
      max_iterations: 2,
      tools: [{ ...weather, run: () => 'Rain', parse: (input: unknown) => input } as never],
    });
    for await (const message of runner) {
      const prompt = message.usage.input_tokens + (message.usage.cache_read_input_tokens ?? 0);
      seen.push(`${message.stop_reason} ${prompt}`);
      assert.is(message.stop_reason, 'tool_use');
    }
    const [first = 0, second = 0] = seen.map((each) => Number(each.split(' ')[1]));
    assert.is(seen.length, 2);
    // The second prompt has the tools, the call and its result.
    assert.ok(second > first, seen.join());
  });

  test('gets a call of a tool that it runs itself', async ({ client }) => {
    const tools = [{ type: 'bash_20250124' as const, name: 'bash' as const }];
    const { content, stop_reason } = await client.messages.create({ ...asking, tools });
    const [use] = content;
    assert.ok(use?.type === 'tool_use' && use.name === 'bash' && stop_reason === 'tool_use');
    assert.type((use.input as { command: unknown }).command, 'string');
  });

  test('reads a streamed use of a tool', async ({ client }) => {
    const stream = client.messages.stream({
      ...asking,
      tool_choice: { ...asking.tool_choice, type: 'tool', name: 'weather' },
    });
    let json = '';
    stream.on('inputJson', (piece) => {
      json += piece;
    });
    const { content, stop_reason } = await stream.finalMessage();
    assert.ok(content[0]?.type === 'tool_use' && stop_reason === 'tool_use');
    assertForecast(content[0].input);
    assert.equal(JSON.parse(json), content[0].input);
  });

  test('gets an answer of the form it asks for', async ({ client }) => {
    const { tools, tool_choice, ...rest } = asking;
    const format = { type: 'json_schema' as const, schema: weather.input_schema as Record<string, unknown> };
    assertForecast(JSON.parse(textOf(await client.messages.create({ ...rest, output_config: { format } }))));
  });

  test('counts the tokens of a prompt', async ({ client }) => {
    const { max_tokens, temperature, ...prompt } = counting;
    const { input_tokens } = await client.messages.countTokens(prompt);
    const { usage } = await client.messages.create(counting);
    assert.is(input_tokens, usage.input_tokens + (usage.cache_read_input_tokens ?? 0));
  });

  test('counts those of its pictures too', async ({ client }) => {
    const data = (await pictureUri('png')).replace(/^.*,/, '');
    const source = { type: 'base64' as const, media_type: 'image/png' as const, data };
    const { max_tokens, temperature, ...prompt } = counting;
    const content: Anthropic.ContentBlockParam[] = [
      { type: 'text', text: 'What is this?' },
      { type: 'image', source },
    ];
    const count = async (blocks: Anthropic.ContentBlockParam[]) =>
      (await client.messages.countTokens({ ...prompt, messages: [{ role: 'user', content: blocks }] })).input_tokens;
    const { usage } = await client.messages.create({ ...counting, messages: [{ role: 'user', content }] });
    assert.is(await count(content), usage.input_tokens + (usage.cache_read_input_tokens ?? 0));
    assert.ok((await count(content)) > (await count(content.slice(0, 1))));
  });

  test('lists the model, and retrieves it', async ({ client }) => {
    const listed: Anthropic.ModelInfo[] = [];
    for await (const each of client.models.list({ limit: 1 })) listed.push(each);
    assert.equal(
      listed.map(({ id, type, max_tokens }) => [id, type, max_tokens]),
      [[model, 'model', 1024]],
    );
    assert.equal({ ...(await client.models.retrieve(model)) }, { ...listed[0] });
  });

  test('sends documents, and server tools that are passed over', async ({ client }) => {
    const { temperature, ...rest } = counting;
    const content: Anthropic.ContentBlockParam[] = [
      { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'A list.' }, title: 'List' },
      { type: 'text', text: 'Count from 3 to 9', cache_control: { type: 'ephemeral' } },
    ];
    const { data, response } = await client.messages
      .create({
        ...rest,
        messages: [{ role: 'user', content }],
        tools: [{ type: 'web_search_20250305', name: 'web_search' }],
      })
      .withResponse();
    assert.ok(data.usage.output_tokens > 0);
    assert.is(decodeURIComponent(String(response.headers.get('x-chasqui-ignored'))), 'tools[0]');
  });

  test('is told in its own words that a prompt is too long', async ({ client }) => {
    const messages = [{ role: 'user' as const, content: 'word '.repeat(3000) }];
    const failure = await client.messages.create({ ...counting, messages }).catch((thrown) => thrown);
    assert.match(String(failure.apiMessage), /^prompt is too long: \d{4,} tokens > 1023 maximum$/);
  });

  test('gets typed errors', async ({ client }) => {
    const failures: [object, new (...args: never[]) => Error, string, string][] = [
      [{ max_tokens: 0 }, Anthropic.BadRequestError, 'invalid_request_error', 'invalid_value'],
      [
        {
          tools: [{ type: 'web_search_20250305', name: 'web_search' }],
          tool_choice: { type: 'tool', name: 'web_search' },
        },
        Anthropic.BadRequestError,
        'invalid_request_error',
        'unsupported_parameter',
      ],
      [
        { messages: [{ role: 'user', content: 'word '.repeat(3000) }] },
        Anthropic.BadRequestError,
        'invalid_request_error',
        'context_length_exceeded',
      ],
    ];
    if (mode !== 'desktop') {
      failures.push([{ model: 'other' }, Anthropic.NotFoundError, 'not_found_error', 'model_not_found']);
    }
    for (const [change, type, kind, code] of failures) {
      for (const stream of [false, true]) {
        const failure = await client.messages.create({ ...counting, ...change, stream }).catch((thrown) => thrown);
        assert.instance(failure, type);
        const { type: told, error, requestID, apiMessage } = failure as InstanceType<typeof Anthropic.APIError>;
        assert.equal([told, (error as { error: { code: string } }).error.code], [kind, code]);
        assert.match(String(requestID), /^req_/);
        assert.ok(String(apiMessage).length > 10);
      }
    }
    if (mode !== 'serverless') return;
    const keyless = client.withOptions({ defaultHeaders: { authorization: null } });
    const refused = await keyless.messages.create(counting).catch((thrown: unknown) => thrown);
    assert.instance(refused, Anthropic.AuthenticationError);
    assert.match(String((refused as InstanceType<typeof Anthropic.APIError>).requestID), /^req_/);
  });

  test('aborts a stream, and the sequence is freed', async () => {
    const hosted = await HostedMode.start(mode, ENDLESS_CONTEXT);
    const stream = clientOf(hosted).messages.stream({ ...counting, ...ENDLESS });
    const outcome = stream.done().catch((thrown: unknown) => thrown);
    await stream.emitted('text');
    stream.abort();
    assert.instance(await outcome, Anthropic.APIUserAbortError);
    await hosted.untilFree();
    await hosted.stop();
  });

  test.run();
}

for (const mode of MODES) testIn(mode);
