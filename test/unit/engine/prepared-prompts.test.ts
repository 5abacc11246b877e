import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { ImageInput } from '../../../ts/engine/job.js';
import { Preparation } from '../../../ts/engine/preparation.js';
import { PreparedPrompts } from '../../../ts/engine/prepared-prompts.js';
import { picture } from '../../support/picture.js';

function counted() {
  const asked: string[] = [];
  const tokenizePrompt = async (prompt: string) => {
    asked.push(prompt);
    return { tokens: Int32Array.of(asked.length), media: null };
  };
  const preparation = new Preparation({ cancelPreparation: () => {} });
  return { asked, prompts: new PreparedPrompts({ tokenizePrompt }, preparation) };
}

test('a prompt with pictures that are shared is prepared once, however often it is asked for', async () => {
  const { asked, prompts } = counted();
  const images = [picture(1)];
  prompts.share(images);
  const all = await Promise.all([1, 2, 3].map(() => prompts.prepare('Look', images)));
  assert.equal(
    all.map(({ tokens }) => tokens[0]),
    [1, 1, 1],
  );
  await prompts.prepare('Look again', images);
  assert.equal(asked, ['Look', 'Look again']);
});

test('a prompt with pictures whose preparation failed is prepared once more', async () => {
  let asked = 0;
  const tokenizePrompt = async () => {
    asked += 1;
    if (asked === 1) throw new Error('not now');
    return { tokens: Int32Array.of(asked), media: null };
  };
  const prompts = new PreparedPrompts({ tokenizePrompt }, new Preparation({ cancelPreparation: () => {} }));
  const images = [picture(1)];
  prompts.share(images);
  const failed = () => prompts.prepare('Look', images).catch(({ message }: Error) => message);
  assert.equal(await Promise.all([failed(), failed()]), ['not now', 'not now']);
  const again = await Promise.all([1, 2].map(() => prompts.prepare('Look', images)));
  assert.equal([asked, ...again.map(({ tokens }) => tokens[0])], [2, 2, 2]);
});

test('pictures that nobody said are shared may change', async () => {
  const { asked, prompts } = counted();
  const images: ImageInput[] = [picture(1)];
  await prompts.prepare('Look', images);
  images[0] = picture(2);
  await prompts.prepare('Look', images);
  assert.is(asked.length, 2);
});

test('texts are not kept', async () => {
  const { asked, prompts } = counted();
  const none: ImageInput[] = [];
  prompts.share(none);
  await prompts.prepare('Hello', none);
  await prompts.prepare('Hello', none);
  assert.is(asked.length, 2);
});

test.run();
