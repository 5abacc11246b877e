import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ChasquiError } from '../../../../ts/errors.js';
import { parseJsonBody } from '../../../../ts/http/body/json-body.js';

const test = suite('unit: what of a body is an image');

const LARGE = 'A'.repeat(5 * 2 ** 20);
const parse = (value: unknown) => parseJsonBody(Buffer.from(JSON.stringify(value)));
const tooMuch = (error: unknown) => error instanceof ChasquiError && error.code === 'request_too_large';

const IMAGES: object[] = [
  { type: 'base64', media_type: 'image/png', data: LARGE },
  { data: LARGE, type: 'base64' },
  { url: `data:image/png;base64,${LARGE}` },
  { url: `DATA:Image/PNG;base64,${LARGE}` },
  { type: 'input_image', image_url: `data:image/webp;base64,${LARGE}` },
];

for (const image of IMAGES) {
  test(`an image: ${JSON.stringify(image).slice(0, 60)}`, () => assert.equal(parse([image]), [image]));
}

const TEXTS: object[] = [
  { data: LARGE },
  { type: 'object', data: LARGE },
  { type: 'base64', text: LARGE },
  { source: { type: 'base64' }, data: LARGE },
  { url: LARGE },
  { url: `data:text/plain,${LARGE}` },
  { image_url: `data:,${LARGE}` },
  { href: `data:image/png;base64,${LARGE}` },
];

for (const text of TEXTS) {
  test(`a text: ${JSON.stringify(text).slice(0, 60)}`, () => assert.throws(() => parse([text]), tooMuch));
}

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
});

test.run();
