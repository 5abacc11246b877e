import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { ImageInput } from '../../../ts/engine/job.js';
import { PreparedPrompts, shareImages } from '../../../ts/engine/prepared-prompts.js';
import { picture } from '../../support/picture.js';

function counted(fails = 0) {
  const asked: string[] = [];
  const prompts = new PreparedPrompts();
  const prepare = (prompt: string, images: readonly ImageInput[]) =>
    prompts.get(prompt, images, async () => {
      asked.push(prompt);
      if (asked.length <= fails) throw new Error('not now');
      return { tokens: Int32Array.of(asked.length), media: null };
    });
  return { asked, prepare };
}

test('a prompt with pictures that are shared is prepared once, however often it is asked for', async () => {
  const { asked, prepare } = counted();
  const images = shareImages([picture(1)]);
  const all = await Promise.all([1, 2, 3].map(() => prepare('Look', images)));
  assert.equal(
    all.map(({ tokens }) => tokens[0]),
    [1, 1, 1],
  );
  await prepare('Look again', images);
  assert.equal(asked, ['Look', 'Look again']);
});

test('a prompt with pictures whose preparation failed is prepared once more', async () => {
  const { asked, prepare } = counted(1);
  const images = shareImages([picture(1)]);
  const failed = () => prepare('Look', images).catch(({ message }: Error) => message);
  assert.equal(await Promise.all([failed(), failed()]), ['not now', 'not now']);
  const again = await Promise.all([1, 2].map(() => prepare('Look', images)));
  assert.equal([asked.length, ...again.map(({ tokens }) => tokens[0])], [2, 2, 2]);
});

test('pictures that nobody said are shared may change', async () => {
  const { asked, prepare } = counted();
  const images: ImageInput[] = [picture(1)];
  await prepare('Look', images);
  images[0] = picture(2);
  await prepare('Look', images);
  assert.is(asked.length, 2);
});

test('texts are not kept', async () => {
  const { asked, prepare } = counted();
  const none = shareImages([]);
  await prepare('Hello', none);
  await prepare('Hello', none);
  assert.is(asked.length, 2);
});

test.run();
