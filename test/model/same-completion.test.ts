// With batch-invariant kernels, all requests may use prompt-lookup drafts, and their completions stay equal bit by bit.
import fs from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  type GenerateRequest,
  type LoadOptions,
  loadModel,
  type Model,
  type ReplyFinish,
  type ReplyToken,
} from '../../ts/index.js';
import { withModel } from '../support/answer.js';
import { demoModelPath } from '../support/demo-model.js';
import { narrowModel } from '../support/few-layers-model.js';
import { tinyModel } from '../support/tiny-model.js';
import { wideModel } from '../support/wide-model.js';

/** Whether drafts pay depends on the machine, so they are made in any case. */
const options = { contextSize: 1536, parallel: 4, threads: 2, draftMin: 5 };

/** What the CPU module's kernels for attention and quantised weights need. */
const isKnown =
  process.platform === 'linux' &&
  process.arch === 'x64' &&
  /^flags.*\bavx512bw\b.*\bavx512_vnni\b/m.test(fs.readFileSync('/proc/cpuinfo', 'utf8'));

interface Completion {
  tokens: (readonly [id: number, logprob: number | undefined, ...(number | undefined)[]])[];
  drafted: number;
  accepted: number;
}

async function complete(model: Model, request: GenerateRequest): Promise<Completion> {
  const all: ReplyToken[] = [];
  for await (const token of model.generate(request)) all.push(token);
  const { draftedTokens, acceptedTokens } = (all.at(-1) as ReplyToken).finish as ReplyFinish;
  const bits = ({ id, logprobs }: ReplyToken) =>
    [id, logprobs?.logprob, ...(logprobs?.top.map(({ logprob }) => logprob) ?? [])] as const;
  return { tokens: all.map(bits), drafted: draftedTokens, accepted: acceptedTokens };
}

const WORDS = 'red house small river green garden one two three four five six ';
const common = { maxTokens: 40, ignoreEos: true, topLogprobs: 2 };
/** Behind fewer cells than attention takes at once, and behind many. */
const prompts = [WORDS.repeat(2), `A story: ${WORDS.repeat(60).slice(0, 2500)}`];
const requests: GenerateRequest[] = prompts.flatMap((prompt) => [
  { ...common, prompt, temperature: 0 },
  { ...common, prompt, temperature: 0, seed: 3, repeatPenalty: 1.05 },
  { ...common, prompt, temperature: 0.4, topK: 2, seed: 1 },
  { ...common, prompt, temperature: 1.5, seed: 2 },
  // Repeats itself for any weights.
  { ...common, prompt, temperature: 1, seed: 4, logitBias: { 300: 1000 } },
]);
/** Longer than the completions that they run beside. */
const beside: GenerateRequest = {
  prompt: `Others: ${WORDS.repeat(7)}`,
  temperature: 0,
  maxTokens: common.maxTokens + 10,
  ignoreEos: true,
};

const MODELS: [name: string, file: () => string, more?: LoadOptions][] = [
  ['demo model, Q8_0', () => demoModelPath],
  ['F16', () => wideModel({ weights: 'F16' })],
  ['Q4_K', () => wideModel({ weights: 'Q4_K' })],
  ['experts, Q4_K', () => wideModel({ weights: 'Q4_K', experts: true }), { parallel: 8 }],
  ['experts, Q4_K and Q6_K', () => narrowModel('Qwen3-30B-A3B'), { parallel: 8 }],
  ['experts, MXFP4, a window and sinks', () => narrowModel('gpt-oss-20b'), { parallel: 8 }],
  ['quantised cells', () => demoModelPath, { cacheTypeK: 'q8_0', cacheTypeV: 'q4_0' }],
  ['F32, with a window', () => tinyModel('gemma2')],
];

for (const [name, file, more] of MODELS) {
  test(`drafted or not, alone or not, a completion has the same bits: ${name}`, async () => {
    const path = file();
    const expected: Completion[] = [];
    await withModel(path, { ...options, ...more, draftMax: 0 }, async (plain) => {
      for (const request of requests) expected.push(await complete(plain, request));
    });
    await withModel(path, { ...options, ...more }, async (drafting) => {
      if (isKnown) assert.ok(drafting.model.batchInvariant);
      if (!drafting.model.batchInvariant) return;
      let accepted = 0;
      let rejected = 0;
      for (const [i, request] of requests.entries()) {
        for (const others of [i % 2, (more?.parallel ?? options.parallel) - 1]) {
          const running = Array.from({ length: others }, () => complete(drafting, beside));
          const given = await complete(drafting, { ...request, cachePrompt: others === 1 });
          await Promise.all(running);
          assert.equal(given.tokens, expected[i]?.tokens, `request ${i} beside ${others} others`);
          accepted += given.accepted;
          rejected += given.drafted - given.accepted;
        }
        assert.is(expected[i]?.drafted, 0);
      }
      assert.ok(accepted > 50 && rejected > 5, `${accepted} drafted tokens were right, ${rejected} wrong`);
    });
  });
}

const UNKNOWN: [name: string, file: () => string, more?: LoadOptions][] = [
  ['experts, F16', () => wideModel({ weights: 'F16', experts: true })],
  ['values in BF16', () => demoModelPath, { cacheTypeV: 'bf16' }],
  ['no flash attention', () => demoModelPath, { flashAttention: 'off' }],
  ['recurrent layers', () => tinyModel('jamba')],
];

for (const [name, file, more] of UNKNOWN) {
  test(`what is not known to round alike is not drafted where the same completion is expected again: ${name}`, async () => {
    const model = await loadModel(file(), { ...options, ...more });
    assert.not.ok(model.model.batchInvariant);
    for (const request of requests) assert.is((await complete(model, { ...request, maxTokens: 30 })).drafted, 0);
    await model.close();
  });
}

test.run();
