/**
 * Compares the completions of a model with those that it computes alone, without caches and drafts. As a program it writes the
 * report for a model file as JSON, so that a crash ends no other comparison.
 */
import { pathToFileURL } from 'node:url';
import {
  ChasquiError,
  type EngineStats,
  type LoadOptions,
  loadModel,
  type Model,
  type ReplyFinish,
} from '../../ts/index.js';
import { seededRandom } from './seeded-random.js';

const STREAMS = 8;
/** Longer than the window of the models. */
const SHARED_TOKENS = 40;
/** Each conversation repeats these, and prompt lookup drafts from them. */
const OWN_TOKENS = 20;
const NEXT_TOKENS = 8;
const MAX_TOKENS = 40;
const CONTEXT = 256;
const MAX_BUDGET = 16;
/**
 * Log probabilities may differ by this if kernels round other batches differently. A cell or state that does not belong to a
 * conversation moves them a hundred times as far.
 */
const ROUNDING = 0.02;
/** Limit for each element of normalised embeddings. */
const EMBEDDING_ROUNDING = 1e-3;

type Feature = 'prefix cache' | 'drafts' | 'preemption' | 'eight streams';

export interface SweepReport {
  kind: 'generates' | 'embeds' | 'refused';
  /** Why the engine refused the model. */
  refusal?: string;
  batchInvariant?: boolean;
  /** Whether each feature was in use: cached tokens, tokens of drafts, preemptions, sequences in the largest step. */
  uses: Partial<Record<Feature, number>>;
  /** Completions that differ from the expected ones. */
  differences: string[];
}

interface Token {
  id: number;
  top: readonly { id: number; logprob: number }[];
}

interface Completion {
  tokens: Token[];
  finish: ReplyFinish;
}

async function complete(model: Model, prompt: readonly number[], isAlone = false): Promise<Completion> {
  const tokens: Token[] = [];
  const settings = { temperature: 0, maxTokens: MAX_TOKENS, ignoreEos: true, topLogprobs: 2, cachePrompt: !isAlone };
  for await (const { id, logprobs, finish } of model.generate({ ...settings, prompt: [...prompt] })) {
    tokens.push({ id, top: (logprobs?.top ?? []).map(({ id, logprob }) => ({ id, logprob })) });
    if (finish) return { tokens, finish };
  }
  throw new Error('the stream ended without a finish');
}

interface Conversation {
  /** A prompt, and the same with its completion and the next message. */
  prompts: [number[], number[]];
  completions: [Completion, Completion];
}

function* drawnTokens(vocabularySize: number): Generator<number, never> {
  const random = seededRandom(1);
  while (true) yield Math.floor(random() * vocabularySize);
}

async function conversationsAlone(model: Model): Promise<Conversation[]> {
  const drawn = drawnTokens(model.model.vocabularySize);
  const draw = (length: number) => Array.from({ length }, () => drawn.next().value);
  const shared = draw(SHARED_TOKENS);
  const conversations: Conversation[] = [];
  for (let i = 0; i < STREAMS; i++) {
    const own = draw(OWN_TOKENS);
    const first = [...shared, ...own, ...own];
    const completion = await complete(model, first, true);
    const next = [...first, ...completion.tokens.map(({ id }) => id), ...draw(NEXT_TOKENS)];
    conversations.push({ prompts: [first, next], completions: [completion, await complete(model, next, true)] });
  }
  return conversations;
}

/** Undefined if they are the same, or differ after two tokens that are equally probable except for rounding. */
function difference(actual: Completion, expected: Completion, rounding: number): string | undefined {
  for (const [i, { id, top }] of actual.tokens.entries()) {
    const other = expected.tokens[i] as Token;
    const [first, second] = top.map(({ logprob }) => logprob) as [number, number];
    const isClose = Math.abs(first - (other.top[0]?.logprob ?? Number.NaN)) <= rounding;
    const isTie = first - second < rounding;
    if (!isClose || (id !== other.id && !isTie)) return `token ${i}: ${JSON.stringify({ top, expected: other.top })}`;
    if (id !== other.id) return undefined;
  }
  const { length } = expected.tokens;
  return actual.tokens.length === length ? undefined : `${actual.tokens.length} tokens instead of ${length}`;
}

const FEATURES: Record<
  Feature,
  { options: LoadOptions; atOnce: number; used(completions: Completion[], stats: EngineStats): number }
> = {
  'prefix cache': {
    options: { parallel: 2, draftMax: 0 },
    atOnce: 1,
    used: (completions) => sum(completions.map(({ finish }) => finish.cachedTokens)),
  },
  drafts: {
    options: { parallel: 4, draftMax: 8, draftMin: 4 },
    atOnce: 2,
    used: (completions) => sum(completions.map(({ finish }) => finish.draftedTokens)),
  },
  preemption: {
    options: { parallel: STREAMS, draftMax: 0, kvBudgetMiB: 1 },
    atOnce: STREAMS,
    used: (_, { preemptions }) => preemptions,
  },
  'eight streams': {
    options: { parallel: STREAMS, draftMax: 0, threads: 2 },
    atOnce: STREAMS,
    used: (_, { busySlots, decodeSteps }) => busySlots / decodeSteps,
  },
};

const sum = (numbers: readonly number[]) => numbers.reduce((total, each) => total + each, 0);

async function withModel<T>(file: string, options: LoadOptions, body: (model: Model) => Promise<T>): Promise<T> {
  const model = await load(file, { contextSize: CONTEXT, threads: 1, backend: 'cpu', ...options });
  try {
    return await body(model);
  } finally {
    await model.close();
  }
}

/** With the smallest budget for KV cells that a conversation fits, if there is one. */
async function load(file: string, options: LoadOptions): Promise<Model> {
  const { kvBudgetMiB } = options;
  try {
    const model = await loadModel(file, options);
    if (kvBudgetMiB === undefined || model.model.contextLength >= CONTEXT) return model;
    await model.close();
  } catch (error) {
    const isBudget = error instanceof ChasquiError && error.code === 'invalid_options';
    if (!isBudget || kvBudgetMiB === undefined || kvBudgetMiB >= MAX_BUDGET) throw error;
  }
  return load(file, { ...options, kvBudgetMiB: 2 * kvBudgetMiB });
}

/** Turns of a conversation follow each other; `atOnce` conversations are computed at the same time. */
async function converse(model: Model, conversations: readonly Conversation[], atOnce: number): Promise<Completion[][]> {
  const completions: Completion[][] = conversations.map(() => []);
  for (let start = 0; start < conversations.length; start += atOnce) {
    const group = conversations.slice(start, start + atOnce);
    await Promise.all(
      group.map(async ({ prompts }, i) => {
        for (const prompt of prompts) completions[start + i]?.push(await complete(model, prompt));
      }),
    );
  }
  return completions;
}

async function sweepFeature(file: string, feature: Feature, conversations: Conversation[], report: SweepReport) {
  const { options, atOnce, used } = FEATURES[feature];
  await withModel(file, options, async (model) => {
    const completions = await converse(model, conversations, atOnce);
    report.batchInvariant = model.model.batchInvariant;
    const rounding = model.model.batchInvariant ? 0 : ROUNDING;
    for (const [i, { completions: expected }] of conversations.entries()) {
      for (const turn of [0, 1] as const) {
        const found = difference(completions[i]?.[turn] as Completion, expected[turn], rounding);
        if (found) report.differences.push(`${feature}, conversation ${i}, turn ${turn}, ${found}`);
      }
    }
    report.uses[feature] = used(completions.flat(), await model.stats());
  });
}

async function sweepEmbeddings(file: string, report: SweepReport): Promise<void> {
  const texts = Array.from({ length: STREAMS }, (_, i) => 'one two three four five six '.slice(0, 5 + 3 * i).repeat(3));
  const embed = (model: Model, inputs: string[]) => model.embed(inputs).then(({ vectors }) => vectors);
  const alone = await withModel(file, { parallel: 1 }, async (model) => {
    const all = [];
    for (const text of texts) all.push(...(await embed(model, [text])));
    return all;
  });
  await withModel(file, { parallel: STREAMS }, async (model) => {
    for (const [i, vector] of (await embed(model, texts)).entries()) {
      const furthest = Math.max(...vector.map((value, at) => Math.abs(value - (alone[i]?.[at] ?? Number.NaN))));
      if (!(furthest < EMBEDDING_ROUNDING)) report.differences.push(`embedding ${i} differs by ${furthest}`);
    }
  });
}

export async function sweep(file: string): Promise<SweepReport> {
  const report: SweepReport = { kind: 'generates', uses: {}, differences: [] };
  try {
    const conversations = await withModel(file, { parallel: 1, draftMax: 0 }, async (model) =>
      model.model.generates ? conversationsAlone(model) : undefined,
    );
    if (conversations === undefined) {
      await sweepEmbeddings(file, report);
      return { ...report, kind: 'embeds' };
    }
    for (const feature of Object.keys(FEATURES) as Feature[]) await sweepFeature(file, feature, conversations, report);
    return report;
  } catch (error) {
    if (!(error instanceof ChasquiError) || error.code !== 'model_load_failed') throw error;
    return { ...report, kind: 'refused', refusal: error.message };
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  console.log(JSON.stringify(await sweep(process.argv[2] as string)));
}
