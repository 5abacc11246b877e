/**
 * Tiny models with a multi-token prediction (MTP) layer and a known output: each token is followed by the next token of
 * the vocabulary, unless the layers interfere. Full-precision weights with the vocabulary and chat template of the demo
 * model.
 */
import { demoModelPath } from './demo-model.js';
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
import { constant, drawn, fileOfOwn, matrix, type Part } from './tiny-model.js';

const width = 64;
const hidden = 160;
const heads = 4;
const headWidth = width / heads;
const delta = { width: 64, headWidth: 16, keyHeads: 2, valueHeads: 4, kernel: 4 };
const layers = 4;
const seed = 1;

export interface MtpModel {
  /** `hy_v3` has KV cells only, `qwen35` a recurrent state in every other layer. */
  architecture: 'hy_v3' | 'qwen35' | 'llama';
  /**
   * Input of the MTP layer. `token`: the last token; the model continues with its successor. `row`: the hidden state of
   * the previous token; the model continues with its second successor. `chance`: unrelated to both.
   */
  head: 'token' | 'row' | 'chance';
  /** How much the layers interfere: with 0 not at all, with 1 what is said means nothing. */
  interference?: number;
  /** Number of MTP layers in the metadata; the tensors of further ones are omitted. */
  mtpLayers?: number;
  without?: RegExp;
}

/** Writes the models that C++ tests use, and sets the environment variables with their paths. */
export function nameMtpModels(environment: NodeJS.ProcessEnv): void {
  for (const architecture of ['hy_v3', 'qwen35'] as const) {
    environment[`CHASQUI_TEST_MTP_${architecture}`] = mtpModel({ architecture, head: 'chance', interference: 0.6 });
  }
}

/** Writes the model into a folder of its own, which goes when the process does. */
export function mtpModel(model: MtpModel): string {
  const { architecture, interference = 0, without = /^$/ } = model;
  const file = fileOfOwn(`${architecture}-mtp.gguf`);
  const vocabulary = readEntries(demoModelPath).filter(({ key }) => key.startsWith('tokenizer.'));
  const vocabularySize = arrayLength(vocabulary.find(({ key }) => key === 'tokenizer.ggml.tokens') as Entry);
  const parts = [
    constant('output_norm.weight', [width], 1),
    ...Array.from({ length: layers }, (_, layer) => block(model, layer, interference)).flat(),
    ...block(model, layers, model.head === 'chance' ? 1 : 0),
    ...(model.head === 'chance' ? [matrix(`blk.${layers}.nextn.eh_proj.weight`, 2 * width, width)] : []),
    ...['nextn.enorm', 'nextn.hnorm', 'nextn.shared_head_norm'].map((part) =>
      constant(`blk.${layers}.${part}.weight`, [width], 1),
    ),
  ];
  const tensors = [
    successors('token_embd.weight', vocabularySize, 0),
    successors('output.weight', vocabularySize, 1),
    ...parts.map((part) => drawn(part, seed)),
  ];
  if (model.head !== 'chance') tensors.push(halfOf(model.head));
  if (model.head === 'row') tensors.push(successors(`blk.${layers}.nextn.shared_head_head.weight`, vocabularySize, 2));
  writeGguf(
    file,
    [...metadata(model), ...vocabulary],
    tensors.filter(({ name }) => !without.test(name)),
  );
  return file;
}

function metadata({ architecture: name, mtpLayers = 1 }: MtpModel): Entry[] {
  const entries = [
    textEntry('general.architecture', name),
    textEntry('general.name', `tiny ${name} with MTP`),
    uint32Entry(`${name}.context_length`, 4096),
    uint32Entry(`${name}.embedding_length`, width),
    uint32Entry(`${name}.block_count`, layers + 1),
    uint32Entry(`${name}.feed_forward_length`, hidden),
    uint32Entry(`${name}.attention.head_count`, heads),
    uint32Entry(`${name}.attention.head_count_kv`, heads),
    float32Entry(`${name}.attention.layer_norm_rms_epsilon`, 1e-6),
    uint32Entry(`${name}.nextn_predict_layers`, mtpLayers),
  ];
  if (name === 'hy_v3') entries.push(uint32Entry('hy_v3.expert_feed_forward_length', hidden));
  if (name === 'qwen35') {
    entries.push(
      int32ArrayEntry('qwen35.rope.dimension_sections', [4, 2, 2, 0]),
      uint32Entry('qwen35.full_attention_interval', 2),
      uint32Entry('qwen35.ssm.conv_kernel', delta.kernel),
      uint32Entry('qwen35.ssm.inner_size', delta.width),
      uint32Entry('qwen35.ssm.state_size', delta.headWidth),
      uint32Entry('qwen35.ssm.time_step_rank', delta.valueHeads),
      uint32Entry('qwen35.ssm.group_count', delta.keyHeads),
    );
  }
  return entries;
}

/** A layer. `share` scales its output. */
function block({ architecture }: MtpModel, layer: number, share: number): Part[] {
  const name = (part: string) => `blk.${layer}.${part}.weight`;
  const added = (part: string, columns: number) => matrix(name(part), columns, width, share / Math.sqrt(columns));
  const isRecurrent = architecture === 'qwen35' && layer % 2 === 0 && layer < layers;
  return [
    constant(name('attn_norm'), [width], 1),
    constant(name(architecture === 'qwen35' ? 'post_attention_norm' : 'ffn_norm'), [width], 1),
    ...(isRecurrent ? recurrence(layer, added) : attention(architecture, layer, added)),
    matrix(name('ffn_gate'), width, hidden),
    matrix(name('ffn_up'), width, hidden),
    added('ffn_down', hidden),
  ];
}

type Added = (part: string, columns: number) => Part;

/** Qwen3.5's queries come with a gate for what is found. */
function attention(architecture: string, layer: number, added: Added): Part[] {
  const name = (part: string) => `blk.${layer}.${part}.weight`;
  return [
    matrix(name('attn_q'), width, architecture === 'qwen35' ? 2 * width : width),
    matrix(name('attn_k'), width, width),
    matrix(name('attn_v'), width, width),
    constant(name('attn_q_norm'), [headWidth], 2),
    constant(name('attn_k_norm'), [headWidth], 2),
    added('attn_output', width),
  ];
}

/** A gated delta net. */
function recurrence(layer: number, added: Added): Part[] {
  const name = (part: string) => `blk.${layer}.${part}.weight`;
  const channels = 2 * delta.keyHeads * delta.headWidth + delta.width;
  return [
    matrix(name('attn_qkv'), width, channels),
    matrix(name('attn_gate'), width, delta.width),
    matrix(name('ssm_conv1d'), delta.kernel, channels),
    constant(`blk.${layer}.ssm_dt.bias`, [delta.valueHeads], -2),
    constant(`blk.${layer}.ssm_a`, [delta.valueHeads], -0.5),
    matrix(name('ssm_beta'), width, delta.valueHeads),
    matrix(name('ssm_alpha'), width, delta.valueHeads),
    constant(name('ssm_norm'), [delta.headWidth], 1),
    added('ssm_out', delta.width),
  ];
}

/** A matrix that maps each token to the embedding of the token `distance` positions earlier in the vocabulary. */
function successors(name: string, vocabularySize: number, distance: number): Tensor {
  const embeddings = drawn(matrix('token_embd.weight', width, vocabularySize, 1), seed).fill(width * vocabularySize);
  const bytes = 4 * width * distance;
  const rows = Buffer.concat([embeddings.subarray(embeddings.length - bytes), embeddings]);
  return fromBytes(name, [width, vocabularySize], rows);
}

/** Selects one half of the concatenated input: the token's embedding, or the hidden row. */
function halfOf(head: 'token' | 'row'): Tensor {
  const matrix = new Float32Array(2 * width * width);
  for (let i = 0; i < width; i++) matrix[2 * width * i + i + (head === 'token' ? 0 : width)] = 1;
  return fromBytes(`blk.${layers}.nextn.eh_proj.weight`, [2 * width, width], Buffer.from(matrix.buffer));
}

function fromBytes(name: string, shape: number[], bytes: Buffer): Tensor {
  let at = 0;
  const fill = (elements: number) => {
    at += 4 * elements;
    return bytes.subarray(at - 4 * elements, at);
  };
  return { name, shape, type: 'F32', fill };
}
