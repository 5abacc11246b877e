/** Token ids and log-probabilities of llama.cpp's own programs, without our patches and kernels. */
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { chooseBackend } from '../../bench/peers/backend.js';
import { buildPeers } from '../../bench/peers/build-peers.js';

const peers = await buildPeers(await chooseBackend('cpu'), ['llama-perplexity', 'llama-tokenize']);

/** The ids of a file's text, without special tokens. */
export function idsOf(model: string, textFile: string): number[] {
  const only = ['--ids', '--no-bos', '--no-parse-special', '--no-escape', '--log-disable'];
  return JSON.parse(run('llama-tokenize', ['-m', model, '-f', textFile, ...only]));
}

/**
 * Log-probabilities of all tokens for the second half of each chunk of a text, as `llama-perplexity` writes them: in steps of
 * at most 16 / 65535.
 */
export class TextScores {
  readonly chunkSize: number;
  readonly chunks: Int32Array[];
  readonly #rows: Uint16Array[];

  constructor(file: string) {
    const { buffer } = fs.readFileSync(file);
    const [chunkSize = 0, vocabularySize = 0, count = 0] = new Int32Array(buffer, MAGIC.length, 3);
    const start = MAGIC.length + 12;
    this.chunkSize = chunkSize;
    const chunk = (_: unknown, i: number) => new Int32Array(buffer, start + 4 * i * chunkSize, chunkSize);
    this.chunks = Array.from({ length: count }, chunk);
    const rowLength = HEAD + 2 * Math.ceil(vocabularySize / 2);
    const rows = start + 4 * count * chunkSize;
    this.#rows = Array.from(
      { length: count * (chunkSize - 1 - this.first) },
      (_, i) => new Uint16Array(buffer, rows + 2 * i * rowLength, rowLength),
    );
  }

  /** The first position of a chunk that has a row. The last position has none. */
  get first(): number {
    return this.chunkSize / 2;
  }

  /** Returns the function from the id of a token that follows this position to its log-probability. */
  at(chunk: number, position: number): (id: number) => number {
    const row = this.#rows[chunk * (this.chunkSize - 1 - this.first) + position - this.first] as Uint16Array;
    const [scale = 0, least = 0] = new Float32Array(row.buffer, row.byteOffset, 2);
    return (id) => least + scale * (row[HEAD + id] as number);
  }
}

const MAGIC = '_logits_';
/** Numbers of 16 bits before those of a row. */
const HEAD = 4;

/** Writes the scores to `file` and reads them. */
export function scoresOf(
  model: string,
  textFile: string,
  file: string,
  flashAttention: 'on' | 'off',
  size: { chunkSize: number; chunks: number },
): TextScores {
  const chunks = ['-c', String(size.chunkSize), '-b', String(size.chunkSize), '--chunks', String(size.chunks)];
  run('llama-perplexity', ['-m', model, '-f', textFile, '-fa', flashAttention, ...chunks, '--save-all-logits', file]);
  return new TextScores(file);
}

function run(program: 'llama-perplexity' | 'llama-tokenize', args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(peers.pathOf(program), args, { encoding: 'utf8', maxBuffer: 1 << 28 });
  if (status !== 0) throw new Error(`${program} ended with ${status}: ${stderr.slice(-2000)}`);
  return stdout;
}
