/** Drafts by a model's own layer for multi-token prediction. */
import fs from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { toOpenRequest } from '../../ts/engine/to-native-options.js';
import { type ChasquiError, type GenerateRequest, type LoadOptions, loadModel, type Model } from '../../ts/index.js';
import { decideModules } from '../../ts/native/backends.js';
import { loadAddon } from '../../ts/native/load-addon.js';
import { runFit } from '../../ts/native/run-fit.js';
import { type Answer, answer as answerOf, withModel as withLoadedModel } from '../support/answer.js';
import { demoModelPath } from '../support/demo-model.js';
import { type MtpModel, mtpModel } from '../support/mtp-model.js';
import { picture } from '../support/picture.js';
import { seededRandom } from '../support/seeded-random.js';
import { syntheticProjector } from '../support/synthetic-projector.js';

const base = { contextSize: 1024, parallel: 4, threads: 1 };
const mtp = { specType: 'draft-mtp' } as const;
const architectures = ['hy_v3', 'qwen35'] as const;

const answer = (model: Model, request: GenerateRequest) =>
  answerOf(model, { temperature: 0, maxTokens: 48, ignoreEos: true, ...request });
const withModel = (path: string, options: LoadOptions, body: (model: Model) => Promise<void>) =>
  withLoadedModel(path, { ...base, ...options }, body);

const requests: GenerateRequest[] = [
  { prompt: 'The cat and the dog' },
  { messages: [{ role: 'user', content: 'Count from 3 to 15.' }] },
  // More than one batch; the last steps are shorter than a draft.
  { prompt: 'Which port is it, and when? '.repeat(60) },
];

async function answers(path: string, options: LoadOptions, asked = requests): Promise<Answer[]> {
  const all: Answer[] = [];
  await withModel(path, options, async (model) => {
    for (const request of asked) all.push(await answer(model, request));
  });
  return all;
}

const idsOf = (all: readonly Answer[]) => all.filter(Boolean).map(({ ids }) => ids);
const sum = (all: readonly Answer[], count: (finish: Answer['finish']) => number) =>
  all.filter(Boolean).reduce((n, { finish }) => n + count(finish), 0);
const drafted = (all: readonly Answer[]) => sum(all, (finish) => finish.draftedTokens);
const accepted = (all: readonly Answer[]) => sum(all, (finish) => finish.acceptedTokens);

for (const architecture of architectures) {
  const model = (rest: Omit<MtpModel, 'architecture'>) => mtpModel({ architecture, ...rest });

  test(`${architecture}: drafts that come true save steps, and completions are the same`, async () => {
    const path = model({ head: 'token' });
    const plain = await answers(path, {});
    assert.is(drafted(plain), 0);
    const fast = await answers(path, mtp);
    assert.equal(idsOf(fast), idsOf(plain));
    assert.ok(accepted(fast) >= 0.9 * drafted(fast), JSON.stringify([drafted(fast), accepted(fast)]));
    // Three of each four, but for what the text before makes of it.
    const all = sum(fast, (finish) => finish.completionTokens);
    assert.ok(accepted(fast) > 0.6 * all, JSON.stringify([accepted(fast), all]));
  });

  test(`${architecture}: each draft begins with the row of the token before`, async () => {
    const path = model({ head: 'row' });
    // One token, and then two with each step, so that none is drafted beyond the end.
    const odd = requests.map((request) => ({ ...request, maxTokens: 49 }));
    for (const batchSize of [2048, 64]) {
      const fast = await answers(path, { ...mtp, draftMax: 1, batchSize }, odd);
      assert.ok(drafted(fast) > 50, JSON.stringify(drafted(fast)));
      assert.is(accepted(fast), drafted(fast));
    }
    await withModel(path, { ...mtp, draftMax: 1 }, async (loaded) => {
      const two = await Promise.all(odd.slice(1).map((request) => answer(loaded, request)));
      assert.ok(drafted(two) > 20, JSON.stringify(drafted(two)));
      // While one prompt is computed, the other completion advances by one token per step, so its last draft may exceed
      // its end.
      assert.ok(accepted(two) >= drafted(two) - two.length, JSON.stringify([drafted(two), accepted(two)]));
      // Cached tokens have no hidden rows, unlike the following ones.
      const { prompt } = requests[2] as { prompt: string };
      const again = await answer(loaded, { prompt: `${prompt}The cat`, maxTokens: 49 });
      assert.ok(again.finish.cachedTokens > 0);
      assert.ok(again.finish.draftedTokens > 15, JSON.stringify(again.finish));
      assert.is(again.finish.acceptedTokens, again.finish.draftedTokens);
    });
  });

  test(`${architecture}: rejected drafts change nothing`, async () => {
    for (const head of ['token', 'chance'] as const) {
      const path = model({ head, interference: 0.9 });
      const plain = await answers(path, {});
      for (const options of [mtp, { ...mtp, draftMax: 7 }]) {
        const fast = await answers(path, options);
        assert.equal(idsOf(fast), idsOf(plain));
        const counts = JSON.stringify({ head, drafted: drafted(fast), accepted: accepted(fast) });
        assert.ok(drafted(fast) - accepted(fast) > 10, counts);
        if (head === 'token') assert.ok(accepted(fast) > 10, counts);
      }
      const drawn = requests.map((request, seed) => ({ ...request, temperature: 0.7, topK: 20, seed }));
      assert.equal(idsOf(await answers(path, mtp, drawn)), idsOf(await answers(path, {}, drawn)));
    }
  });

  test(`${architecture}: two at a time, cancelled, gone on with, and among others`, async () => {
    const path = model({ head: 'token', interference: 0.6 });
    const random = seededRandom(5);
    const below = (n: number) => Math.floor(random() * n);
    const beginnings = ['Count from 1 to 9. '.repeat(30), 'Which port? '.repeat(40), 'Hello'];
    const work = Array.from({ length: 24 }, () => ({
      prompt: `${beginnings[below(3)]}${below(9)}`,
      maxTokens: 8 + below(20),
      leaveAfter: below(3) === 0 ? below(10) : -1,
    }));
    const run = async (options: LoadOptions, workers: number) => {
      const all: Answer[] = [];
      await withModel(path, { ...options, parallel: 3 }, async (loaded) => {
        const worker = async (first: number) => {
          for (let i = first; i < work.length; i += workers) {
            const { leaveAfter, ...request } = work[i] as (typeof work)[number];
            if (leaveAfter < 0) all[i] = await answer(loaded, request);
            else await leave(loaded, request, leaveAfter);
          }
        };
        await Promise.all(Array.from({ length: workers }, (_, first) => worker(first)));
      });
      return all;
    };
    const plain = await run({}, 1);
    for (const workers of [2, 4]) {
      const fast = await run(mtp, workers);
      assert.equal(idsOf(fast), idsOf(plain));
      // How much is drafted for four follows from what steps take.
      assert.ok(accepted(fast) > (workers === 2 ? 10 : 0), JSON.stringify(accepted(fast)));
    }
  });
}

async function leave(model: Model, request: GenerateRequest, afterTokens: number) {
  const stream = model.generate({ ...request, temperature: 0, ignoreEos: true });
  for (let i = 0; i < afterTokens; i++) await stream.next();
  await stream.return();
}

test('no drafts are made while more than two completions run; afterwards they resume', () =>
  withModel(mtpModel({ architecture: 'hy_v3', head: 'token' }), mtp, async (model) => {
    const endless = { prompt: 'The cat', ignoreEos: true, temperature: 0, maxTokens: 900 };
    const others = [model.generate(endless), model.generate(endless)];
    await Promise.all(others.map((stream) => stream.next()));
    assert.is((await answer(model, { prompt: 'A dog' })).finish.draftedTokens, 0);
    for (const stream of others) await stream.return();
    assert.ok((await answer(model, { prompt: 'A dog' })).finish.acceptedTokens > 20);
  }));

test('a completion about an image goes without drafts, and text beside it has some', async () => {
  const sides = { imageSize: 64, patchSize: 8 };
  const shape = { kind: 'mlp', modelWidth: 64, layers: 2, width: 64, hidden: 128, heads: 2, ...sides } as const;
  const content = [
    { type: 'image' as const, image: picture(1) },
    { type: 'text' as const, text: 'Which port?' },
  ];
  const about: GenerateRequest = { messages: [{ role: 'user', content }] };
  const path = mtpModel({ architecture: 'hy_v3', head: 'token', interference: 0.6 });
  const said: number[][][] = [];
  for (const options of [{}, mtp]) {
    await withModel(path, { ...options, mmproj: syntheticProjector(shape) }, async (model) => {
      const all = await Promise.all([about, ...requests].map((request) => answer(model, request)));
      said.push(idsOf(all));
      assert.is(all[0]?.finish.draftedTokens, 0);
      if (options === mtp) assert.ok((await answer(model, requests[0] as GenerateRequest)).finish.draftedTokens > 0);
    });
  }
  assert.equal(said[1], said[0]);
});

test('drafts keep to draftMin and draftPMin', async () => {
  const path = mtpModel({ architecture: 'hy_v3', head: 'token' });
  const [request] = requests as [GenerateRequest];
  await withModel(path, { ...mtp, draftMax: 4, draftMin: 4 }, async (model) => {
    const { finish } = await answer(model, request);
    assert.ok(finish.draftedTokens > 0 && finish.draftedTokens % 4 === 0, JSON.stringify(finish));
  });
  await withModel(mtpModel({ architecture: 'hy_v3', head: 'chance' }), { ...mtp, draftPMin: 1 }, async (model) => {
    assert.is((await answer(model, request)).finish.draftedTokens, 0);
  });
});

test('models that cannot draft so are refused at the start', async () => {
  const refused = async (model: string, more: LoadOptions = {}) => {
    const error = await loadModel(model, { ...base, ...mtp, ...more }).then(
      () => assert.unreachable('it was not refused'),
      (error: ChasquiError) => error,
    );
    assert.is(error?.code, 'invalid_options', error?.message);
    return error?.message ?? '';
  };
  assert.match(await refused(demoModelPath), /its file has none/);
  const own = { architecture: 'hy_v3', head: 'token' } as const;
  const unknown = { ...own, architecture: 'llama', without: /^blk\.4\.|attn_[qk]_norm/ } as const;
  assert.match(await refused(mtpModel(unknown)), /architecture \(llama\)/);
  assert.match(await refused(mtpModel({ ...own, mtpLayers: 2 })), /has 2 of them/);
  assert.match(await refused(mtpModel({ ...own, without: /^blk\.4\./ })), /weights are not in the file/);
  const good = mtpModel(own);
  assert.match(await refused(good, { draftMax: 0 }), /`draftMax`/);
  assert.match(await refused(good, { draftMax: 33 }), /at most 32/);
  assert.match(await refused(good, { deterministic: true }), /deterministic/);
  assert.match(await refused(good, { draftModel: good }), /`draftModel`/);
});

test('the memory of the model includes that of its drafts', async () => {
  const otherBytes = async (path: string, options: LoadOptions) => {
    const request = { ...toOpenRequest(path, { ...base, ...options }), modules: await decideModules() };
    const measured = await runFit(loadAddon().path, { request, spareBytes: 0, contexts: [base.contextSize] });
    assert.is(measured.reason, undefined);
    return ('memory' in measured && measured.memory?.[0]?.at(-1)?.other) || 0;
  };
  const path = mtpModel({ architecture: 'hy_v3', head: 'token' });
  assert.is(await otherBytes(path, {}), 0);
  // Keys and values of 64 numbers each, in 16 bits.
  const cells = 2 * 64 * 2 * base.contextSize * base.parallel;
  assert.ok((await otherBytes(path, mtp)) > cells, String(await otherBytes(path, mtp)));
  const weights = fs.statSync(demoModelPath).size;
  assert.ok((await otherBytes(demoModelPath, { draftModel: demoModelPath })) > 0.9 * weights);
});

test.run();
