// Prompt images in the engine process: only a few stay decoded, and released ones are freed.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { MediaTable } from '../../../ts/engine/child/media-table.js';
import type { NativeImage, NativeMedia, NativePrompt } from '../../../ts/native/addon.js';

const test = suite('unit: images of prompts in the process of an engine');

const images: NativeImage[] = [{ bytes: Uint8Array.of(1) }];

/** Reads when it is told to, unless it reads at once. */
function tableAndReads(atOnce = true) {
  const reads: { prompt: string; finish(): void }[] = [];
  const table = new MediaTable(
    ([prompt, pictures]) =>
      new Promise<NativePrompt>((resolve) => {
        const media = pictures.length === 0 ? null : ({ prompt } as unknown as NativeMedia);
        const finish = () => resolve({ tokens: Int32Array.of(prompt.length), media });
        reads.push({ prompt, finish });
        if (atOnce) finish();
      }),
  );
  return { table, reads };
}

async function idOf(table: MediaTable, prompt: string): Promise<number> {
  return (await table.tokenize([prompt, images], 1)).media as number;
}

async function isGone(table: MediaTable, id: number): Promise<boolean> {
  return table.get(id).then(
    () => false,
    () => true,
  );
}

test('a prompt has a number if it has images', async () => {
  const { table } = tableAndReads();
  assert.equal(await table.tokenize(['abc', []], 1), { tokens: Int32Array.of(3), media: null });
  assert.equal(await table.tokenize(['abc', images], 1), { tokens: Int32Array.of(3), media: 1 });
});

test('the latest are there as they were read, others are read once more', async () => {
  const { table, reads } = tableAndReads();
  const ids: number[] = [];
  for (let at = 0; at < 20; at += 1) ids.push(await idOf(table, `${at}`));
  reads.length = 0;
  for (const id of ids.slice(-8)) await table.get(id);
  assert.equal(reads, []);
  assert.equal(await table.get(ids[0] as number), { prompt: '0' });
  assert.equal(
    reads.map(({ prompt }) => prompt),
    ['0'],
  );
  await table.get(ids[0] as number);
  assert.is(reads.length, 1, 'it is among the latest now');
});

test('released media are removed', async () => {
  const { table } = tableAndReads();
  const id = await idOf(table, 'a');
  table.release(id);
  assert.ok(await isGone(table, id));
});

test('media released during a read are removed, and the reader still gets them', async () => {
  const { table, reads } = tableAndReads(false);
  const ids: number[] = [];
  for (let at = 0; at < 9; at += 1) {
    const id = idOf(table, `${at}`);
    reads.at(-1)?.finish();
    ids.push(await id);
  }
  const first = ids[0] as number;
  const asked = table.get(first);
  table.release(first);
  reads.at(-1)?.finish();
  assert.equal(await asked, { prompt: '0' });
  assert.ok(await isGone(table, first));
});

test.run();
