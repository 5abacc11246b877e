/**
 * Compares chasqui with a bare llama_decode loop on the demo model: `npm run bench`.
 * Options: --rounds N (default 5), --threads N (default: all cores), --model PATH.
 */
import { execFileSync } from 'node:child_process';
import { availableParallelism, cpus } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { generationTable, measureRow, type Row } from './generation.js';
import { microTable } from './micro.js';
import { bareLoop } from './subjects/bare-loop.js';
import { engine } from './subjects/engine.js';
import { httpServer } from './subjects/http-server.js';
import type { Subject } from './work.js';

const root = fileURLToPath(new URL('../', import.meta.url));
const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    threads: { type: 'string', default: String(availableParallelism()) },
    model: { type: 'string', default: `${root}prebuilds/demo/chasqui-demo.gguf` },
  },
});
const threads = Number(values.threads);

const rows: Row[] = [
  {
    name: 'one stream, decoding',
    work: { promptTokens: 80, predictTokens: 512, streams: 1 },
    figure: 'decodeRate',
  },
  {
    name: '8 streams, prompts included',
    work: { promptTokens: 80, predictTokens: 256, streams: 8 },
    figure: 'totalRate',
  },
];

function server(row: Row): Promise<Subject> {
  const { promptTokens, predictTokens, streams } = row.work;
  // Leave space for the chat template and for words with several tokens.
  const contextSize = 2 * promptTokens + predictTokens + 128;
  const common = { parallel: streams, threads, alias: 'bench', model: values.model };
  const options = { ...common, 'ctx-size': contextSize, 'draft-max': 0 };
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
  return httpServer({
    name: 'over HTTP',
    command: process.execPath,
    args: [`${root}dist/cli.js`, 'serve', ...args],
    log: `${root}build/bench-server.log`,
  });
}

const lines: string[][] = [];
let names: string[] = [];
for (const row of rows) {
  const subjects = [
    bareLoop(values.model, threads, row.work),
    await engine(values.model, threads, row.work),
    await server(row),
  ];
  names = subjects.map((subject) => subject.name);
  lines.push(await measureRow(row, subjects, Number(values.rounds)));
  for (const subject of subjects) await subject.close();
}

const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim();
console.log(
  `${cpus()[0]?.model}, ${availableParallelism()} cores, ${threads} threads; Node ${process.version}; ${commit}\n`,
);
console.log(generationTable(names, lines));
console.log(
  `\nThe subjects run alternately; figures are medians of ${values.rounds} rounds. Ratios refer to the bare loop of the same round.\n`,
);
console.log(await microTable(values.model));
