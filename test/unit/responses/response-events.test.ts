// Hand-made answers, and the client's own reader to put their events together again.
import { ResponseStream } from 'openai/lib/responses/ResponseStream';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { newResponse } from '../../../ts/api/openai/responses/new-response.js';
import { ResponseEvents } from '../../../ts/api/openai/responses/response-events.js';
import type { CompletionDelta } from '../../../ts/api/shared/completion/completion-reader.js';
import { NEUTRAL_SAMPLING } from '../../../ts/options/sampling-table.js';
import { dataOf, FULL_COMPLETION, toReadable } from '../../support/completion-deltas.js';
import { finishOf } from '../../support/fake-engine.js';

const test = suite('unit: the events of a response');

function play(deltas: readonly CompletionDelta[], finish = finishOf(10, 5), reasoningTokens: number | null = null) {
  const events = new ResponseEvents(newResponse({ model: 'm', input: 'x' }, 'm', NEUTRAL_SAMPLING, true));
  const told = [
    ...events.begin(),
    ...deltas.flatMap((delta) => events.add(delta)),
    ...events.end(finish, reasoningTokens),
  ];
  return { events, told, data: told.map(dataOf) };
}

const types = (data: { type: string }[]) => data.map(({ type }) => type.replace(/^response\./, ''));
const part = (name: string, deltas: number) => [
  'output_item.added',
  'content_part.added',
  ...Array(deltas).fill(`${name}.delta`),
  `${name}.done`,
  'content_part.done',
  'output_item.done',
];
const call = (deltas: number) => [
  'output_item.added',
  ...Array(deltas).fill('function_call_arguments.delta'),
  'function_call_arguments.done',
  'output_item.done',
];

test('parts come one after the other, each announced and closed', () => {
  const { data } = play(FULL_COMPLETION);
  assert.equal(types(data), [
    'created',
    'in_progress',
    ...part('reasoning_text', 2),
    ...part('output_text', 2),
    ...call(2),
    ...call(1),
    'completed',
  ]);
  assert.equal(
    data.map(({ sequence_number }) => sequence_number),
    data.map((_, index) => index),
  );
});

test('an item keeps its place and its id, and each part ends with all that it grew by', () => {
  const { data } = play(FULL_COMPLETION);
  const items = new Map<number, { id: string; text: string }>();
  for (const event of data) {
    if (event.type === 'response.output_item.added') {
      assert.is(event.item.arguments ?? '', '');
      assert.is(event.output_index, items.size);
      assert.is(event.item.status, 'in_progress');
      items.set(event.output_index, { id: event.item.id, text: '' });
    }
    const item = items.get(event.output_index);
    if (!item) continue;
    if ('item_id' in event) assert.is(event.item_id, item.id);
    if (event.type.endsWith('.delta')) item.text += event.delta;
    if (event.type.endsWith('_text.done')) assert.is(event.text, item.text);
    if (event.type.endsWith('arguments.done')) assert.is(event.arguments, item.text);
    if (event.type === 'response.content_part.done') assert.is(event.part.text, item.text);
    if (event.type === 'response.output_item.done') assert.is(event.item.status, 'completed');
  }
  assert.equal(
    [...items.values()].map(({ text }) => text),
    ['They want the weather.', 'Let me look.', '{"city":"Cuzco"}', '{}'],
  );
});

test('the whole response is what the client makes of the events', async () => {
  const { events, told, data } = play(FULL_COMPLETION, finishOf(10, 5, { cachedTokens: 8 }), 3);
  const { output_text, output_parsed, ...read } = await ResponseStream.fromReadableStream(
    toReadable(told),
  ).finalResponse();
  assert.is(output_text, 'Let me look.');
  assert.equal(JSON.parse(JSON.stringify({ ...read, output: unparsed(read.output) })), plain(events.response));
  assert.equal(data.at(-1).response, plain(events.response));
  assert.equal(events.response.usage, {
    input_tokens: 10,
    input_tokens_details: { cached_tokens: 8, cache_write_tokens: 0 },
    output_tokens: 5,
    output_tokens_details: { reasoning_tokens: 3 },
    total_tokens: 15,
  });
  assert.equal(
    events.response.output.map(({ type }) => type),
    ['reasoning', 'message', 'function_call', 'function_call'],
  );
});

test('snapshots before the end consist of the deltas so far', async () => {
  const { told } = play(FULL_COMPLETION);
  const stream = ResponseStream.fromReadableStream(toReadable(told));
  const snapshots: string[] = [];
  stream.on('response.output_text.delta', ({ snapshot }) => snapshots.push(snapshot));
  await stream.done();
  assert.equal(snapshots, ['Let me ', 'Let me look.']);
});

test('an answer that the token limit ends is incomplete, and so is its last item', () => {
  const { data, events } = play(FULL_COMPLETION.slice(0, 3), finishOf(10, 5, { reason: 'length' }));
  assert.is(data.at(-1).type, 'response.incomplete');
  const { status, incomplete_details, completed_at, output } = events.response;
  assert.equal([status, incomplete_details, completed_at], ['incomplete', { reason: 'max_output_tokens' }, null]);
  assert.equal(
    output.map((item) => 'status' in item && item.status),
    ['completed', 'incomplete'],
  );
});

test('an answer of nothing has a message all the same', () => {
  const { data, events } = play([]);
  assert.equal(types(data), ['created', 'in_progress', ...part('output_text', 0), 'completed']);
  assert.equal(events.response.output.length, 1);
});

test('a failure closes what is open, then ends the response, then is told', async () => {
  const events = new ResponseEvents(newResponse({ model: 'm', input: 'x' }, 'm', NEUTRAL_SAMPLING, true));
  const error = { message: 'It broke.', type: 'server_error', param: null, code: 'decode_failed' } as const;
  const told = [...events.begin(), ...events.add({ content: 'Hel' }), ...events.fail({ error })];
  const data = told.map(dataOf);
  const closing = ['output_text.done', 'content_part.done', 'output_item.done', 'failed', 'error'];
  assert.equal(types(data).slice(-5), closing);
  assert.equal(data.at(-2).response.error, { code: 'server_error', message: 'It broke.' });
  assert.equal(data.at(-2).response.output[0].status, 'incomplete');
  const { type, sequence_number, ...rest } = data.at(-1);
  assert.equal([type, sequence_number], ['error', data.length - 1]);
  assert.equal(rest, { code: 'decode_failed', message: 'It broke.', param: null, error });
});

test('the response repeats settings of the request', () => {
  const request = {
    model: 'm',
    input: 'x',
    instructions: 'Be brief.',
    temperature: 0.5,
    metadata: { a: 'b' },
    tools: [{ type: 'function', name: 'f', parameters: {} }],
    tool_choice: 'required' as const,
    reasoning: { effort: 'low' as const },
    store: true,
  };
  const response = newResponse(request, 'served', NEUTRAL_SAMPLING, false);
  const { instructions, temperature, metadata, tools, tool_choice, reasoning } = response;
  assert.equal(
    { instructions, temperature, metadata, tools, tool_choice, reasoning },
    {
      instructions: 'Be brief.',
      temperature: 0.5,
      metadata: { a: 'b' },
      tools: [{ type: 'function', name: 'f', parameters: {}, description: null, strict: false }],
      tool_choice: 'required',
      reasoning: { effort: 'low', summary: null },
    },
  );
  assert.equal([response.store, response.model, response.top_p], [false, 'served', 1]);
  assert.match(response.id, /^resp_[0-9a-f]{32}$/);
});

/** The client adds what its helpers parsed. */
function unparsed(output: readonly object[]): object[] {
  return output.map((item) => {
    const { parsed_arguments, ...rest } = item as Record<string, unknown>;
    if (!('content' in rest) || rest.type !== 'message') return rest;
    const content = (rest.content as Record<string, unknown>[]).map(({ parsed, ...own }) => own);
    return { ...rest, content };
  });
}

function plain(value: object): object {
  return JSON.parse(JSON.stringify(value));
}

test.run();
