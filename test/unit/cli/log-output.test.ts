import { EventEmitter } from 'node:events';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type LogFormat, lineWriter, toText } from '../../../ts/cli/output/log-output.js';

const test = suite('unit: the log as people read it');

const LINE = {
  level: 'info',
  time: '2026-01-02T03:04:05.678Z',
  id: 'req_1',
  method: 'POST',
  path: '/v1/chat/completions',
  status: 200,
  model: 'm',
  prompt_tokens: 20,
  cached_tokens: 5,
  completion_tokens: 11,
  finish_reason: 'stop',
  first_token_ms: 12.3,
  duration_ms: 1234.5,
  msg: 'request',
};

const shown = (changes: object) => toText(JSON.stringify({ ...LINE, ...changes }));

test('a request is a line', () => {
  const line =
    '03:04:05 POST /v1/chat/completions 200  1.2 s  first token 12 ms  20 (5 cached) + 11 tokens  stop  m  req_1\n';
  assert.is(shown({}), line);
});

test('unknown values are omitted', () => {
  const { time, method, path, status, id, level, msg } = LINE;
  const line = JSON.stringify({
    time,
    method,
    path,
    status: 404,
    id,
    level,
    msg,
    error: 'unknown_url',
    duration_ms: 2,
  });
  assert.is(toText(line), '03:04:05 POST /v1/chat/completions 404  2 ms  unknown_url  req_1\n');
  assert.is(status, 200);
});

test('a prompt has a line of its own', () => {
  assert.match(shown({ prompt: 'Hi\n"you"' }), /req_1\n {2}"Hi\\n\\"you\\""\n$/);
});

test('an error of the server comes with its stack', () => {
  const err = { type: 'Error', message: 'broken', stack: 'Error: broken\n    at x' };
  const line = JSON.stringify({ level: 'error', time: LINE.time, id: 'req_1', err, msg: 'request failed' });
  assert.is(toText(line), '03:04:05 error: request failed  req_1\nError: broken\n    at x\n');
});

test('requests cannot write control characters to the terminal', () => {
  const text = shown({ path: '/\u001b[2J\r\u0007\u009b', prompt: '\u001b]0;title\u0007' });
  // biome-ignore lint/suspicious/noControlCharactersInRegex: none may be left
  assert.not.match(text, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
});

function written(format: LogFormat, isTTY: boolean): string {
  const output = Object.assign(new EventEmitter(), { isTTY, text: '', write: (text: string) => (output.text += text) });
  lineWriter(output, format)(`${JSON.stringify(LINE)}\n`);
  return output.text[0] === '{' ? 'json' : 'text';
}

test('as it was asked for, or as a terminal shows it best', () => {
  assert.equal([written('auto', true), written('auto', false)], ['text', 'json']);
  assert.equal([written('json', true), written('text', false)], ['json', 'text']);
});

test('a log that cannot be written ends nothing', () => {
  const output = Object.assign(new EventEmitter(), { write: () => output.emit('error', new Error('EPIPE')) });
  lineWriter(output, 'json')('{}\n');
});

test.run();
