import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { MAX_PARSED_BYTES, wantsStream } from '../../../../ts/cloud/gateway/wants-stream.js';

const test = suite('unit: whether a request wants a stream');
const LONG = 'x'.repeat(MAX_PARSED_BYTES);

const CASES: [name: string, body: string, wanted: boolean][] = [
  ['true', '{"stream":true}', true],
  ['false', '{"stream": false}', false],
  ['no member', '{}', false],
  ['a text', '{"stream":"true"}', false],
  ['blanks', '{ "stream" :\n true }', true],
  ['the last of two members', '{"stream":true,"stream":false}', false],
  ['a nested member', '{"messages":[{"arguments":{"stream":true}}]}', false],
  ['a nested member beside the outer one', '{"a":{"stream":true},"stream":false}', false],
  ['after nested objects', '{"a":[{"b":{}},[]],"stream":true}', true],
  ['a value that is named like the key', '{"a":"stream","b":true}', false],
  ['brackets, quotes and backslashes in texts', '{"a":"}]\\"{\\\\","b":"\\\\\\"","stream":true}', true],
  ['the member in a text', '{"a":"{\\"stream\\":true}"}', false],
  ['other characters', '{"ä":"日本 \u{1f600}","stream":true}', true],
];

for (const [name, body, wanted] of CASES) {
  test(`short and long bodies: ${name}`, () => {
    assert.is(wantsStream(Buffer.from(body)), wanted);
    assert.equal((JSON.parse(body) as { stream?: unknown }).stream === true, wanted);
    const long = body.replace('{', `{"long":"${LONG}"${body === '{}' ? '' : ','}`);
    assert.is(wantsStream(Buffer.from(long)), wanted);
  });
}

test('invalid bodies want none', () => {
  for (const body of ['', '[', '{"stream":tru', `{"stream":true,"a":"${LONG}`, LONG, `"${LONG}`, `{"${LONG}\\"`])
    assert.is(wantsStream(Buffer.from(body)), false, body.slice(0, 20));
});

test.run();
