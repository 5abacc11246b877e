// The official client, its stream helper included, and POST /v1/responses of a real server with the demo model.
import OpenAI, { toFile } from 'openai';
import { zodResponsesFunction, zodTextFormat } from 'openai/helpers/zod';
import type { ResponseStreamEvent } from 'openai/resources/responses/responses';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { z } from 'zod';
import { pictureUri } from '../support/image-files.js';
import { inPieces } from '../support/in-pieces.js';
import { ENDLESS_CONTEXT } from '../support/long-answer.js';
import { HostedMode, MODEL, MODES, type Mode } from '../support/modes.js';
import { openAiClient } from '../support/openai-client.js';
import { until } from '../support/until.js';

interface Context {
  hosted: HostedMode;
  client: OpenAI;
}

const model = MODEL;
const counting = { model, temperature: 0, input: 'Count from 3 to 9' };
const NUMBERS = '3, 4, 5, 6, 7, 8, 9';

const Forecast = z.object({ city: z.enum(['Cuzco', 'Lima']), days: z.number().int().min(1).max(9) });
const weather = zodResponsesFunction({ name: 'weather', parameters: Forecast });
/** Arguments of hundreds of tokens. */
const Notes = z.object({ days: z.array(z.number().int().min(1).max(9)).length(100) });
const noting = zodResponsesFunction({ name: 'note', parameters: Notes });
const asking = {
  model,
  temperature: 0,
  input: 'How is the weather in Cuzco?',
  tools: [weather],
  tool_choice: { type: 'function' as const, name: 'weather' },
  parallel_tool_calls: false,
};

function testIn(mode: Mode): void {
  const test = suite<Context>(`clients: openai, responses, ${mode} mode`);

  test.before(async (context) => {
    context.hosted = await HostedMode.start(mode, ENDLESS_CONTEXT);
    context.client = openAiClient(context.hosted);
  });
  test.after(({ hosted }) => hosted.stop());

  test('gets a whole response', async ({ client }) => {
    const { data, request_id } = await client.responses.create({ ...counting, metadata: { a: 'b' } }).withResponse();
    assert.is(data.output_text, NUMBERS);
    assert.equal([data.status, data.metadata], ['completed', { a: 'b' }]);
    assert.match(String(request_id), /^req_/);
    const { usage } = data;
    assert.ok(usage && usage.total_tokens === usage.input_tokens + usage.output_tokens && usage.output_tokens > 5);
  });

  test('reads a stream event by event', async ({ client }) => {
    const events: ResponseStreamEvent[] = [];
    for await (const event of await client.responses.create({ ...counting, stream: true })) events.push(event);
    assert.equal(
      events.map((event) => event.sequence_number),
      events.map((_, index) => index),
    );
    const text = events.map((event) => (event.type === 'response.output_text.delta' ? event.delta : '')).join('');
    const last = events.at(-1);
    assert.is(text, NUMBERS);
    assert.ok(last?.type === 'response.completed' && last.response.usage);
  });

  test('puts a stream together again, the same as the whole', async ({ client }) => {
    const stream = client.responses.stream(counting);
    let snapshot = '';
    stream.on('response.output_text.delta', (event) => {
      snapshot = event.snapshot;
    });
    const response = await stream.finalResponse();
    assert.equal([snapshot, response.output_text, response.status], [NUMBERS, NUMBERS, 'completed']);
  });

  test('goes on with what it got: every item can be sent back', async ({ client }) => {
    const first = await client.responses.create(counting);
    const input = [
      { role: 'user' as const, content: counting.input },
      ...first.output,
      { role: 'user' as const, content: [{ type: 'input_text' as const, text: 'Count from 3 to 5' }] },
    ];
    const request = {
      model,
      temperature: 0,
      instructions: 'Be brief.',
      input: input as OpenAI.Responses.ResponseInput,
    };
    const second = await client.responses.create(request);
    assert.is(second.status, 'completed');
    assert.ok(second.output_text.length > 0);
    const longer = (second.usage?.input_tokens ?? 0) - (first.usage?.input_tokens ?? 0);
    assert.ok(longer > 20, `the second prompt is only ${longer} tokens longer`);
  });

  test('is told that a response is incomplete', async ({ client }) => {
    const response = await client.responses.create({ ...counting, max_output_tokens: 4 });
    assert.equal([response.status, response.incomplete_details], ['incomplete', { reason: 'max_output_tokens' }]);
    assert.is(response.usage?.output_tokens, 4);
    const streamed = await client.responses.stream({ ...counting, max_output_tokens: 4 }).finalResponse();
    assert.equal([streamed.status, streamed.output_text], ['incomplete', response.output_text]);
  });

  test('gets log-probabilities', async ({ client }) => {
    const include = ['message.output_text.logprobs' as const];
    const { output } = await client.responses.create({ ...counting, include, top_logprobs: 2 });
    const part = output[0]?.type === 'message' ? output[0].content[0] : undefined;
    assert.ok(part?.type === 'output_text' && part.logprobs);
    assert.is(part.logprobs.map(({ token }) => token).join(''), NUMBERS);
    assert.ok(part.logprobs.every(({ top_logprobs }) => top_logprobs.length === 2));
  });

  test('gets a call of its function, and sends back what it came to', async ({ client }) => {
    const called = await client.responses.parse(asking);
    const [call, ...more] = called.output;
    assert.ok(call?.type === 'function_call' && more.length === 0, JSON.stringify(called.output));
    assert.equal([call.name, call.status], ['weather', 'completed']);
    assert.equal(Forecast.parse(call.parsed_arguments), call.parsed_arguments);
    const input = [
      { role: 'user' as const, content: asking.input },
      call,
      { type: 'function_call_output' as const, call_id: call.call_id, output: 'Rain' },
    ];
    const { tools } = asking;
    const answered = await client.responses.create({ model, input, tools, tool_choice: 'none', max_output_tokens: 20 });
    assert.is(answered.output[0]?.type, 'message');
  });

  test('uploads a file, and names it in its input', async ({ client }) => {
    const file = await client.files.create({
      file: await toFile(Buffer.from('A list.'), 'a.txt'),
      purpose: 'user_data',
    });
    assert.is(file.filename, 'a.txt');
    const content = [
      { type: 'input_file' as const, file_id: file.id },
      { type: 'input_text' as const, text: counting.input },
    ];
    const { data, response } = await client.responses
      .create({ ...counting, input: [{ role: 'user', content }] })
      .withResponse();
    assert.ok((data.usage?.input_tokens ?? 0) > 0);
    assert.is(response.headers.get('x-chasqui-ignored'), null);
    const listed: string[] = [];
    for await (const each of client.files.list()) listed.push(each.id);
    assert.equal(listed, [file.id]);
    assert.is(await (await client.files.content(file.id)).text(), 'A list.');
    assert.is((await client.files.delete(file.id)).deleted, true);
  });

  test('gets calls of tools that it runs itself', async ({ client }) => {
    const { tools: _tools, tool_choice: _choice, ...rest } = asking;
    const tools = [{ type: 'shell' as const }, { type: 'apply_patch' as const }];
    const response = await client.responses.create({ ...rest, tools, tool_choice: { type: 'apply_patch' } });
    const [call] = response.output;
    assert.ok(call?.type === 'apply_patch_call' && call.status === 'completed', JSON.stringify(call));
    assert.type(call.operation.path, 'string');
  });

  test('reads a streamed call', async ({ client }) => {
    const long = { ...asking, tools: [noting], tool_choice: { ...asking.tool_choice, name: 'note' } };
    const { pieces, call } = await inPieces(async () => {
      const stream = client.responses.stream(long);
      const pieces: string[] = [];
      stream.on('response.function_call_arguments.delta', ({ snapshot }) => pieces.push(snapshot));
      return { pieces, call: (await stream.finalResponse()).output[0] };
    });
    assert.ok(call?.type === 'function_call');
    assert.is(pieces.at(-1), call.arguments);
    assert.equal(Notes.parse(call.parsed_arguments), Notes.parse(JSON.parse(call.arguments)));
  });

  test('gets an answer of the form it asks for', async ({ client }) => {
    const text = { format: zodTextFormat(Forecast, 'forecast') };
    const { output_parsed } = await client.responses.parse({ model, temperature: 0, input: asking.input, text });
    assert.equal(Forecast.parse(output_parsed), output_parsed);
    const streamed = await client.responses
      .stream({ model, temperature: 0, input: asking.input, text })
      .finalResponse();
    assert.equal(streamed.output_parsed, output_parsed);
  });

  test('goes on from a response by its id, asks for it, lists its items and deletes it', async ({ client }) => {
    const first = await client.responses.create(counting);
    const again = await client.responses.retrieve(first.id);
    assert.equal([again.id, again.output_text], [first.id, NUMBERS]);
    const input = 'Count from 3 to 5';
    const second = await client.responses.create({ ...counting, input, previous_response_id: first.id });
    const longer = (second.usage?.input_tokens ?? 0) - (first.usage?.input_tokens ?? 0);
    assert.ok(longer > 20, `the second prompt is only ${longer} tokens longer`);
    const items = [];
    for await (const item of client.responses.inputItems.list(second.id, { limit: 2, order: 'asc' })) items.push(item);
    assert.equal(
      items.map(({ type }) => type),
      ['message', 'message', 'message'],
    );
    await client.responses.delete(first.id);
    const gone = await client.responses.retrieve(first.id).catch((thrown: unknown) => thrown);
    assert.instance(gone, OpenAI.NotFoundError);
  });

  test('has a response computed in the background, and cancels another', async ({ client, hosted }) => {
    const queued = await client.responses.create({ ...counting, background: true });
    assert.is(queued.status, 'queued');
    const ended = async () => (await client.responses.retrieve(queued.id)).status === 'completed';
    await until(ended, 'the response is completed', 60_000);
    assert.is((await client.responses.retrieve(queued.id)).output_text, NUMBERS);
    const endless = { ...counting, ignore_eos: true, background: true };
    const { id } = await client.responses.create(endless);
    assert.is((await client.responses.cancel(id)).status, 'cancelled');
    await hosted.untilFree();
  });

  test('counts the tokens of a prompt', async ({ client }) => {
    const { input_tokens } = await client.responses.inputTokens.count({ model, input: counting.input });
    assert.is(input_tokens, (await client.responses.create(counting)).usage?.input_tokens);
  });

  test('counts those of its pictures too', async ({ client }) => {
    const image_url = await pictureUri('png');
    const content = [
      { type: 'input_text' as const, text: 'What is this?' },
      { type: 'input_image' as const, image_url, detail: 'auto' as const },
    ];
    const request = { model, input: [{ role: 'user' as const, content }] };
    const { input_tokens } = await client.responses.inputTokens.count(request);
    const { usage } = await client.responses.create({ ...request, max_output_tokens: 1 });
    assert.is(input_tokens, usage?.input_tokens);
    const text = await client.responses.inputTokens.count({ model, input: 'What is this?' });
    assert.ok(input_tokens > text.input_tokens);
  });

  test('gets typed errors', async ({ client }) => {
    const failures: [object, new (...args: never[]) => Error, string, string][] = [
      [{ temperature: -1 }, OpenAI.BadRequestError, 'invalid_value', 'temperature'],
      [
        { previous_response_id: 'resp_1' },
        OpenAI.BadRequestError,
        'previous_response_not_found',
        'previous_response_id',
      ],
      [{ input: 'word '.repeat(ENDLESS_CONTEXT) }, OpenAI.BadRequestError, 'context_length_exceeded', 'input'],
      [
        { input: 'word '.repeat(ENDLESS_CONTEXT), stream: true },
        OpenAI.BadRequestError,
        'context_length_exceeded',
        'input',
      ],
    ];
    if (mode !== 'desktop') failures.push([{ model: 'other' }, OpenAI.NotFoundError, 'model_not_found', 'model']);
    for (const [change, type, code, param] of failures) {
      const error = await client.responses.create({ ...counting, ...change }).catch((thrown: unknown) => thrown);
      assert.instance(error, type);
      const { code: told, param: field } = error as InstanceType<typeof OpenAI.APIError>;
      assert.equal([told, field], [code, param]);
    }
  });

  test('aborts a stream and a whole response, and the sequence is freed', async ({ client, hosted }) => {
    const endless = { ...counting, ignore_eos: true };
    for await (const event of await client.responses.create({ ...endless, stream: true })) {
      if (event.type === 'response.output_text.delta') break;
    }
    await hosted.untilFree();
    const controller = new AbortController();
    const whole = client.responses.create(endless, { signal: controller.signal }).catch((thrown: unknown) => thrown);
    await until(async () => (await hosted.health()).active > 0, 'the request runs');
    controller.abort();
    assert.instance(await whole, OpenAI.APIUserAbortError);
    await hosted.untilFree();
  });

  test.run();
}

for (const mode of MODES) testIn(mode);
