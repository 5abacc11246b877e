/**
 * Measures prompt-lookup drafts: their gain for completions that quote the prompt, and their cost for new text. Two engines
 * compute the same completions alternately, one without drafts and one with the default settings or `--draft-max`. The model
 * counts: the most probable token is always the next one of the vocabulary. So the completion is known in advance, and the
 * prompt determines how much of it is a quotation. Requests are greedy by default; with `--temperature 0.5` they sample, with
 * probabilities so close to 1 that the completions stay the same.
 *
 *     node --import tsx bench/lookup.ts [--rounds 5] [--tokens 400] [--threads 2] [--draft-max N] [--only quote,new]
 *
 * `--model FILE` reuses a model of an earlier run, so llama-quantize need not be built.
 */
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { seededRandom } from '../test/support/seeded-random.js';
import { syntheticModel } from '../test/support/synthetic-model.js';
import { loadModel, type Model } from '../ts/index.js';
import { table } from './table.js';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    tokens: { type: 'string', default: '400' },
    threads: { type: 'string', default: String(availableParallelism()) },
    'draft-max': { type: 'string' },
    only: { type: 'string' },
    temperature: { type: 'string', default: '0' },
    model: { type: 'string' },
  },
});
const nTokens = Number(values.tokens);
const rounds = Number(values.rounds);
const temperature = Number(values.temperature);
/** The first token that is certainly no control token. */
const firstToken = 1000;

interface Text {
  name: string;
  /** The part of the prompt that the completion, which counts upward from `start`, may quote. Random tokens surround it. */
  prompt(start: number, random: () => number): number[];
  temperature: number;
  /** Minimum speed relative to no drafts. */
  goal: number;
}

const counted = (from: number, length: number) => Array.from({ length }, (_, i) => from + i);

function withChanges(every: number) {
  return (start: number, random: () => number) =>
    counted(start, nTokens).map((token, i) => (i % every === every - 1 ? anyToken(random) : token));
}

function shuffledParts(length: number) {
  return (start: number, random: () => number) =>
    Array.from({ length: Math.ceil(nTokens / length) }, (_, i) => counted(start + i * length, length))
      .map((part) => ({ part: [...part, anyToken(random)], order: random() }))
      .sort((a, b) => a.order - b.order)
      .flatMap(({ part }) => part);
}

const texts: Text[] = [
  { name: 'quote', prompt: (start) => counted(start, nTokens), temperature, goal: 1.3 },
  { name: 'edit, one token of 24 changed', prompt: withChanges(24), temperature, goal: 1.3 },
  { name: 'code, one token of 12 changed', prompt: withChanges(12), temperature, goal: 1.3 },
  { name: 'phrases of 6 tokens in another order', prompt: shuffledParts(6), temperature, goal: 0.99 },
  { name: 'new text', prompt: () => [], temperature, goal: 0.99 },
  { name: 'any tokens at all', prompt: (start) => counted(start, nTokens), temperature: 4, goal: 0.99 },
];

function anyToken(random: () => number): number {
  return firstToken + 100_000 + Math.floor(random() * 20_000);
}

interface Measured {
  /** Tokens per second of all streams together, after the first token of each. */
  rate: number;
  /** CPU time in milliseconds. Other processes affect it less than the rate. */
  cpuMsPerToken: number;
  accepted: number;
  drafted: number;
}

/** @param seed generates the prompts */
async function measure(model: Model, text: Text, streams: number, seed: number): Promise<Measured> {
  const random = seededRandom(seed);
  const others = Array.from({ length: 60 }, () => anyToken(random));
  const requests = counted(0, streams).map(() => {
    const start = firstToken + Math.floor(random() * 80_000);
    // The completion counts upward from the last token of the prompt.
    const prompt = [...others, ...text.prompt(start, random), ...others, anyToken(random), start - 1];
    return { prompt, maxTokens: nTokens, ignoreEos: true, temperature: text.temperature };
  });
  // Compute the prompts first, so only decoding is measured.
  for (const { prompt } of requests) for await (const _ of model.generate({ prompt, maxTokens: 1 }));
  const cpuBefore = process.cpuUsage();
  const began = performance.now();
  const finishes = await Promise.all(
    requests.map(async (request) => {
      for await (const { finish } of model.generate(request)) if (finish) return finish;
      throw new Error('the stream ended without a finish');
    }),
  );
  const seconds = (performance.now() - began) / 1000;
  const { user, system } = process.cpuUsage(cpuBefore);
  const sum = (count: (finish: (typeof finishes)[number]) => number) =>
    finishes.reduce((n, each) => n + count(each), 0);
  const completed = sum((finish) => finish.completionTokens);
  return {
    rate: completed / seconds,
    cpuMsPerToken: (user + system) / 1000 / completed,
    accepted: sum((finish) => finish.acceptedTokens) / completed,
    drafted: sum((finish) => finish.draftedTokens) / completed,
  };
}

function median(numbers: number[]): number {
  const sorted = numbers.sort((a, b) => a - b);
  const [low, high] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]] as [number, number];
  return (low + high) / 2;
}

async function modelFile(): Promise<string> {
  if (values.model !== undefined) return values.model;
  const { chooseBackend } = await import('./peers/backend.js');
  const { buildPeers } = await import('./peers/build-peers.js');
  return syntheticModel('counting-0.5B', (await buildPeers(await chooseBackend('cpu'))).pathOf('llama-quantize'));
}

const file = await modelFile();
const common = { contextSize: 2 * nTokens + 512, parallel: 4, threads: Number(values.threads) };
const plain = await loadModel(file, { ...common, draftMax: 0 });
const given = values['draft-max'];
const drafting = await loadModel(file, { ...common, ...(given !== undefined && { draftMax: Number(given) }) });
const rows: string[][] = [];
const wanted = values.only?.split(',');
for (const text of texts) {
  if (wanted && !wanted.some((name) => text.name.startsWith(name))) continue;
  for (const streams of [1, 2]) {
    const without: Measured[] = [];
    const withDrafts: Measured[] = [];
    for (let round = 0; round < rounds; round++) {
      const order = round % 2 === 0 ? [plain, drafting] : [drafting, plain];
      for (const model of order) {
        (model === plain ? without : withDrafts).push(await measure(model, text, streams, 100 * round + streams));
      }
    }
    const ratios = (figure: (measured: Measured) => number) =>
      median(without.map((before, i) => figure(withDrafts[i] as Measured) / figure(before)));
    rows.push([
      text.name,
      String(streams),
      median(without.map(({ rate }) => rate)).toFixed(1),
      median(withDrafts.map(({ rate }) => rate)).toFixed(1),
      ratios(({ rate }) => rate).toFixed(2),
      (1 / ratios(({ cpuMsPerToken }) => cpuMsPerToken)).toFixed(2),
      `≥ ${text.goal}`,
      median(withDrafts.map(({ drafted }) => drafted)).toFixed(2),
      median(withDrafts.map(({ accepted }) => accepted)).toFixed(2),
    ]);
    console.error(rows.at(-1)?.join(' | '));
  }
}
await plain.close();
await drafting.close();
const head = [
  'text',
  'streams',
  'without, t/s',
  'with, t/s',
  'ratio',
  'ratio of CPU time',
  'goal',
  'drafted',
  'accepted',
];
console.log(table(head, rows));
console.log(
  `\nThe subjects run alternately; figures are medians of ${rounds} rounds. The last columns count drafted and accepted tokens per completion token.`,
);
