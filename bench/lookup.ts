/**
 * What drafts from the text so far are worth, and what they cost where nothing repeats: the same completions by two
 * engines in alternation, one that drafts nothing and one as it is by default, or with `--draft-max`. The model counts:
 * after each token comes the next one of the vocabulary, so that the completion is known beforehand, and the prompt decides
 * how much of it is a quotation. Requests draw nothing, which by default are drafted where the model rounds alike; with
 * `--temperature 0.5` they draw, all but certainly, so that the completions are the same.
 *
 *     node --import tsx bench/lookup.ts [--rounds 5] [--tokens 400] [--threads 2] [--draft-max N] [--only quote,new]
 *
 * `--model FILE` takes a model that was written before, which spares building llama-quantize.
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
/** Tokens from here on are ordinary ones. */
const firstToken = 1000;

interface Text {
  name: string;
  /** What the prompt has of the completion, which counts on from `start`; random tokens go before and after it. */
  prompt(start: number, random: () => number): number[];
  temperature: number;
  /** Of the speed without drafts. */
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
  /** Of all streams together, after the first token of each, in tokens a second. */
  rate: number;
  /** Of the processors, in milliseconds. What other programs do shows less in it than in the rate. */
  cpuMsPerToken: number;
  accepted: number;
  drafted: number;
}

/** `seed`: of the prompts. */
async function measure(model: Model, text: Text, streams: number, seed: number): Promise<Measured> {
  const random = seededRandom(seed);
  const others = Array.from({ length: 60 }, () => anyToken(random));
  const requests = counted(0, streams).map(() => {
    const start = firstToken + Math.floor(random() * 80_000);
    // The last token of the prompt says where the completion goes on.
    const prompt = [...others, ...text.prompt(start, random), ...others, anyToken(random), start - 1];
    return { prompt, maxTokens: nTokens, ignoreEos: true, temperature: text.temperature };
  });
  // Prompts are computed first, so that what is measured is decoding alone.
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
  'by processor time',
  'goal',
  'drafted',
  'accepted',
];
console.log(table(head, rows));
console.log(
  `\nMedians of ${rounds} rounds in alternation; drafted and accepted tokens for each token of the completion.`,
);
