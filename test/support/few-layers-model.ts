/**
 * The first layers of large models: their shapes and types of weights, random weights. The quantised blocks are written
 * directly, because a file in full precision would have three times the size.
 */
import { createHash } from 'node:crypto';
import fs from 'node:fs';
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
  writeGguf,
} from './gguf.js';
import { modelsFolder, root } from './places.js';
import { type BlockType, randomBlocks } from './random-blocks.js';
import { seedOf } from './seeded-random.js';
import { constant, randomTensor, vocabularyEntries } from './synthetic-model.js';
import { fileOfOwn } from './tiny-model.js';

interface Shape {
  architecture: 'llama' | 'qwen3moe' | 'gpt-oss';
  layers: number;
  width: number;
  /** Of an expert, if there are experts. */
  hidden: number;
  heads: number;
  keyValueHeads: number;
  headWidth: number;
  frequencyBase: number;
  experts?: { count: number; used: number };
  precision: keyof typeof precisions;
}

/** Types as llama-quantize chooses them. `sensitive` matrices are values and down projections in half of the layers. */
const precisions = {
  Q4_K_M: { output: 'Q6_K', attention: 'Q4_K', feedForward: 'Q4_K', sensitive: 'Q6_K' },
  MXFP4_MOE: { output: 'Q8_0', attention: 'Q8_0', feedForward: 'MXFP4', sensitive: undefined },
} satisfies Record<string, Record<string, BlockType | undefined>>;

const shapes = {
  /** Half of its experts. */
  'Qwen3-30B-A3B': {
    architecture: 'qwen3moe',
    layers: 8,
    width: 2048,
    hidden: 768,
    heads: 32,
    keyValueHeads: 4,
    headWidth: 128,
    frequencyBase: 1e6,
    experts: { count: 64, used: 8 },
    precision: 'Q4_K_M',
  },
  /** Attention sinks, and a sliding window in every second layer. */
  'gpt-oss-20b': {
    architecture: 'gpt-oss',
    layers: 4,
    width: 2880,
    hidden: 2880,
    heads: 64,
    keyValueHeads: 8,
    headWidth: 64,
    frequencyBase: 150_000,
    experts: { count: 32, used: 4 },
    precision: 'MXFP4_MOE',
  },
  'Llama-3-8B': {
    architecture: 'llama',
    layers: 4,
    width: 4096,
    hidden: 14_336,
    heads: 32,
    keyValueHeads: 8,
    headWidth: 128,
    frequencyBase: 500_000,
    precision: 'Q4_K_M',
  },
} satisfies Record<string, Shape>;

export type FewLayersName = keyof typeof shapes;

export function isFewLayersName(name: string): name is FewLayersName {
  return name in shapes;
}

/** Creates the model, with Qwen2's vocabulary, unless it exists. Returns its path. */
export function fewLayersModel(name: FewLayersName): string {
  const shape: Shape = shapes[name];
  const file = path.join(modelsFolder, `${name}-${shape.precision}-${recipeDigest(shape)}.gguf`);
  if (fs.existsSync(file)) return file;
  console.error(`Writing ${path.relative(root, file)} ...`);
  fs.mkdirSync(modelsFolder, { recursive: true });
  write(file, shape, vocabularyEntries());
  return file;
}

/** The same architecture with matrices of 256 columns and the vocabulary of the demo model, in a folder of its own. */
export function narrowModel(name: FewLayersName): string {
  const file = fileOfOwn('narrow.gguf');
  const vocabulary = readEntries(demoModelPath).filter(({ key }) => key.startsWith('tokenizer.'));
  const narrow = { layers: 2, width: 256, hidden: 256, heads: 4, keyValueHeads: 2, headWidth: 64 };
  const experts = 'experts' in shapes[name] ? { experts: { count: 8, used: 3 } } : {};
  write(file, { ...shapes[name], ...narrow, ...experts }, vocabulary);
  return file;
}

/** Part of the file name, so a changed recipe gets a new file. */
function recipeDigest(shape: Shape): string {
  const hash = createHash('sha256').update(JSON.stringify(shape));
  for (const source of ['few-layers-model.ts', 'gguf.ts', 'random-blocks.ts']) {
    hash.update(fs.readFileSync(new URL(source, import.meta.url)));
  }
  return hash.digest('hex').slice(0, 8);
}

function write(file: string, shape: Shape, vocabulary: Entry[]): void {
  const vocabularySize = arrayLength(vocabulary.find(({ key }) => key === 'tokenizer.ggml.tokens') as Entry);
  writeGguf(file, [...metadata(shape), ...vocabulary], tensors(shape, vocabularySize));
}

function metadata(shape: Shape): Entry[] {
  const { architecture, experts } = shape;
  const number = (key: string, value: number) => uint32Entry(`${architecture}.${key}`, value);
  const real = (key: string, value: number) => float32Entry(`${architecture}.${key}`, value);
  const all = [
    textEntry('general.architecture', architecture),
    textEntry('general.name', 'a few layers, random weights'),
    number('context_length', 32_768),
    number('embedding_length', shape.width),
    number('block_count', shape.layers),
    number('feed_forward_length', shape.hidden),
    number('attention.head_count', shape.heads),
    number('attention.head_count_kv', shape.keyValueHeads),
    number('attention.key_length', shape.headWidth),
    number('attention.value_length', shape.headWidth),
    real('attention.layer_norm_rms_epsilon', 1e-6),
    number('rope.dimension_count', shape.headWidth),
    real('rope.freq_base', shape.frequencyBase),
  ];
  if (experts) {
    all.push(number('expert_count', experts.count), number('expert_used_count', experts.used));
    all.push(number('expert_feed_forward_length', shape.hidden));
  }
  if (architecture === 'gpt-oss') {
    all.push(number('attention.sliding_window', 128), textEntry('gpt-oss.rope.scaling.type', 'yarn'));
    all.push(real('rope.scaling.factor', 32), number('rope.scaling.original_context_length', 4096));
  }
  return all;
}

function tensors(shape: Shape, vocabularySize: number): Tensor[] {
  const { width, layers } = shape;
  const { attention, output } = precisions[shape.precision];
  const all = [
    matrix('token_embd', attention, [width, vocabularySize], 0.02),
    matrix('output', output, [width, vocabularySize]),
    constant('output_norm.weight', width, 1),
  ];
  for (let layer = 0; layer < layers; layer++) all.push(...attentionOf(shape, layer), ...feedForwardOf(shape, layer));
  return all;
}

function attentionOf(shape: Shape, layer: number): Tensor[] {
  const { architecture, width, heads, keyValueHeads, headWidth } = shape;
  const type = precisions[shape.precision].attention;
  const part = (name: string) => `blk.${layer}.${name}`;
  const keyValueWidth = keyValueHeads * headWidth;
  const matrices = [
    ['attn_q', type, [width, heads * headWidth]],
    ['attn_k', type, [width, keyValueWidth]],
    ['attn_v', sensitiveType(shape, layer) ?? type, [width, keyValueWidth]],
    ['attn_output', type, [heads * headWidth, width]],
  ] as const;
  const all = [constant(part('attn_norm.weight'), width, 1)];
  for (const [name, ofMatrix, [columns, rows]] of matrices) {
    all.push(matrix(part(name), ofMatrix, [columns, rows]));
    if (architecture === 'gpt-oss') all.push(constant(part(`${name}.bias`), rows, 0));
  }
  if (architecture === 'gpt-oss') all.push(constant(part('attn_sinks.weight'), heads, 1));
  if (architecture === 'qwen3moe') {
    for (const name of ['attn_q_norm', 'attn_k_norm']) all.push(constant(part(`${name}.weight`), headWidth, 1));
  }
  return all;
}

function feedForwardOf(shape: Shape, layer: number): Tensor[] {
  const { architecture, width, hidden, experts } = shape;
  const type = precisions[shape.precision].feedForward;
  const part = (name: string) => `blk.${layer}.${name}`;
  const stack = experts ? [experts.count] : [];
  const matrices = [
    ['ffn_gate', type, [width, hidden]],
    ['ffn_up', type, [width, hidden]],
    ['ffn_down', sensitiveType(shape, layer) ?? type, [hidden, width]],
  ] as const;
  const norm = architecture === 'gpt-oss' ? 'post_attention_norm' : 'ffn_norm';
  const all = [constant(part(`${norm}.weight`), width, 1)];
  for (const [name, ofMatrix, [columns, rows]] of matrices) {
    const full = part(experts ? `${name}_exps` : name);
    all.push(matrix(full, ofMatrix, [columns, rows, ...stack]));
    if (architecture === 'gpt-oss') all.push(biases(`${full}.bias`, [rows, ...stack]));
  }
  if (experts) {
    all.push(randomTensor(part('ffn_gate_inp.weight'), [width, experts.count], 1 / Math.sqrt(width)));
    if (architecture === 'gpt-oss') all.push(constant(part('ffn_gate_inp.bias'), experts.count, 0));
  }
  return all;
}

/** llama-quantize spares the first and the last eighth of the layers and every third one between. */
function sensitiveType({ layers, precision }: Shape, layer: number): BlockType | undefined {
  const first = Math.floor(layers / 8);
  const isSensitive = layer < first || layer >= Math.floor((7 * layers) / 8) || (layer - first) % 3 === 2;
  return isSensitive ? precisions[precision].sensitive : undefined;
}

/** A matrix that keeps the size of vectors, unless a deviation is given. */
function matrix(part: string, type: BlockType, shape: number[], deviation = 1 / Math.sqrt(shape[0] as number)): Tensor {
  return { name: `${part}.weight`, shape, type, fill: randomBlocks(type, seedOf(part), deviation) };
}

function biases(name: string, shape: number[]): Tensor {
  return { ...constant(name, 0, 0), shape };
}
