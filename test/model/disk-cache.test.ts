// Conversations on disk: a reloaded engine continues the states of an earlier one, and no others.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { AdapterUse } from '../../ts/engine/adapter-file.js';
import { completeJob } from '../../ts/engine/job.js';
import type { LoadOptions } from '../../ts/engine/load-options.js';
import { loadModel, type Model } from '../../ts/index.js';
import { demoModelPath } from '../support/demo-model.js';
import { picture, toPng } from '../support/picture.js';
import { syntheticModel } from '../support/synthetic-model.js';
import { syntheticProjector } from '../support/synthetic-projector.js';
import { tinyAdapter } from '../support/tiny-adapter.js';
import { type TinyModel, tinyModel } from '../support/tiny-model.js';
import { until } from '../support/until.js';

const test = suite<{ folder: string }>('model: conversations on disk');

test.before.each((context) => {
  context.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-kept-'));
});
test.after.each(({ folder }) => fs.rmSync(folder, { recursive: true, force: true }));

const files = new Map<TinyModel, string>();
function modelFile(name: TinyModel): string {
  const file = files.get(name) ?? tinyModel(name);
  files.set(name, file);
  return file;
}

const LONG = 'Once there was a very long story that nobody wanted to hear twice. '.repeat(30);

async function withModel<T>(
  folder: string,
  body: (model: Model) => Promise<T>,
  options: LoadOptions = {},
  file = modelFile('llama'),
): Promise<T> {
  const kept = { cacheDiskMiB: 64, cacheFolder: folder };
  const model = await loadModel(file, { contextSize: 2048, threads: 1, parallel: 2, ...kept, ...options });
  try {
    return await body(model);
  } finally {
    await model.close();
  }
}

interface Answer {
  ids: number[];
  logprobs: number[];
  text: string;
  cached: number;
  prompt: number;
}

type AskOptions = { adapters?: AdapterUse[]; cachePrompt?: boolean; cacheSalt?: string };

async function ask(model: Model, prompt = LONG, more: AskOptions = {}) {
  const job = completeJob({ prompt, maxTokens: 12, temperature: 0, topLogprobs: 0, ignoreEos: true, ...more });
  const answer: Answer = { ids: [], logprobs: [], text: '', cached: -1, prompt: -1 };
  for await (const { id, text, logprobs, finish } of model.submit(job)) {
    answer.ids.push(id);
    answer.logprobs.push(logprobs?.logprob ?? 0);
    answer.text += text;
    if (finish) Object.assign(answer, { cached: finish.cachedTokens, prompt: finish.promptTokens });
  }
  return answer;
}

/** The first tokens are as probable as they were: a cell that does not belong there would change that a hundredfold. */
function assertSame(actual: Answer, expected: Answer): void {
  const first = actual.logprobs[0] as number;
  assert.is(actual.ids[0], expected.ids[0]);
  assert.ok(Math.abs(first - (expected.logprobs[0] as number)) < 0.02, `${actual.logprobs} ${expected.logprobs}`);
}

function kept(folder: string): string[] {
  // The engine creates the folder with the first state.
  if (!fs.existsSync(folder)) return [];
  const all = fs.readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return all.filter((name) => name.endsWith('.state')).map((name) => path.join(folder, name));
}

test('the same prompt is found again after a restart, and says the same', async ({ folder }) => {
  const first = await withModel(folder, (model) => ask(model));
  assert.is(first.cached, 0);
  assert.is(kept(folder).length, 1);
  await withModel(folder, async (model) => {
    const again = await ask(model);
    assert.is(again.cached, again.prompt - 1);
    assertSame(again, first);
    const other = await ask(model, `${LONG}And then?`);
    assert.ok(other.cached > 300, JSON.stringify(other));
    assertSame(other, await ask(model, `${LONG}And then?`, { cachePrompt: false }));
  });
});

test('a prompt with another salt finds nothing, neither in memory nor on disk', async ({ folder }) => {
  const salts = ['', 'one', 'two'];
  const first = await withModel(folder, async (model) => {
    const answers = [];
    for (const cacheSalt of salts) answers.push(await ask(model, LONG, { cacheSalt }));
    return answers;
  });
  assert.equal(
    first.map(({ cached }) => cached),
    [0, 0, 0],
  );
  assert.is(kept(folder).length, salts.length);
  await withModel(folder, async (model) => {
    assert.is((await ask(model, LONG, { cacheSalt: 'three' })).cached, 0);
    for (const cacheSalt of salts) {
      const again = await ask(model, LONG, { cacheSalt });
      assert.is(again.cached, again.prompt - 1, cacheSalt);
    }
  });
});

for (const name of ['mamba', 'jamba', 'gemma2'] as const) {
  test(`${name}, whose state is of use as a whole only: the next turn goes on from it`, async ({ folder }) => {
    const first = await withModel(folder, (model) => ask(model), {}, modelFile(name));
    const next = `${LONG}${first.text} And then?`;
    await withModel(
      folder,
      async (model) => {
        const again = await ask(model, next);
        assert.ok(again.cached > 300, JSON.stringify(again));
        assertSame(again, await ask(model, next, { cachePrompt: false }));
      },
      {},
      modelFile(name),
    );
  });
}

test('many ask for it at the same time, and one leaves', async ({ folder }) => {
  await withModel(folder, (model) => ask(model));
  await withModel(folder, async (model) => {
    const leaving = model.submit(completeJob({ prompt: `${LONG}0`, maxTokens: 4 }));
    const answers = Array.from({ length: 8 }, (_, n) => ask(model, `${LONG}${n}`));
    await leaving.return();
    for (const { cached } of await Promise.all(answers)) assert.ok(cached > 300, String(cached));
  });
});

test('a conversation that gives up its place is written at once, in the background', async ({ folder }) => {
  await withModel(
    folder,
    async (model) => {
      await ask(model);
      await ask(model, `Another one: ${LONG}`);
      await until(() => kept(folder).length === 1, 'the first conversation is on disk');
    },
    { parallel: 1 },
  );
  assert.is(kept(folder).length, 2);
});

test('a conversation that gives up its cells to others is written, too', async ({ folder }) => {
  // One MiB is enough for 2048 tokens of this model.
  const shared: LoadOptions = { kvBudgetMiB: 1, parallel: 8 };
  await withModel(
    folder,
    async (model) => {
      for (const name of ['one', 'two', 'three', 'four', 'five', 'six']) await ask(model, `${name}: ${LONG}`);
      const { kvCellsTotal, kvCellsUsed, kvCellsCached } = await model.stats();
      assert.ok(kvCellsTotal < 8 * 2048 && kvCellsUsed + kvCellsCached <= kvCellsTotal);
      await until(() => kept(folder).length >= 2, 'conversations are on disk while slots are free');
    },
    shared,
  );
  await withModel(
    folder,
    async (model) => {
      const first = await ask(model, `one: ${LONG}`);
      assert.is(first.cached, first.prompt - 1);
      assertSame(first, await ask(model, `one: ${LONG}`, { cachePrompt: false }));
    },
    shared,
  );
});

test('a budget for cells is no other context: positions beyond those that the model was trained for count', async ({
  folder,
}) => {
  const long: LoadOptions = { contextSize: 8192 };
  await withModel(folder, (model) => ask(model), long);
  const again = await withModel(folder, (model) => ask(model), { ...long, kvBudgetMiB: 1 });
  assert.is(again.cached, again.prompt - 1);
  assert.is((await withModel(folder, (model) => ask(model))).cached, 0);
});

test('a folder that is taken away while it is used fails no request', async ({ folder }) => {
  const inner = path.join(folder, 'inner');
  await withModel(
    inner,
    async (model) => {
      await ask(model);
      await ask(model, `Another one: ${LONG}`);
      await until(() => kept(inner).length === 1, 'the first conversation is on disk');
      fs.rmSync(inner, { recursive: true });
      fs.writeFileSync(inner, 'no folder');
      for (const name of ['a', 'b', 'c']) assert.is((await ask(model, `${name}: ${LONG}`)).ids.length, 12);
      assert.is((await ask(model)).ids.length, 12);
    },
    { parallel: 1 },
  );
  assert.is(fs.readFileSync(inner, 'utf8'), 'no folder');
});

test('a context that is too short for a kept conversation is none that fails', async ({ folder }) => {
  await withModel(folder, (model) => ask(model));
  const short = await withModel(folder, (model) => ask(model, LONG.slice(0, 600)), { contextSize: 512 });
  assert.is(short.cached, 0);
  const again = await withModel(folder, (model) => ask(model));
  assert.is(again.cached, again.prompt - 1);
});

test('weights that differ in one byte only, in a file of the same size and time: nothing is found', async ({
  folder,
}) => {
  const file = path.join(folder, 'model.gguf');
  const cache = path.join(folder, 'kept');
  fs.copyFileSync(syntheticModel('tiny', ''), file);
  await withModel(cache, (model) => ask(model), {}, file);
  const again = await withModel(cache, (model) => ask(model), {}, file);
  assert.is(again.cached, again.prompt - 1);
  const { size, atime, mtime } = fs.statSync(file);
  const weights = fs.openSync(file, 'r+');
  fs.writeSync(weights, Buffer.of(1), 0, 1, Math.floor(size * 0.7654321));
  fs.closeSync(weights);
  fs.utimesSync(file, atime, mtime);
  assert.is((await withModel(cache, (model) => ask(model), {}, file)).cached, 0);
});

test('a file of another model in the place of one is not taken for it', async ({ folder }) => {
  const [one, other] = [path.join(folder, 'one'), path.join(folder, 'other')];
  const answer = await withModel(one, (model) => ask(model));
  await withModel(other, (model) => ask(model), { ropeFreqBase: 20_000 });
  fs.copyFileSync(kept(other)[0] as string, kept(one)[0] as string);
  const again = await withModel(one, (model) => ask(model));
  assert.is(again.cached, 0);
  assertSame(again, answer);
});

test('a conversation with an image is not written, and goes on from the text before it', async ({ folder }) => {
  const shape = { kind: 'mlp', imageSize: 64, patchSize: 8, layers: 2, width: 64, hidden: 128, heads: 2 } as const;
  const mmproj = syntheticProjector({ ...shape, modelWidth: 160 });
  const image = toPng(picture(1));
  const say = async (model: Model, isSeen: boolean) => {
    const content = [{ type: 'text' as const, text: LONG }, ...(isSeen ? [{ type: 'image' as const, image }] : [])];
    for await (const { finish } of model.generate({ messages: [{ role: 'user', content }], maxTokens: 4 })) {
      if (finish) return finish;
    }
    throw new Error('the stream ended without a finish');
  };
  await withModel(folder, (model) => say(model, true), { mmproj }, demoModelPath);
  assert.is(kept(folder).length, 0);
  await withModel(folder, (model) => say(model, false), { mmproj }, demoModelPath);
  assert.is(kept(folder).length, 1);
  const seen = await withModel(folder, (model) => say(model, true), { mmproj }, demoModelPath);
  assert.ok(seen.cachedTokens > 300 && seen.cachedTokens < seen.promptTokens, JSON.stringify(seen));
});

const without: [string, LoadOptions][] = [
  ['another type of cells', { cacheTypeK: 'f32' }],
  ['other positions', { ropeFreqBase: 20_000 }],
  ['other metadata', { overrideKv: ['llama.attention.layer_norm_rms_epsilon=float:0.001'] }],
  ['no room in main memory', { cacheRamMiB: 0 }],
  ['no use of the cache', { deterministic: true }],
];

for (const [what, options] of without) {
  test(`${what}: nothing is found`, async ({ folder }) => {
    await withModel(folder, (model) => ask(model));
    const again = await withModel(folder, (model) => ask(model), options);
    assert.is(again.cached, 0);
    assert.is((await withModel(folder, (model) => ask(model))).cached, again.prompt - 1);
  });
}

test('other weights of the same size, at the same path: nothing is found', async ({ folder }) => {
  const file = path.join(folder, 'model.gguf');
  fs.copyFileSync(tinyModel('llama', 1), file);
  await withModel(path.join(folder, 'kept'), (model) => ask(model), {}, file);
  fs.copyFileSync(tinyModel('llama', 2), file);
  assert.is((await withModel(path.join(folder, 'kept'), (model) => ask(model), {}, file)).cached, 0);
});

test('adapters: a state is of use for the same adapter at the same scale only', async ({ folder }) => {
  const lora = [tinyAdapter('first', 1), tinyAdapter('second', 2)];
  const use = (adapter: number, scale: number) => ({ adapters: [{ adapter, scale }] });
  const first = await withModel(folder, (model) => ask(model, LONG, use(0, 1)), { lora });
  await withModel(
    folder,
    async (model) => {
      for (const other of [{}, use(0, 0.5), use(1, 1)]) assert.is((await ask(model, LONG, other)).cached, 0);
      const again = await ask(model, LONG, use(0, 1));
      assert.is(again.cached, again.prompt - 1);
      assertSame(again, first);
    },
    { lora },
  );
  // Its place in the list does not matter, its weights do.
  const moved = await withModel(folder, (model) => ask(model, LONG, use(1, 1)), { lora: lora.toReversed() });
  assert.is(moved.cached, moved.prompt - 1);
});

test('damaged files are refused, whatever the damage is, and the prompt is computed', async ({ folder }) => {
  const first = await withModel(folder, (model) => ask(model));
  const [file = ''] = kept(folder);
  const bytes = fs.readFileSync(file);
  const flipped = (at: number) => bytes.map((byte, index) => (index === at ? byte ^ 0x10 : byte));
  const damaged = [
    bytes.subarray(0, -1),
    bytes.subarray(0, 100),
    Buffer.concat([bytes, Buffer.from('x')]),
    Buffer.alloc(0),
    Buffer.alloc(bytes.length),
    flipped(3),
    flipped(20),
    flipped(60),
    flipped(bytes.length >> 1),
    flipped(bytes.length - 1),
  ];
  for (const contents of damaged) {
    fs.writeFileSync(file, contents);
    await withModel(folder, async (model) => {
      const again = await ask(model);
      assert.is(again.cached, 0);
      assertSame(again, first);
    });
    for (const each of kept(folder)) fs.rmSync(each);
  }
  fs.writeFileSync(file, bytes);
  const again = await withModel(folder, (model) => ask(model));
  assert.is(again.cached, again.prompt - 1);
});

test('the limit holds, and what it leaves is what was used last', async ({ folder }) => {
  const prompts = Array.from({ length: 5 }, (_, n) => `${n}${n}: ${LONG}`);
  await withModel(folder, async (model) => {
    for (const prompt of prompts) await ask(model, prompt);
  });
  const size = (name: string) => fs.statSync(name).size;
  assert.is(kept(folder).length, 5);
  const limit =
    kept(folder)
      .map(size)
      .slice(0, 2)
      .reduce((sum, each) => sum + each, 0) /
      2 ** 20 +
    0.05;
  const small = { cacheDiskMiB: limit };
  await withModel(folder, (model) => ask(model, prompts[4]), small);
  const left = kept(folder)
    .map(size)
    .reduce((sum, each) => sum + each, 0);
  assert.ok(left <= limit * 2 ** 20, `${left}`);
  assert.ok(left > 0);
});

test.run();
