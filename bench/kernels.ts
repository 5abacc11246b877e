/**
 * Measures the matrix-product kernels without a model: the share of this machine's memory bandwidth and arithmetic peak
 * that each weight format reaches.
 *
 *     node --import tsx bench/kernels.ts [--rounds 7] [--threads N] [--types q4_K,q8_0] [--other FOLDER]
 *
 * `--other` names the module folder of another build, such as build/Release of another clone, and alternates with it.
 * `npm run build -- --bench` builds the programs. Figures are those of the fastest round, because other processes can only
 * slow a round down.
 */
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { modules, type RoundsProgram, startRounds } from './subjects/rounds-program.js';
import { table } from './table.js';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '7' },
    threads: { type: 'string', default: String(availableParallelism()) },
    types: { type: 'string', default: 'q4_0,q4_1,q5_0,q5_1,q8_0,iq4_nl,mxfp4,q4_K,q5_K,q6_K,iq4_xs,f16,bf16' },
    other: { type: 'string' },
  },
});

interface Work {
  name: string;
  tokens: number;
  /** Size of the weights. With few tokens it exceeds the caches, so memory bandwidth is measured. */
  bytes: number;
}

const rows = 4864;
const rowLength = 2048;
const works: Work[] = [
  { name: '1 token, GB/s', tokens: 1, bytes: 150e6 },
  { name: '8 tokens, GB/s', tokens: 8, bytes: 150e6 },
  { name: '512 tokens, Gproducts/s', tokens: 512, bytes: 10e6 },
];

interface Line {
  seconds: number;
  bytes: number;
  products: number;
}

async function figureOf(program: RoundsProgram<Line>, shape: string, { tokens }: Work): Promise<number> {
  const { seconds, bytes, products } = await program.round(shape);
  return (tokens > 8 ? products : bytes) / seconds / 1e9;
}

const folders = values.other === undefined ? [modules] : [modules, values.other];
const limits = startRounds<{ bytesRead: number; products: number }>('machine-limits', [values.threads]);
const { bytesRead, products } = await limits.round();
await limits.close();
const programs = folders.map((folder) => startRounds<Line>('products', [folder, values.threads]));
const lines: string[][] = [];
for (const type of values.types.split(',')) {
  const cells = [type];
  for (const work of works) {
    const shape = `${type} ${rows} ${rowLength} ${work.tokens} ${work.bytes}`;
    const figures = programs.map(() => 0);
    for (let round = 0; round <= Number(values.rounds); round++) {
      for (const [i, program] of programs.entries()) {
        figures[i] = Math.max(figures[i] ?? 0, await figureOf(program, shape, work));
      }
    }
    const limit = (work.tokens > 8 ? products : bytesRead) / 1e9;
    cells.push(figures.map((figure) => `${figure.toFixed(1)} (${(figure / limit).toFixed(2)})`).join(', '));
  }
  lines.push(cells);
}
for (const program of programs) await program.close();
console.log(
  `${values.threads} threads. In brackets: the share of what this machine reads, ${(bytesRead / 1e9).toFixed(1)} GB/s, ` +
    `or multiplies, ${(products / 1e9).toFixed(0)} products of bytes in a second.\n`,
);
console.log(table(['weights', ...works.map(({ name }) => name)], lines));
