// KV cells take memory when they are used, and give it back: what a slot could hold costs nothing. Linux only.
import os from 'node:os';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { ChasquiError, type LoadOptions, loadModel, type ReplyFinish, type SupervisedEngine } from '../../ts/index.js';
import { enginesOf, residentMiB } from '../support/engine-process.js';
import { seededRandom } from '../support/seeded-random.js';
import { tinyModel } from '../support/tiny-model.js';

/** With numbers of four bytes, each of its cells takes 1 KiB. */
const file = tinyModel('llama');
const CELLS = { cacheTypeK: 'f32', cacheTypeV: 'f32' } as const;
const MIB_OF_A_TOKEN = 1 / 1024;

async function withEngine<T>(
  options: LoadOptions,
  body: (engine: SupervisedEngine, resident: () => number) => Promise<T>,
): Promise<T> {
  const engine = await loadModel(file, { threads: 1, cacheRamMiB: 0, ...CELLS, ...options, process: true });
  try {
    const pid = Math.max(...enginesOf(process.pid));
    return await body(engine, () => residentMiB(pid));
  } finally {
    await engine.close();
  }
}

const random = seededRandom(1);

/** Completions of prompts that have nothing in common, all at once. */
function complete(
  engine: SupervisedEngine,
  count: number,
  promptTokens: number,
  maxTokens = 2,
): Promise<ReplyFinish[]> {
  const ofVocabulary = () => 10 + Math.floor(random() * (engine.model.vocabularySize - 10));
  const one = async () => {
    const prompt = Array.from({ length: promptTokens }, ofVocabulary);
    for await (const { finish } of engine.generate({ prompt, maxTokens, temperature: 0, ignoreEos: true })) {
      if (finish) return finish;
    }
    throw new Error('the stream ended without a finish');
  };
  return Promise.all(Array.from({ length: count }, one));
}

if (process.platform === 'linux') {
  test('cells that nobody has used take no memory', async () => {
    const startOf = (contextSize: number) =>
      withEngine({ parallel: 64, contextSize }, async (engine, resident) => {
        await complete(engine, 1, 16);
        return resident();
      });
    const small = await startOf(256);
    const large = await startOf(8192);
    const possible = 64 * 8192 * MIB_OF_A_TOKEN;
    assert.ok(large - small < possible / 10, `${small} MiB and ${large} MiB, of ${possible} MiB that cells could take`);
  });

  test('cells take memory when they are used, and give it back when another text takes the slot', () =>
    withEngine({ parallel: 8, contextSize: 8192 }, async (engine, resident) => {
      // What is computed with long prompts takes memory, too, which stays: a first round has it taken.
      await complete(engine, 8, 3000);
      await complete(engine, 8, 16);
      const start = resident();
      await complete(engine, 8, 3000);
      const full = resident();
      await complete(engine, 8, 16);
      const after = resident();
      const used = 8 * 3000 * MIB_OF_A_TOKEN;
      const seen = `${start}, ${full}, ${after} MiB, ${used} MiB of cells`;
      assert.ok(full - start > used * 0.75 && full - start < used * 1.5, seen);
      assert.ok(full - after > used * 0.75, seen);
    }));

  test('with a budget for cells everybody is served, and cells take no more than that', () =>
    withEngine({ parallel: 8, contextSize: 8192, kvBudgetMiB: 8 }, async (engine, resident) => {
      const before = await engine.stats();
      assert.ok(before.kvCellsTotal <= 8 * 1024, `${before.kvCellsTotal} cells`);
      await complete(engine, 2, 3000);
      const two = resident();
      const finishes = await complete(engine, 8, 3000, 40);
      assert.equal(
        finishes.map(({ completionTokens }) => completionTokens),
        finishes.map(() => 40),
      );
      assert.ok(resident() - two < 16, `${two} MiB with two prompts, ${resident()} MiB with eight`);
      const { kvCellsUsed, kvCellsCached } = await engine.stats();
      assert.ok(kvCellsUsed + kvCellsCached <= before.kvCellsTotal, `${kvCellsUsed} + ${kvCellsCached} cells`);
    }));

  test('more cells than this machine has memory are refused before anybody fills them, unless a budget is given', async () => {
    const parallel = 64;
    const many = { parallel, contextSize: Math.ceil((1.5 * os.totalmem()) / 1024 / parallel) };
    const refusal = await withEngine(many, async () => {}).catch((error) => error);
    assert.instance(refusal, ChasquiError);
    assert.is(refusal.code, 'out_of_memory');
    assert.match(refusal.message, /insufficient memory: .* `kvBudgetMiB`/);
    await withEngine({ ...many, kvBudgetMiB: 16 }, async (engine) => {
      assert.is((await complete(engine, 1, 300))[0]?.promptTokens, 300);
    });
  });

  test('sequences that outgrow the budget wait for each other, and end with all of their tokens', () =>
    withEngine({ parallel: 2, contextSize: 4096, kvBudgetMiB: 1 }, async (engine) => {
      const finishes = await complete(engine, 2, 300, 400);
      assert.equal(
        finishes.map(({ completionTokens }) => completionTokens),
        [400, 400],
      );
      assert.ok((await engine.stats()).preemptions > 0);
    }));

  test('a prompt that the budget is too small for is refused, and says what to do', () =>
    withEngine({ parallel: 2, contextSize: 8192, kvBudgetMiB: 1 }, async (engine) => {
      assert.ok(engine.model.contextLength <= 1024, `${engine.model.contextLength}`);
      const refusal = await complete(engine, 1, 2000).catch((error) => error);
      assert.instance(refusal, ChasquiError);
      assert.is(refusal.code, 'context_length_exceeded');
      assert.match(refusal.message, '`kvBudgetMiB`');
      const [finish] = await complete(engine, 1, 800);
      assert.is(finish?.promptTokens, 800);
    }));
}

test.run();
