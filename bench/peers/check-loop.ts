import { execFileSync } from 'node:child_process';
import { type ModelName, syntheticModel } from '../../test/support/synthetic-model.js';
import { bareLoop } from '../subjects/bare-loop.js';
import { table } from '../table.js';
import type { Work } from '../work.js';
import type { ChosenBackend } from './backend.js';
import type { Peers } from './build-peers.js';

const timeout = 240_000;
const promptTokens = 80;
const predictTokens = 128;

/** A Markdown table of decode rates: the bare loop beside llama.cpp's own tools, which do not sample. */
export async function checkLoop(peers: Peers, threads: number, backend: ChosenBackend): Promise<string> {
  const rows: string[][] = [];
  for (const [name, streams] of [
    ['0.5B', 1],
    ['0.5B', 8],
    ['tiny', 1],
    ['tiny', 64],
  ] as const) {
    const model = modelPath(name, peers);
    const own = await loopRates(model, threads, { promptTokens, predictTokens, streams }, backend);
    const bench = streams === 1 ? llamaBench(peers, model, threads) : undefined;
    const batched = batchedBench(peers, model, threads, streams);
    rows.push([`${name}, ${streams}`, own.decode, bench ?? '', batched.decode, own.total, batched.total]);
  }
  const head = ['tokens/s; streams', 'loop: decode', 'llama-bench', 'batched-bench', 'loop: total', 'batched-bench'];
  return table(head, rows);
}

function modelPath(name: ModelName, { pathOf }: Peers): string {
  return syntheticModel(name, pathOf('llama-quantize'));
}

async function loopRates(
  model: string,
  threads: number,
  work: Work,
  backend: ChosenBackend,
): Promise<{ decode: string; total: string }> {
  const loop = bareLoop(model, threads, work, backend.module);
  await loop.run(work, 0);
  const { decodeRate, totalRate } = await loop.run(work, 1);
  await loop.close();
  return { decode: decodeRate.toFixed(1), total: totalRate.toFixed(1) };
}

function llamaBench(peers: Peers, model: string, threads: number): string {
  const args = ['-m', model, '-p', '0', '-n', String(predictTokens), '-t', String(threads), '-r', '3', '-o', 'json'];
  const [result] = JSON.parse(run(peers.pathOf('llama-bench'), args)) as { avg_ts: number }[];
  return (result?.avg_ts ?? Number.NaN).toFixed(1);
}

/** Rates of llama-batched-bench include the prompts; ours count only new tokens. */
function batchedBench(peers: Peers, model: string, threads: number, streams: number) {
  const shape = ['-npp', String(promptTokens), '-ntg', String(predictTokens), '-npl', String(streams)];
  const context = ['-c', String(256 * streams), '-t', String(threads), '--output-format', 'jsonl'];
  const output = run(peers.pathOf('llama-batched-bench'), ['-m', model, ...shape, ...context]);
  const line = output.split('\n').findLast((each) => each.startsWith('{')) ?? '{}';
  const { speed_tg: decode = Number.NaN, t = Number.NaN } = JSON.parse(line) as { speed_tg?: number; t?: number };
  return { decode: decode.toFixed(1), total: ((predictTokens * streams) / t).toFixed(1) };
}

function run(program: string, args: string[]): string {
  return execFileSync(program, args, { encoding: 'utf8', timeout, stdio: ['ignore', 'pipe', 'ignore'] });
}
