/**
 * Models to test and to measure speed with: the shapes and the vocabulary of real ones, weights drawn at random. They are written
 * once and kept.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import {
  arrayLength,
  type Entry,
  float32Entry,
  int32ArrayEntry,
  readEntries,
  type Tensor,
  textEntry,
  uint32Entry,
  writeGguf,
} from './gguf.js';
import { modelsFolder, root } from './places.js';
import { RandomWeights } from './random-weights.js';
import { seedOf } from './seeded-random.js';

interface Shape {
  layers: number;
  width: number;
  hidden: number;
  heads: number;
  keyValueHeads: number;
  /** Qwen2-VL's positions have three coordinates; this many pairs of a head's numbers turn by each. */
  positionSections?: number[];
  /** Layers after these are computed and change nothing. Default: all do. */
  effective?: number;
  /** After each token of the vocabulary comes the next one, nearly for certain: what is quoted can be chosen. */
  counts?: boolean;
  /** How llama-quantize calls what the weights become; F16 stays as it is written. */
  precision: 'F16' | 'Q4_K_M';
}

const shapes = {
  /** Qwen2-0.5B's. */
  '0.5B': { layers: 24, width: 896, hidden: 4864, heads: 14, keyValueHeads: 2, precision: 'Q4_K_M' },
  /** As large, and nearly always of one mind with the next. */
  'foreseeable-0.5B': {
    layers: 24,
    width: 896,
    hidden: 4864,
    heads: 14,
    keyValueHeads: 2,
    effective: 1,
    precision: 'Q4_K_M',
  },
  /** As large, and its completions are known beforehand. */
  'counting-0.5B': {
    layers: 24,
    width: 896,
    hidden: 4864,
    heads: 14,
    keyValueHeads: 2,
    effective: 0,
    counts: true,
    precision: 'Q4_K_M',
  },
  /** Its embeddings and first layer. */
  draft: { layers: 1, width: 896, hidden: 4864, heads: 14, keyValueHeads: 2, precision: 'Q4_K_M' },
  /** So small that everything but the matrix work shows, with a vocabulary of full size. */
  tiny: { layers: 2, width: 64, hidden: 256, heads: 2, keyValueHeads: 2, precision: 'F16' },
  /** The same with two-dimensional positions. */
  'tiny-mrope': {
    layers: 2,
    width: 64,
    hidden: 256,
    heads: 2,
    keyValueHeads: 2,
    positionSections: [4, 6, 6, 0],
    precision: 'F16',
  },
} satisfies Record<string, Shape>;

export type ModelName = keyof typeof shapes;

const contextLength = 32_768;
const embeddingDeviation = 0.02;
const vocabularyFile = path.join(root, 'vendor', 'llama.cpp', 'models', 'ggml-vocab-qwen2.gguf');
const chatTemplate =
  "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}" +
  "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

/** Of its embeddings. */
export function widthOf(name: ModelName): number {
  return shapes[name].width;
}

/** Makes the model unless it is there, and returns its path. */
export function syntheticModel(name: ModelName, quantizer: string): string {
  const shape: Shape = shapes[name];
  const file = path.join(modelsFolder, `${name}-${shape.precision}-${recipeDigest(shape)}.gguf`);
  if (fs.existsSync(file)) return file;
  console.error(`Writing ${path.relative(root, file)} ...`);
  fs.mkdirSync(modelsFolder, { recursive: true });
  const entries = metadata(name, shape);
  const vocabularySize = arrayLength(entries.find(({ key }) => key === 'tokenizer.ggml.tokens') as Entry);
  if (shape.precision === 'F16') {
    writeGguf(file, entries, tensors(shape, vocabularySize));
    return file;
  }
  const unquantized = `${file}.f16`;
  writeGguf(unquantized, entries, tensors(shape, vocabularySize));
  quantize(quantizer, unquantized, file, shape.precision);
  fs.rmSync(unquantized);
  return file;
}

/** Part of the file name, so a changed recipe gets a new file. */
function recipeDigest(shape: Shape): string {
  const hash = createHash('sha256').update(JSON.stringify(shape)).update(fs.readFileSync(vocabularyFile));
  for (const source of ['synthetic-model.ts', 'gguf.ts', 'random-weights.ts']) {
    hash.update(fs.readFileSync(new URL(source, import.meta.url)));
  }
  return hash.digest('hex').slice(0, 8);
}

function metadata(name: ModelName, shape: Shape): Entry[] {
  const architecture = shape.positionSections ? 'qwen2vl' : 'qwen2';
  return [
    textEntry('general.architecture', architecture),
    textEntry('general.name', `${name}, random weights`),
    uint32Entry(`${architecture}.context_length`, contextLength),
    uint32Entry(`${architecture}.embedding_length`, shape.width),
    uint32Entry(`${architecture}.block_count`, shape.layers),
    uint32Entry(`${architecture}.feed_forward_length`, shape.hidden),
    uint32Entry(`${architecture}.attention.head_count`, shape.heads),
    uint32Entry(`${architecture}.attention.head_count_kv`, shape.keyValueHeads),
    float32Entry(`${architecture}.attention.layer_norm_rms_epsilon`, 1e-6),
    float32Entry(`${architecture}.rope.freq_base`, 1e6),
    ...(shape.positionSections ? [int32ArrayEntry('qwen2vl.rope.dimension_sections', shape.positionSections)] : []),
    ...vocabularyEntries(),
  ];
}

/** Qwen2's vocabulary and a chat template. */
export function vocabularyEntries(): Entry[] {
  const copied = readEntries(vocabularyFile).filter(({ key }) => key.startsWith('tokenizer.ggml.'));
  return [...copied, textEntry('tokenizer.chat_template', chatTemplate)];
}

function tensors(shape: Shape, vocabularySize: number): Tensor[] {
  const { width, hidden, heads, keyValueHeads } = shape;
  const keyValueWidth = (width / heads) * keyValueHeads;
  // The embeddings are the output matrix as well. Small beside what the layers add to them, they let the next token
  // differ from the last.
  const all = [weights('token_embd', width, vocabularySize, embeddingDeviation)];
  if (shape.counts) all.push(nextTokens(width, vocabularySize));
  for (let layer = 0; layer < shape.layers; layer++) {
    const block = (part: string) => `blk.${layer}.${part}`;
    all.push(constant(block('attn_norm.weight'), width, 1), constant(block('ffn_norm.weight'), width, 1));
    for (const [part, length] of [
      ['attn_q', width],
      ['attn_k', keyValueWidth],
      ['attn_v', keyValueWidth],
    ] as const) {
      all.push(weights(block(part), width, length), constant(block(`${part}.bias`), length, 0));
    }
    const added = layer < (shape.effective ?? shape.layers) ? undefined : 0;
    all.push(weights(block('attn_output'), width, width, added), weights(block('ffn_gate'), width, hidden));
    all.push(weights(block('ffn_up'), width, hidden), weights(block('ffn_down'), hidden, width, added));
  }
  all.push(constant('output_norm.weight', width, 1));
  return all;
}

/** An output matrix that maps each token to the embedding of the previous token. */
function nextTokens(width: number, vocabularySize: number): Tensor {
  const embeddings = weights('token_embd', width, vocabularySize, embeddingDeviation);
  let first = Buffer.alloc(2 * width);
  const fill = (elements: number) => {
    const beginning = first.subarray(0, 2 * elements);
    first = first.subarray(beginning.length);
    return Buffer.concat([beginning, embeddings.fill(elements - beginning.length / 2)]);
  };
  return { ...embeddings, name: 'output.weight', fill };
}

/** A matrix that keeps the size of the vectors that it is applied to, unless a deviation is given. */
export function weights(part: string, columns: number, rows: number, deviation = 1 / Math.sqrt(columns)): Tensor {
  return randomTensor(`${part}.weight`, [columns, rows], deviation);
}

export function randomTensor(name: string, shape: number[], deviation: number): Tensor {
  const random = new RandomWeights(seedOf(name), deviation);
  return { name, shape, type: 'F16', fill: (elements) => random.take(elements) };
}

export function constant(name: string, length: number, value: number): Tensor {
  return { name, shape: [length], type: 'F32', fill: (n) => Buffer.from(new Float32Array(n).fill(value).buffer) };
}

function quantize(quantizer: string, from: string, to: string, precision: string): void {
  const unfinished = `${to}.unfinished`;
  const { status, stderr } = spawnSync(quantizer, [from, unfinished, precision], {
    encoding: 'utf8',
    maxBuffer: 1 << 26,
  });
  if (status !== 0) throw new Error(`llama-quantize ended with ${status}:\n${stderr.slice(-2000)}`);
  fs.renameSync(unfinished, to);
}
