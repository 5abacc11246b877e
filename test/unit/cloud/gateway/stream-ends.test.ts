// How streams end, by their protocols, and the last event of a stream that comes in pieces.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { countEvents, isLastEvent, LastEvent, toFailureFrames } from '../../../../ts/cloud/gateway/stream-ends.js';
import { ChasquiError } from '../../../../ts/errors.js';
import { toErrorBody } from '../../../../ts/http/error-handler.js';

const test = suite('cloud: ends of streams');

const ERROR = toErrorBody(new ChasquiError('runner_failed', 'm'));

for (const [path, ...ends] of [
  ['/v1/chat/completions', 'data: [DONE]', 'data: {"error":{"message":"m"}}'],
  ['/v1/completions', 'data: [DONE]', 'data: {"error":{"message":"m"}}'],
  ['/v1/messages', 'event: message_stop\ndata: {}', 'event: error\ndata: {}'],
  [
    '/v1/responses',
    'event: response.completed\ndata: {}',
    'event: response.incomplete\ndata: {}',
    'event: error\ndata: {}',
  ],
] as const) {
  test(`${path}: the ends that it may have, and what is none`, () => {
    for (const event of ends) assert.ok(isLastEvent(path, event), event);
    for (const event of ['', 'data: {"choices":[]}', 'event: message_delta\ndata: {}', ': [DONE]', 'data: [DON']) {
      assert.not(isLastEvent(path, event), event);
    }
    const last = new LastEvent();
    last.add(toFailureFrames(path, ERROR));
    assert.ok(isLastEvent(path, last.text), 'a failure of the gateway itself is an end');
  });
}

test('streams of other paths may end with anything', () => {
  assert.ok(isLastEvent('/v1/elsewhere', 'data: 1'));
});

test('events of a part are counted, with and without lengths of chunks, and no comments', () => {
  assert.is(countEvents(''), 0);
  assert.is(countEvents('data: 1\n\ndata: 2\n\n'), 2);
  assert.is(countEvents('event: delta\ndata: {"text":"\\ndata: "}\n\n: waiting\n\n'), 1);
  assert.is(countEvents('9\r\ndata: 1\n\n\r\n9\r\ndata: 2\n\n\r\n'), 2);
});

test('the last of several events of a piece, and of several pieces', () => {
  const last = new LastEvent();
  assert.is(last.text, '');
  last.add('data: 1\n\ndata: 2\n\n');
  assert.is(last.text, 'data: 2');
  last.add('event: x\ndata: 3\n\n');
  assert.is(last.text, 'event: x\ndata: 3');
});

test('the event behind a large one is found wherever the large one is cut', () => {
  const large = `event: large\ndata: ${'x'.repeat(100)}\n\n`;
  // Less than a line is never given as the beginning of a large event.
  for (let at = 20; at <= large.length; at++) {
    for (const rest of ['', 'data: [DONE]\n\n', 'data: 1\n\ndata: [DONE]\n\n']) {
      const last = new LastEvent();
      last.add(large.slice(0, at));
      if (at < large.length) last.add(large.slice(at) + rest);
      else if (rest !== '') last.add(rest);
      const found = last.text;
      if (rest === '') assert.ok(found.startsWith('event: large\n'), `cut at ${at}: ${found}`);
      else assert.is(found, 'data: [DONE]', `cut at ${at}`);
    }
  }
});

test.run();
