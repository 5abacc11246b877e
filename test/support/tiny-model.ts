/**
 * Models of other architectures: a few layers of random full-precision weights with the vocabulary and chat template of
 * the demo model. Tests check that their output is reproducible.
 */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { demoModelPath } from './demo-model.js';
import {
  arrayLength,
  type Entry,
  float32Entry,
  readEntries,
  type Tensor,
  textEntry,
  uint32Entry,
  uint32sEntry,
  writeGguf,
} from './gguf.js';
import { seededRandom, seedOf } from './seeded-random.js';

const width = 64;
const hidden = 160;
const heads = 4;
const headWidth = width / heads;
const state = { width: 2 * width, size: 16, rank: 4, kernel: 4 };
/** Tokens that a sliding layer looks back: fewer than any conversation here has. */
const window = 32;

/** A tensor, before its numbers are drawn: normally distributed around `mean`. */
export interface Part {
  name: string;
  shape: number[];
  mean: number;
  deviation: number;
}

interface Architecture {
  layers: number;
  entries: Entry[];
  block(layer: number): Part[];
}

const architectures = {
  /** KV cells only, like the demo model. */
  llama: {
    layers: 2,
    entries: [uint32Entry('llama.attention.head_count_kv', heads)],
    block: (layer) => [...attention(layer, heads), ...feedForward(layer)],
  },
  /** A state instead of KV cells. */
  mamba: { layers: 3, entries: stateEntries('mamba'), block: (layer) => recurrence(layer) },
  /** A state in some layers, KV cells in the others. */
  jamba: {
    layers: 4,
    entries: [...stateEntries('jamba'), uint32sEntry('jamba.attention.head_count_kv', [0, 2, 0, 2])],
    block: (layer) => [
      ...(layer % 2 === 1 ? attention(layer, 2) : [...recurrence(layer), ...recurrenceNorms(layer)]),
      ...feedForward(layer),
    ],
  },
  /** KV cells only, and every other layer looks back no further than the window. */
  gemma2: {
    layers: 4,
    entries: [
      uint32Entry('gemma2.attention.head_count_kv', heads),
      uint32Entry('gemma2.attention.key_length', headWidth),
      uint32Entry('gemma2.attention.value_length', headWidth),
      uint32Entry('gemma2.attention.sliding_window', window),
    ],
    block: (layer) => [
      ...attention(layer, heads),
      ...feedForward(layer),
      constant(`blk.${layer}.post_attention_norm.weight`, [width], 1),
      constant(`blk.${layer}.post_ffw_norm.weight`, [width], 1),
    ],
  },
} satisfies Record<string, Architecture>;

export type TinyModel = keyof typeof architectures;

const folders: string[] = [];
process.once('exit', () => {
  for (const folder of folders) fs.rmSync(folder, { recursive: true, force: true });
});

/**
 * Writes the model to a temporary folder that is deleted at exit. `seed` selects the weights, `vocabularyOf` the file
 * with the vocabulary.
 */
export function tinyModel(name: TinyModel, seed = 1, vocabularyOf = demoModelPath): string {
  const file = fileOfOwn(`${name}-${seed}.gguf`);
  const architecture: Architecture = architectures[name];
  const vocabulary = readEntries(vocabularyOf).filter(({ key }) => key.startsWith('tokenizer.'));
  const vocabularySize = arrayLength(vocabulary.find(({ key }) => key === 'tokenizer.ggml.tokens') as Entry);
  // Gemma's embeddings are its output matrix as well: large ones would make the next token the last one again.
  const parts = [
    matrix('token_embd.weight', width, vocabularySize, name === 'gemma2' ? 0.02 : 1),
    constant('output_norm.weight', [width], 1),
    ...Array.from({ length: architecture.layers }, (_, layer) => architecture.block(layer)).flat(),
  ];
  if (name !== 'gemma2') parts.push(matrix('output.weight', width, vocabularySize));
  writeGguf(
    file,
    [...metadata(name, architecture), ...vocabulary],
    parts.map((part) => drawn(part, seed)),
  );
  return file;
}

/** In a folder that goes when the process does. */
export function fileOfOwn(name: string): string {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-tiny-'));
  folders.push(folder);
  return path.join(folder, name);
}

function metadata(name: TinyModel, { layers, entries }: Architecture): Entry[] {
  return [
    textEntry('general.architecture', name),
    textEntry('general.name', `tiny ${name}, random weights`),
    uint32Entry(`${name}.context_length`, 4096),
    uint32Entry(`${name}.embedding_length`, width),
    uint32Entry(`${name}.block_count`, layers),
    uint32Entry(`${name}.feed_forward_length`, hidden),
    uint32Entry(`${name}.attention.head_count`, heads),
    float32Entry(`${name}.attention.layer_norm_rms_epsilon`, 1e-6),
    ...entries,
  ];
}

function stateEntries(name: string): Entry[] {
  return [
    uint32Entry(`${name}.ssm.conv_kernel`, state.kernel),
    uint32Entry(`${name}.ssm.inner_size`, state.width),
    uint32Entry(`${name}.ssm.state_size`, state.size),
    uint32Entry(`${name}.ssm.time_step_rank`, state.rank),
  ];
}

/**
 * Queries and keys are large, so that a token looks at few others: the mean of many is so small that norms behind it
 * would magnify its rounding.
 */
function attention(layer: number, keyValueHeads: number): Part[] {
  const block = `blk.${layer}`;
  const large = 2 / Math.sqrt(width);
  return [
    constant(`${block}.attn_norm.weight`, [width], 1),
    matrix(`${block}.attn_q.weight`, width, width, large),
    matrix(`${block}.attn_k.weight`, width, headWidth * keyValueHeads, large),
    matrix(`${block}.attn_v.weight`, width, headWidth * keyValueHeads),
    matrix(`${block}.attn_output.weight`, width, width),
  ];
}

function feedForward(layer: number): Part[] {
  const block = `blk.${layer}`;
  return [
    constant(`${block}.ffn_norm.weight`, [width], 1),
    matrix(`${block}.ffn_gate.weight`, width, hidden),
    matrix(`${block}.ffn_up.weight`, width, hidden),
    matrix(`${block}.ffn_down.weight`, hidden, width),
  ];
}

/** A layer of Mamba. The time steps are small, so that the state remembers hundreds of tokens. */
function recurrence(layer: number): Part[] {
  const block = `blk.${layer}`;
  return [
    constant(`${block}.attn_norm.weight`, [width], 1),
    matrix(`${block}.ssm_in.weight`, width, 2 * state.width),
    matrix(`${block}.ssm_conv1d.weight`, state.kernel, state.width),
    constant(`${block}.ssm_conv1d.bias`, [state.width], 0),
    matrix(`${block}.ssm_x.weight`, state.width, state.rank + 2 * state.size),
    matrix(`${block}.ssm_dt.weight`, state.rank, state.width),
    constant(`${block}.ssm_dt.bias`, [state.width], -4),
    { name: `${block}.ssm_a`, shape: [state.size, state.width], mean: -1, deviation: 0.2 },
    constant(`${block}.ssm_d`, [state.width], 1),
    matrix(`${block}.ssm_out.weight`, state.width, width),
  ];
}

function recurrenceNorms(layer: number): Part[] {
  const block = `blk.${layer}`;
  return [
    constant(`${block}.ssm_dt_norm.weight`, [state.rank], 1),
    constant(`${block}.ssm_b_norm.weight`, [state.size], 1),
    constant(`${block}.ssm_c_norm.weight`, [state.size], 1),
  ];
}

/** Keeps the size of the vectors that it is applied to, unless a deviation is given. */
export function matrix(name: string, columns: number, rows: number, deviation = 1 / Math.sqrt(columns)): Part {
  return { name, shape: [columns, rows], mean: 0, deviation };
}

export function constant(name: string, shape: number[], value: number): Part {
  return { name, shape, mean: value, deviation: 0 };
}

export function drawn({ name, shape, mean, deviation }: Part, seed: number): Tensor {
  const normal = normallyDistributed(seedOf(`${seed} ${name}`));
  const fill = (elements: number) =>
    Buffer.from(Float32Array.from({ length: elements }, () => mean + deviation * normal()).buffer);
  return { name, shape, type: 'F32', fill };
}

function normallyDistributed(seed: number): () => number {
  const uniform = seededRandom(seed);
  return () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
}
