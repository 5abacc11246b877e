// Hand-made answers, and the client's own reader to put their events together again.
import { MessageStream } from '@anthropic-ai/sdk/lib/MessageStream';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { MessageEvents } from '../../../ts/api/anthropic/messages/stream.js';
import type { CompletionDelta } from '../../../ts/api/shared/completion/completion-reader.js';
import { dataOf, FULL_COMPLETION, toReadable } from '../../support/completion-deltas.js';
import { finishOf } from '../../support/fake-engine.js';

const test = suite('unit: the events of an Anthropic message');

function newEvents() {
  return new MessageEvents({ model: 'm', requestId: 'req_1', promptTokens: 10, maxTokens: 5, stopSequences: ['END'] });
}

function play(deltas: readonly CompletionDelta[], finish = finishOf(10, 4), reasoningTokens: number | null = null) {
  const events = newEvents();
  const told = [
    ...events.begin(),
    ...deltas.flatMap((delta) => events.add(delta)),
    ...events.end(finish, reasoningTokens),
  ];
  return { events, told, data: told.map(dataOf) };
}

test('blocks are opened and closed in order, one at a time', () => {
  const { data } = play(FULL_COMPLETION);
  const block = (index: number, kind: string, deltas: string[]) => [
    `start ${index} ${kind}`,
    ...deltas.map((delta) => `${index} ${delta}`),
    `stop ${index}`,
  ];
  const told = data.map(({ type, index, content_block, delta }) => {
    if (type === 'content_block_start') return `start ${index} ${content_block.type}`;
    if (type === 'content_block_delta') return `${index} ${delta.type}`;
    if (type === 'content_block_stop') return `stop ${index}`;
    return type;
  });
  assert.equal(told, [
    'message_start',
    'ping',
    ...block(0, 'thinking', ['thinking_delta', 'thinking_delta', 'signature_delta']),
    ...block(1, 'text', ['text_delta', 'text_delta']),
    ...block(2, 'tool_use', ['input_json_delta', 'input_json_delta']),
    ...block(3, 'tool_use', ['input_json_delta']),
    'message_delta',
    'message_stop',
  ]);
});

test('the whole message is what the client makes of the events', async () => {
  const { events, told } = play(FULL_COMPLETION, finishOf(10, 4, { cachedTokens: 7 }), 2);
  const { parsed_output, ...read } = (await MessageStream.fromReadableStream(
    withoutPings(told),
  ).finalMessage()) as unknown as Record<string, unknown>;
  assert.equal(JSON.parse(JSON.stringify(read)), JSON.parse(JSON.stringify(events.message)));
  assert.equal(events.message.content, [
    { type: 'thinking', thinking: 'They want the weather.', signature: '' },
    { type: 'text', text: 'Let me look.' },
    { type: 'tool_use', id: 'call_a', name: 'weather', input: { city: 'Cuzco' }, caller: { type: 'direct' } },
    { type: 'tool_use', id: 'call_b', name: 'clock', input: {}, caller: { type: 'direct' } },
  ]);
  assert.is(events.message.stop_reason, 'tool_use');
  assert.equal(events.message.usage, {
    input_tokens: 3,
    cache_read_input_tokens: 7,
    cache_creation_input_tokens: 0,
    cache_creation: null,
    output_tokens: 4,
    output_tokens_details: { thinking_tokens: 2 },
    inference_geo: null,
    server_tool_use: null,
    service_tier: 'standard',
    speed: null,
  });
});

test('the beginning tells the length of the prompt', () => {
  const { message } = dataOf(newEvents().begin()[0] ?? '');
  assert.equal([message.usage.input_tokens, message.usage.output_tokens, message.content], [10, 0, []]);
  assert.match(message.id, /^msg_[0-9a-f]{32}$/);
});

test('the reason to stop is in Anthropic’s words', () => {
  const ends: [Parameters<typeof finishOf>, string, string | null][] = [
    [[10, 4], 'end_turn', null],
    [[10, 4, { stopString: 'END' }], 'stop_sequence', 'END'],
    [[10, 4, { stopString: '<|im_end|>' }], 'end_turn', null],
    [[10, 5, { reason: 'length' }], 'max_tokens', null],
    [[10, 4, { reason: 'length' }], 'model_context_window_exceeded', null],
  ];
  for (const [finish, stopReason, stopSequence] of ends) {
    const { data } = play([{ content: 'a' }], finishOf(...finish));
    const absent = { container: null, stop_details: null };
    assert.equal(data.at(-2).delta, { ...absent, stop_reason: stopReason, stop_sequence: stopSequence });
  }
});

test('a call that the token limit cut off is text', () => {
  const { events } = play(FULL_COMPLETION.slice(3, 5), finishOf(10, 5, { reason: 'length' }));
  assert.equal(events.message.content, [{ type: 'text', text: 'weather({"city":' }]);
  assert.is(events.message.stop_reason, 'max_tokens');
});

test('a failure closes what is open and is told in both envelopes', () => {
  const events = newEvents();
  const error = { message: 'It broke.', type: 'server_error', param: null, code: 'decode_failed' } as const;
  const data = [...events.begin(), ...events.add({ content: 'a' }), ...events.fail({ error })].map(dataOf);
  assert.equal(data.at(-2), { type: 'content_block_stop', index: 0 });
  assert.equal(data.at(-1), { type: 'error', request_id: 'req_1', error: { ...error, type: 'api_error' } });
});

function withoutPings(told: Parameters<typeof toReadable>[0]): ReadableStream {
  return toReadable(told.filter((event) => dataOf(event).type !== 'ping'));
}

test.run();
