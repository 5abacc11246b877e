import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type ChatPart, joinParts } from '../../../ts/engine/engine.js';
import type { ImageInput } from '../../../ts/engine/job.js';

const test = suite('unit: join parts');

const one = { bytes: Uint8Array.of(1) };
const two = { bytes: Uint8Array.of(2) };
const text = (content: string): ChatPart => ({ type: 'text', text: content });
const image = (content: ImageInput): ChatPart => ({ type: 'image', image: content });

test('text stays as it is', () => {
  assert.is(joinParts('a\nb', '<i>', []), 'a\nb');
});

test('a line break keeps texts apart, and nothing a text and a picture', () => {
  const images: ImageInput[] = [];
  assert.is(
    joinParts([text('a'), text('b'), image(one), image(two), text('c'), text('d')], '<i>', images),
    'a\nb<i><i>c\nd',
  );
  assert.equal(images, [one, two]);
});

test.run();
