/**
 * The smallest models with K-quant rows: a few layers of random weights with the vocabulary of the demo model. Tests
 * check that their output is reproducible.
 */
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
import { randomBlocks } from './random-blocks.js';
import { RandomWeights } from './random-weights.js';
import { seedOf } from './seeded-random.js';
import { constant, weights } from './synthetic-model.js';
import { fileOfOwn } from './tiny-model.js';

const width = 256;
const hidden = 512;
const heads = 4;
const layers = 2;
const experts = 4;

interface WideModel {
  weights: 'F16' | 'Q2_K' | 'Q4_K';
  /** Mixture of experts, with two active experts per token. */
  experts?: boolean;
}

/** Writes the model into a folder of its own, which goes when the process does. */
export function wideModel(model: WideModel): string {
  const file = fileOfOwn('wide.gguf');
  const vocabulary = readEntries(demoModelPath).filter(({ key }) => key.startsWith('tokenizer.'));
  const vocabularySize = arrayLength(vocabulary.find(({ key }) => key === 'tokenizer.ggml.tokens') as Entry);
  writeGguf(file, [...metadata(model), ...vocabulary], tensors(model, vocabularySize));
  return file;
}

function metadata({ experts: hasExperts }: WideModel): Entry[] {
  return [
    textEntry('general.architecture', 'llama'),
    uint32Entry('llama.context_length', 4096),
    uint32Entry('llama.embedding_length', width),
    uint32Entry('llama.block_count', layers),
    uint32Entry('llama.feed_forward_length', hidden),
    uint32Entry('llama.attention.head_count', heads),
    uint32Entry('llama.attention.head_count_kv', heads / 2),
    float32Entry('llama.attention.layer_norm_rms_epsilon', 1e-6),
    ...(hasExperts ? [uint32Entry('llama.expert_count', experts), uint32Entry('llama.expert_used_count', 2)] : []),
  ];
}

function tensors({ weights: type, experts: hasExperts }: WideModel, vocabularySize: number): Tensor[] {
  const matrix = (part: string, ...shape: [number, number, number?]): Tensor => {
    const { name, fill } = weights(part, shape[0], shape[1]);
    const fills = {
      F16: fill,
      Q2_K: (elements: number) => Buffer.alloc((elements / 256) * 84),
      Q4_K: randomBlocks('Q4_K', seedOf(part), 1 / Math.sqrt(shape[0])),
    };
    return { name, shape: shape.filter((length) => length !== undefined), type, fill: fills[type] };
  };
  const all = [matrix('token_embd', width, vocabularySize), matrix('output', width, vocabularySize)];
  for (let layer = 0; layer < layers; layer++) {
    const block = (part: string) => `blk.${layer}.${part}`;
    all.push(constant(block('attn_norm.weight'), width, 1), constant(block('ffn_norm.weight'), width, 1));
    all.push(matrix(block('attn_q'), width, width), matrix(block('attn_k'), width, width / 2));
    all.push(matrix(block('attn_v'), width, width / 2), matrix(block('attn_output'), width, width));
    const [suffix, stack] = hasExperts ? (['_exps', [experts]] as const) : (['', []] as const);
    if (hasExperts) all.push(router(block('ffn_gate_inp.weight')));
    all.push(matrix(block(`ffn_gate${suffix}`), width, hidden, ...stack));
    all.push(matrix(block(`ffn_up${suffix}`), width, hidden, ...stack));
    all.push(matrix(block(`ffn_down${suffix}`), hidden, width, ...stack));
  }
  all.push(constant('output_norm.weight', width, 1));
  return all;
}

function router(name: string): Tensor {
  const random = new RandomWeights(seedOf(name), 1 / Math.sqrt(width));
  return { name, shape: [width, experts], type: 'F16', fill: (elements) => random.take(elements) };
}
