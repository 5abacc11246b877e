import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ChasquiError } from '../../../../ts/errors.js';
import { parseJsonBody } from '../../../../ts/http/body/json-body.js';

const test = suite('unit: what of a body is an image');

const LARGE = 'A'.repeat(5 * 2 ** 20);
const parse = (value: unknown) => parseJsonBody(Buffer.from(JSON.stringify(value)));
const tooMuch = (error: unknown) => error instanceof ChasquiError && error.code === 'request_too_large';

const URI = `data:image/png;base64,${LARGE}`;
const BASE64 = { type: 'base64', media_type: 'image/png', data: LARGE };

const shown = (part: object) => ({ messages: [{ role: 'user', content: [part] }] });
const result = (type: string, output: unknown) => ({ input: [{ type, output }] });

const IMAGES: [name: string, body: object][] = [
  ["a chat's", shown({ type: 'image_url', image_url: { url: URI } })],
  ['one whose type has capitals', shown({ type: 'image_url', image_url: { url: `DATA:Image/PNG;base64,${LARGE}` } })],
  ["Anthropic's", shown({ type: 'image', source: BASE64 })],
  ['its data before its type', shown({ type: 'image', source: { data: LARGE, type: 'base64' } })],
  ["Anthropic's as a data URI", shown({ type: 'image', source: { type: 'url', url: URI } })],
  ["in a tool's result", shown({ type: 'tool_result', content: [{ type: 'image', source: BASE64 }] })],
  ['in a document', shown({ type: 'document', source: { content: [{ type: 'image', source: BASE64 }] } })],
  ["a document's bytes", shown({ type: 'document', source: { ...BASE64, media_type: 'application/pdf' } })],
  ["a response's", { input: [{ role: 'user', content: [{ type: 'input_image', image_url: URI }] }] }],
  ["a conversation's", { items: [{ role: 'user', content: [{ type: 'input_image', image_url: URI }] }] }],
  ["in a function's result", result('function_call_output', [{ type: 'input_image', image_url: URI }])],
  ['a screenshot', result('computer_call_output', { type: 'computer_screenshot', image_url: URI })],
];

for (const [name, body] of IMAGES) {
  test(`an image: ${name}`, () => assert.equal(parse(body), body));
}

const TEXTS: [name: string, body: object][] = [
  ['data of no type', shown({ type: 'image', source: { data: LARGE } })],
  ['data of another type', shown({ type: 'document', source: { type: 'text', data: LARGE } })],
  ["a text's bytes", shown({ type: 'document', source: { ...BASE64, media_type: 'Text/Plain' } })],
  ['another field beside the type', shown({ source: { type: 'base64', text: LARGE } })],
  ['a type one level above', shown({ type: 'base64', source: { data: LARGE } })],
  ['an address', shown({ image_url: { url: LARGE } })],
  ['a URI without base64', shown({ image_url: { url: `data:text/plain,${LARGE}` } })],
  ['a URI that ends at once', shown({ type: 'input_image', image_url: `data:,${LARGE}` })],
  ['a URI under another key', shown({ href: URI })],
  ["a tool's input", shown({ type: 'tool_use', input: BASE64 })],
  ["a message's input", shown({ type: 'tool_use', input: { content: [{ source: BASE64 }] } })],
  ['what a call is about', { input: [{ type: 'computer_call', action: { url: URI } }] }],
  ["values of a tool's result", result('shell_call_output', { source: BASE64 })],
  ["a list as a tool's result", result('shell_call_output', [{ type: 'input_image', image_url: URI }])],
  ["a tool's schema", { tools: [{ input_schema: { content: [{ source: BASE64 }] } }] }],
  ["a template's variables", { chat_template_kwargs: { messages: [{ image_url: URI }] } }],
  ['the body itself', { image_url: URI, ...BASE64 }],
];

for (const [name, body] of TEXTS) {
  test(`a text: ${name}`, () => assert.throws(() => parse(body), tooMuch));
}

test('a body that is not UTF-8 is refused with the place of its first invalid byte', () => {
  const refusal = (...parts: (string | number[])[]) => {
    try {
      parseJsonBody(Buffer.concat(parts.map((part) => Buffer.from(part as string))));
    } catch (error) {
      return (error as Error).message;
    }
    return '';
  };
  const reason = (offset: number, byte: string) =>
    `The request body is not valid UTF-8: the byte at offset ${offset} is 0x${byte}. Encode the body as UTF-8.`;
  assert.is(refusal('{"a":"caf', [0xe9], '"}'), reason(9, 'e9'));
  assert.is(refusal('{"a":"é\ufffd\ufffd', [0xed, 0xa0, 0x80], '"}'), reason(14, 'ed'));
  assert.is(refusal('\ufeff"', [0xff], '\ufffd"'), reason(4, 'ff'));
  assert.is(refusal('"\u{1f600}', [0xf0, 0x9f]), reason(5, 'f0'));
  assert.equal(parse({ a: 'é\ufffd' }), { a: 'é\ufffd' });
});

test('texts add up, under whatever keys they stand', () => {
  const tools = Array.from({ length: 9 }, () => ({ parameters: { data: LARGE.slice(0, 500_000) } }));
  assert.throws(() => parse({ tools }), tooMuch);
  assert.ok(parse({ tools: tools.slice(1) }));
});

test('a list of images is one only where the route has such a list, and texts in it are texts', () => {
  const bytes = (value: unknown) => Buffer.from(JSON.stringify(value));
  const image = `data:image/png;base64,${LARGE}`;
  assert.ok(parseJsonBody(bytes({ messages: [{ images: [image, image] }] }), ['images']));
  assert.throws(() => parse({ images: [image] }), tooMuch);
  assert.throws(() => parseJsonBody(bytes({ images: [LARGE] }), ['images']), tooMuch);
  assert.throws(() => parseJsonBody(bytes({ images: [image, [LARGE]] }), ['images']), tooMuch);
  assert.throws(() => parseJsonBody(bytes({ images: image }), ['images']), tooMuch);
  const call = { function: { arguments: { images: [image] } } };
  assert.throws(() => parseJsonBody(bytes({ messages: [{ tool_calls: [call] }] }), ['images']), tooMuch);
});

test.run();
