// Adapters (LoRA): a completion equals that of an engine with only this adapter, regardless of other requests.
import fs from 'node:fs';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { AdapterUse } from '../../ts/engine/adapter-file.js';
import type { Engine, Token } from '../../ts/engine/engine.js';
import { completeJob } from '../../ts/engine/job.js';
import type { LoadOptions } from '../../ts/engine/load-options.js';
import { ChasquiError, loadModel } from '../../ts/index.js';
import { demoModelPath } from '../support/demo-model.js';
import { float32Entry, type Tensor, textEntry, uint32Entry, uint32sEntry } from '../support/gguf.js';
import { type AdapterChanges, matrix, tinyAdapter } from '../support/tiny-adapter.js';
import { tinyModel } from '../support/tiny-model.js';

interface Context {
  model: string;
  first: string;
  second: string;
  engine: Engine;
}

const test = suite<Context>('model: adapters');

const OPTIONS: LoadOptions = { contextSize: 1024, parallel: 4, threads: 1 };
const PROMPT = 'The same prompt for all of them, which is long enough to be kept and used again. '.repeat(4);

test.before(async (context) => {
  context.model = tinyModel('llama');
  context.first = tinyAdapter('first', 1);
  context.second = tinyAdapter('second', 2);
  context.engine = await loadModel(context.model, { ...OPTIONS, lora: [context.first, `other=${context.second}:0.5`] });
});
test.after(({ engine }) => engine.close());

interface Answer {
  ids: number[];
  logprobs: number[];
  cached: number;
}

async function ask(engine: Engine, adapters: AdapterUse[] | null, prompt = PROMPT, maxTokens = 24): Promise<Answer> {
  const job = completeJob({ prompt, adapters, maxTokens, temperature: 0, topLogprobs: 0, ignoreEos: true });
  const tokens: Token[] = [];
  for await (const token of engine.submit(job)) tokens.push(token);
  return {
    ids: tokens.map(({ id }) => id),
    logprobs: tokens.map(({ logprobs }) => logprobs?.logprob ?? Number.NaN),
    cached: tokens.at(-1)?.finish?.cachedTokens ?? -1,
  };
}

/** Completion of an engine with only this model and these adapters. */
async function alone(model: string, lora: string[]): Promise<Answer> {
  const engine = await loadModel(model, { ...OPTIONS, ...(lora.length > 0 && { lora }) });
  const uses = (engine.model.adapters ?? []).map(({ scale }, adapter) => ({ adapter, scale }));
  const answer = await ask(engine, uses);
  await engine.close();
  return answer;
}

/** Kernels round differently for other batches; another adapter changes the first digit. */
function assertSame(actual: Answer, wanted: Answer, what: string): void {
  assert.equal(actual.ids, wanted.ids, what);
  for (const [at, logprob] of actual.logprobs.entries()) {
    assert.ok(Math.abs(logprob - (wanted.logprobs[at] ?? Number.NaN)) < 0.01, `${what}, token ${at}: ${logprob}`);
  }
}

const FIRST: AdapterUse[] = [{ adapter: 0, scale: 1 }];
const SECOND: AdapterUse[] = [{ adapter: 1, scale: 1 }];
const BOTH: AdapterUse[] = [
  { adapter: 1, scale: 0.5 },
  { adapter: 0, scale: 1 },
];

test('side by side, over and over, each set says what it says alone', async ({ engine, model, first, second }) => {
  const sets: [string, AdapterUse[], Answer][] = [
    ['none', [], await alone(model, [])],
    ['the first', FIRST, await alone(model, [first])],
    ['the second', SECOND, await alone(model, [second])],
    ['both', BOTH, await alone(model, [first, `${second}:0.5`])],
  ];
  const differ = new Set(sets.map(([, , { ids }]) => ids.join(' ')));
  assert.is(differ.size, sets.length, 'each set says something else');
  for (const round of [1, 2, 3]) {
    const answers = await Promise.all(sets.map(([, set]) => ask(engine, set)));
    for (const [at, [name, , wanted]] of sets.entries()) {
      const answer = answers[at] as Answer;
      assertSame(answer, wanted, `${name}, round ${round}`);
      // Each had to compute the prompt once, though others had the same prompt computed.
      if (round === 1) assert.is(answer.cached, 0, name);
      else assert.ok(answer.cached > 50, `${name}: ${answer.cached} cached`);
    }
  }
});

test('one after another in one slot, nothing of another set is used', async ({ model, first, second }) => {
  const engine = await loadModel(model, { ...OPTIONS, parallel: 1, lora: [first, second] });
  const wanted = [await alone(model, []), await alone(model, [first]), await alone(model, [second])];
  for (const [round, at] of [0, 1, 2, 1, 0, 2, 2].entries()) {
    const answer = await ask(engine, [[], FIRST, SECOND][at] as AdapterUse[]);
    assertSame(answer, wanted[at] as Answer, `round ${round}`);
    // The evicted prefix was saved, and only requests with the same adapters reuse it.
    assert.is(answer.cached > 50, round >= 3, `round ${round}: ${answer.cached} cached`);
  }
  await engine.close();
});

test('streams of three sets go on side by side', async ({ model, first, second }) => {
  // A turn is shorter than a step then.
  const engine = await loadModel(model, { ...OPTIONS, targetStepMs: 1, lora: [first, second] });
  const counts = [0, 0, 0];
  let atFirstEnd: number[] | null = null;
  const streams = [[], FIRST, SECOND].map(async (adapters, at) => {
    const job = { prompt: `Stream ${at}.`, adapters, maxTokens: 400, temperature: 0, ignoreEos: true };
    for await (const token of engine.submit(completeJob(job))) {
      counts[at] = (counts[at] ?? 0) + 1;
      if (token.finish) atFirstEnd ??= [...counts];
    }
  });
  await Promise.all(streams);
  await engine.close();
  assert.equal(counts, [400, 400, 400]);
  for (const count of atFirstEnd ?? []) assert.ok(count > 200, `${atFirstEnd}`);
});

test('a scale of 0 is no adapter, another scale another set', async ({ engine }) => {
  const none = await ask(engine, []);
  assertSame(await ask(engine, [{ adapter: 0, scale: 0 }]), none, 'scale 0');
  assert.not.equal((await ask(engine, [{ adapter: 0, scale: 0.5 }])).ids, (await ask(engine, FIRST)).ids);
});

test('a job that does not say is computed with those in use', async ({ model, first, second }) => {
  const engine = await loadModel(model, { ...OPTIONS, lora: [first, second] });
  const [none, one, other] = [await ask(engine, []), await ask(engine, FIRST), await ask(engine, SECOND)];
  assertSame(await ask(engine, null), none, 'before any is set');
  engine.useAdapters(FIRST);
  assert.equal(engine.model.adaptersInUse, FIRST);
  assertSame(await ask(engine, null), one, 'the first');
  assertSame(await ask(engine, SECOND), other, 'a job that says');
  engine.useAdapters([]);
  assertSame(await ask(engine, null), none, 'none again');
  await engine.close();
});

test('the model says what it has; a job that names another one is refused', async ({ engine }) => {
  assert.equal(engine.model.adapters, [
    { name: 'first', scale: 1 },
    { name: 'other', scale: 0.5 },
  ]);
  const refused = await ask(engine, [{ adapter: 2, scale: 1 }]).catch((error) => error);
  assert.ok(refused instanceof ChasquiError);
  assert.is(refused.code, 'invalid_job');
});

const without = (suffix: string) => (tensors: Tensor[]) => tensors.filter(({ name }) => !name.endsWith(suffix));
const also = (...more: Tensor[]) => ({ tensors: (tensors: Tensor[]) => [...tensors, ...more] });
const pair = (weight: string, a: number[], b: number[]) =>
  also(matrix(`${weight}.lora_a`, a), matrix(`${weight}.lora_b`, b));

const BAD: [string, AdapterChanges, code: string, says: RegExp][] = [
  ['a model', { entries: [textEntry('general.type', 'model')] }, 'model_file_invalid', /not a LoRA adapter/],
  ['another kind', { entries: [textEntry('adapter.type', 'ia3')] }, 'model_file_invalid', /not a LoRA adapter/],
  ['another model', { entries: [textEntry('general.architecture', 'qwen2')] }, 'model_load_failed', /`qwen2`/],
  ['a number for a text', { entries: [uint32Entry('general.type', 7)] }, 'model_file_invalid', /general\.type/],
  ['a text for a number', { entries: [textEntry('adapter.lora.alpha', '8')] }, 'model_file_invalid', /alpha/],
  ['no number', { entries: [float32Entry('adapter.lora.alpha', Number.NaN)] }, 'model_file_invalid', /alpha/],
  ['activated', { entries: [uint32sEntry('adapter.alora.invocation_tokens', [5])] }, 'model_file_invalid', /activated/],
  ['half of it', { tensors: without('.lora_b') }, 'model_file_invalid', /half/],
  ['nothing', { tensors: () => [] }, 'model_file_invalid', /no weights/],
  ['other names', also(matrix('blk.0.attn_q.weight', [64, 4])), 'model_file_invalid', /with the name/],
  ['a layer more', pair('blk.2.attn_q.weight', [64, 4], [4, 64]), 'model_load_failed', /does not have/],
  ['other sizes', pair('blk.0.ffn_gate.weight', [64, 4], [4, 64]), 'model_load_failed', /another size/],
  ['ranks that differ', pair('blk.0.attn_k.weight', [64, 4], [8, 64]), 'model_load_failed', /another size/],
  ['transposed', pair('blk.0.attn_k.weight', [4, 64], [64, 4]), 'model_load_failed', /another size/],
  ['a dimension more', pair('blk.0.attn_k.weight', [64, 4, 3], [4, 64, 3]), 'model_load_failed', /another size/],
  ['embeddings', pair('token_embd.weight', [4, 64], [8, 64]), 'model_load_failed', /another size/],
];

for (const [name, changes, code, says] of BAD) {
  test(`a bad file is refused: ${name}`, async ({ model }) => {
    const file = tinyAdapter('bad', 3, changes);
    const error = await loadModel(model, { ...OPTIONS, lora: [file] }).catch((thrown) => thrown);
    assert.ok(error instanceof ChasquiError, `${error}`);
    assert.is(error.code, code, error.message);
    assert.match(error.message, says);
    assert.match(error.message, 'bad.gguf');
  });
}

test('a file that is not there, is none, or is cut off is refused', async ({ model, first }) => {
  const folder = path.dirname(first);
  const cut = path.join(folder, 'cut.gguf');
  const whole = fs.readFileSync(first);
  const text = path.join(folder, 'text.gguf');
  fs.writeFileSync(text, 'no model');
  const load = (file: string) => loadModel(model, { ...OPTIONS, lora: [file] }).catch((thrown) => thrown);
  assert.is((await load(path.join(folder, 'none.gguf'))).code, 'model_file_missing');
  assert.is((await load(folder)).code, 'model_file_invalid');
  assert.is((await load(text)).code, 'model_file_invalid');
  assert.is((await load(demoModelPath)).code, 'model_file_invalid');
  for (const length of [4, 20, 100, 500, whole.length - 2000]) {
    fs.writeFileSync(cut, whole.subarray(0, length));
    const error = await load(cut);
    assert.ok(error instanceof ChasquiError, `${length} bytes: ${error}`);
    assert.match(error.code, /^model_(file_invalid|load_failed)$/);
  }
});

test.run();
