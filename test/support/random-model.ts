/**
 * Models of other architectures: the vocabularies of real models and a few layers of random weights. Tests compare
 * their output with llama.cpp's; the text is meaningless.
 */
import fs from 'node:fs';
import path from 'node:path';
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
import { root } from './places.js';
import { RandomWeights } from './random-weights.js';
import { seedOf } from './seeded-random.js';

interface Shape {
  width: number;
  hidden: number;
  layers: number;
}

const small: Shape = { width: 64, hidden: 128, layers: 2 };
const { width, hidden, layers } = small;
/** Tokens of the longest text that the encoder takes: it has learned positions, and no others. */
export const ENCODER_CONTEXT = 128;

/** llama.cpp's numbers for how a text's vector comes about; `none`: the file does not say. */
const poolings = { none: undefined, mean: 1, cls: 2, last: 3, rank: 4 };

/**
 * Writes a BERT: it encodes texts and generates none. With a head it can score, whatever the file says of pooling;
 * `rankingTemplate` is what it reads a query and a document in.
 */
export function writeEncoder(
  file: string,
  pooling: keyof typeof poolings,
  withHead = pooling === 'rank',
  contextLength = ENCODER_CONTEXT,
  rankingTemplate?: string,
): string {
  const copied = vocabulary('bert-bge');
  const code = poolings[pooling];
  const entries = [
    textEntry('general.architecture', 'bert'),
    ...readEntries(vocabularyFile('bert-bge')).filter(({ key }) => key === 'bert.attention.causal'),
    uint32Entry('bert.context_length', contextLength),
    ...shape('bert'),
    float32Entry('bert.attention.layer_norm_epsilon', 1e-12),
    ...(code === undefined ? [] : [uint32Entry('bert.pooling_type', code)]),
    ...(rankingTemplate === undefined ? [] : [textEntry('tokenizer.chat_template.rerank', rankingTemplate)]),
    ...copied,
  ];
  const head = [matrix('cls', width, width), bias('cls'), matrix('cls.output', width, 1), bias('cls.output', 1)];
  writeGguf(file, entries, [...encoderTensors(vocabularySize(copied), contextLength), ...(withHead ? head : [])]);
  return file;
}

/**
 * Writes a decoder of 512 tokens of context, with the vocabulary of one of llama.cpp's tests; that of `starcoder` has the
 * tokens that mark a gap.
 */
export function writeDecoder(file: string, vocabularyOf = 'starcoder', contextLength = 512): string {
  const copied = vocabulary(vocabularyOf);
  const entries = [
    textEntry('general.architecture', 'qwen2'),
    uint32Entry('qwen2.context_length', contextLength),
    ...shape('qwen2'),
    float32Entry('qwen2.attention.layer_norm_rms_epsilon', 1e-6),
    ...copied,
  ];
  writeGguf(file, entries, decoderTensors(vocabularySize(copied)));
  return file;
}

/** Writes a Gemma 4 assistant of one layer. It reads hidden states of a larger model. */
export function writeAssistant(file: string): string {
  const copied = vocabulary('starcoder');
  const name = 'gemma4-assistant';
  const numbers = { context_length: 512, nextn_predict_layers: 1, embedding_length_out: 2 * width };
  const window = { sliding_window: 64, key_length_swa: 16, value_length_swa: 16 };
  const entries = [
    textEntry('general.architecture', name),
    ...shape(name, { width, hidden, layers: 1 }),
    ...Object.entries(numbers).map(([key, value]) => uint32Entry(`${name}.${key}`, value)),
    ...Object.entries(window).map(([key, value]) => uint32Entry(`${name}.attention.${key}`, value)),
    uint32sEntry(`${name}.attention.sliding_window_pattern`, [1]),
    float32Entry(`${name}.attention.layer_norm_rms_epsilon`, 1e-6),
    ...copied,
  ];
  const block = (part: string) => `blk.0.${part}`;
  const norms = ['attn_norm', 'post_attention_norm', 'ffn_norm', 'post_ffw_norm'];
  writeGguf(file, entries, [
    matrix('token_embd', width, vocabularySize(copied)),
    constant('output_norm.weight', width, 1),
    matrix('nextn.pre_projection', 4 * width, width),
    matrix('nextn.post_projection', width, 2 * width),
    ...['attn_q', 'attn_output'].map((part) => matrix(block(part), width, width)),
    ...['ffn_gate', 'ffn_up'].map((part) => matrix(block(part), width, hidden)),
    matrix(block('ffn_down'), hidden, width),
    ...norms.map((part) => constant(block(`${part}.weight`), width, 1)),
    constant(block('attn_q_norm.weight'), 16, 1),
    constant(block('layer_output_scale.weight'), 1, 1),
  ]);
  return file;
}

/** Writes an embedding Gemma. The width of its second dense layer is wrong. */
export function writeMisfittingEncoder(file: string): string {
  const copied = vocabulary('starcoder');
  const name = 'gemma-embedding';
  const dense = { dense_2_feat_out: 32, dense_3_feat_in: 48 };
  const window = { 'attention.sliding_window': 64, 'attention.sliding_window_pattern': 2 };
  const numbers = { context_length: 512, ...dense, ...window };
  const norms = ['post_attention_norm', 'post_ffw_norm'];
  const head = ['attn_q_norm', 'attn_k_norm'];
  const perLayer = (layer: number) => [
    ...norms.map((part) => constant(`blk.${layer}.${part}.weight`, width, 1)),
    ...head.map((part) => constant(`blk.${layer}.${part}.weight`, width / 4, 1)),
  ];
  const entries = [
    textEntry('general.architecture', name),
    ...shape(name),
    ...Object.entries(numbers).map(([key, value]) => uint32Entry(`${name}.${key}`, value)),
    float32Entry(`${name}.attention.layer_norm_rms_epsilon`, 1e-6),
    ...copied,
  ];
  const body = decoderTensors(vocabularySize(copied)).filter(({ name }) => !name.endsWith('.bias'));
  writeGguf(file, entries, [
    ...body,
    ...Array.from({ length: layers }, (_, layer) => perLayer(layer)).flat(),
    matrix('dense_2', width, numbers.dense_2_feat_out),
    matrix('dense_3', numbers.dense_3_feat_in, width),
  ]);
  return file;
}

/** Writes what llama.cpp must know of a large decoder to work out its memory: a hole of the file has the weights' place. */
export function writeHollowDecoder(file: string, { width, hidden, layers }: Shape): string {
  const copied = vocabulary('starcoder');
  const entries = [
    textEntry('general.architecture', 'qwen2'),
    uint32Entry('qwen2.context_length', 32_768),
    ...shape('qwen2', { width, hidden, layers }),
    float32Entry('qwen2.attention.layer_norm_rms_epsilon', 1e-6),
    ...copied,
  ];
  const tensors = decoderTensors(vocabularySize(copied), { width, hidden, layers });
  writeGguf(
    file,
    entries,
    tensors.map((tensor) => ({ ...tensor, fill: () => Buffer.alloc(0) })),
  );
  fs.truncateSync(file, fs.statSync(file).size + tensors.map(byteLength).reduce((sum, bytes) => sum + bytes));
  return file;
}

function byteLength({ shape: lengths, type }: Tensor): number {
  return lengths.reduce((product, length) => product * length, type === 'F32' ? 4 : 2);
}

/** The names of the vocabularies that come with llama.cpp. */
export function vocabularies(): string[] {
  const names = fs
    .readdirSync(path.dirname(vocabularyFile('')))
    .map((name) => /^ggml-vocab-(.+)\.gguf$/.exec(name)?.[1]);
  return names.filter((name) => name !== undefined).sort();
}

function vocabularyFile(name: string): string {
  return path.join(root, 'vendor', 'llama.cpp', 'models', `ggml-vocab-${name}.gguf`);
}

function vocabulary(name: string): Entry[] {
  return readEntries(vocabularyFile(name)).filter(({ key }) => key.startsWith('tokenizer.ggml.'));
}

function vocabularySize(entries: readonly Entry[]): number {
  return arrayLength(entries.find(({ key }) => key === 'tokenizer.ggml.tokens') as Entry);
}

function shape(architecture: string, { width, hidden, layers } = small): Entry[] {
  return [
    uint32Entry(`${architecture}.embedding_length`, width),
    uint32Entry(`${architecture}.block_count`, layers),
    uint32Entry(`${architecture}.feed_forward_length`, hidden),
    uint32Entry(`${architecture}.attention.head_count`, 4),
  ];
}

function encoderTensors(size: number, contextLength: number): Tensor[] {
  const all = [
    matrix('token_embd', width, size, 1),
    single('token_types.weight', [width, 2], 0.5),
    single('position_embd.weight', [width, contextLength], 0.5),
    ...norm('token_embd_norm'),
  ];
  for (let layer = 0; layer < layers; layer++) {
    const block = (part: string) => `blk.${layer}.${part}`;
    for (const part of ['attn_q', 'attn_k', 'attn_v', 'attn_output']) {
      all.push(matrix(block(part), width, width), bias(block(part)));
    }
    all.push(matrix(block('ffn_up'), width, hidden), bias(block('ffn_up'), hidden));
    all.push(matrix(block('ffn_down'), hidden, width), bias(block('ffn_down')));
    all.push(...norm(block('attn_output_norm')), ...norm(block('layer_output_norm')));
  }
  return all;
}

function decoderTensors(size: number, { width, hidden, layers } = small): Tensor[] {
  const all = [matrix('token_embd', width, size, 0.02)];
  for (let layer = 0; layer < layers; layer++) {
    const block = (part: string) => `blk.${layer}.${part}`;
    all.push(constant(block('attn_norm.weight'), width, 1), constant(block('ffn_norm.weight'), width, 1));
    for (const part of ['attn_q', 'attn_k', 'attn_v']) {
      all.push(matrix(block(part), width, width), bias(block(part), width));
    }
    all.push(matrix(block('attn_output'), width, width), matrix(block('ffn_gate'), width, hidden));
    all.push(matrix(block('ffn_up'), width, hidden), matrix(block('ffn_down'), hidden, width));
  }
  all.push(constant('output_norm.weight', width, 1));
  return all;
}

/** A matrix that keeps the size of the vectors that it is applied to, unless a deviation is given. */
function matrix(part: string, columns: number, rows: number, deviation = 1 / Math.sqrt(columns)): Tensor {
  const name = `${part}.weight`;
  const random = new RandomWeights(seedOf(name), deviation);
  return { name, shape: [columns, rows], type: 'F16', fill: (elements) => random.take(elements) };
}

function single(name: string, lengths: number[], deviation: number): Tensor {
  let state = seedOf(name);
  const next = (): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state / 2 ** 31 - 1) * deviation;
  };
  return { name, shape: lengths, type: 'F32', fill: (n) => Buffer.from(Float32Array.from({ length: n }, next).buffer) };
}

function bias(part: string, length = width): Tensor {
  return single(`${part}.bias`, [length], 0.1);
}

function norm(part: string): Tensor[] {
  return [constant(`${part}.weight`, width, 1), constant(`${part}.bias`, width, 0)];
}

function constant(name: string, length: number, value: number): Tensor {
  return { name, shape: [length], type: 'F32', fill: (n) => Buffer.from(new Float32Array(n).fill(value).buffer) };
}
