/** all-MiniLM-L6-v2: its tokenizer, and the model as a GGUF file. */
import fs from 'node:fs';
import {
  boolEntry,
  float32Entry,
  readEntries,
  type Tensor,
  textEntry,
  uint32Entry,
  writeGguf,
} from '../support/gguf.js';
import { miniLM } from '../support/real-models.js';
import { writeBertVocabulary } from './vocabularies.js';

/** Without the limit of 128 tokens. */
export function writeTokenizer(out: string): void {
  const { truncation, padding, ...tokenizer } = JSON.parse(fs.readFileSync(miniLM('tokenizer.json'), 'utf8'));
  fs.writeFileSync(out, JSON.stringify({ ...tokenizer, truncation: null, padding: null }));
}

const LAYERS = 6;
const NUMBERS = {
  context_length: 512,
  embedding_length: 384,
  feed_forward_length: 1536,
  block_count: LAYERS,
  'attention.head_count': 12,
  pooling_type: 1, // mean
};

/** Names in the GGUF file and in the original. */
const MATRICES: [string, string][] = [
  ['token_embd.weight', 'embeddings.word_embeddings.weight'],
  ['position_embd.weight', 'embeddings.position_embeddings.weight'],
  ['token_types.weight', 'embeddings.token_type_embeddings.weight'],
];
const PARTS: Record<string, string> = {
  attn_q: 'attention.self.query',
  attn_k: 'attention.self.key',
  attn_v: 'attention.self.value',
  attn_output: 'attention.output.dense',
  attn_output_norm: 'attention.output.LayerNorm',
  ffn_up: 'intermediate.dense',
  ffn_down: 'output.dense',
  layer_output_norm: 'output.LayerNorm',
};

export function writeMiniLM(tokenizerJson: string, out: string): void {
  writeBertVocabulary(tokenizerJson, out);
  const entries = [
    textEntry('general.architecture', 'bert'),
    ...Object.entries(NUMBERS).map(([key, value]) => uint32Entry(`bert.${key}`, value)),
    float32Entry('bert.attention.layer_norm_epsilon', 1e-12),
    boolEntry('bert.attention.causal', false),
    ...readEntries(out).filter(({ key }) => key.startsWith('tokenizer.')),
  ];
  writeGguf(out, entries, tensors(miniLM('model.safetensors')));
}

/** From a file in the format safetensors: the length of the header, the header as JSON, the data. */
function tensors(file: string): Tensor[] {
  const data = fs.readFileSync(file);
  const start = 8 + Number(data.readBigUInt64LE(0));
  const header = JSON.parse(data.toString('utf8', 8, start));
  const norms: [string, string][] = [['token_embd_norm', 'embeddings.LayerNorm']];
  for (let layer = 0; layer < LAYERS; layer++) {
    for (const [ours, theirs] of Object.entries(PARTS)) {
      norms.push([`blk.${layer}.${ours}`, `encoder.layer.${layer}.${theirs}`]);
    }
  }
  const pairs = norms.flatMap(([ours, theirs]) =>
    ['weight', 'bias'].map((kind): [string, string] => [`${ours}.${kind}`, `${theirs}.${kind}`]),
  );
  return [...MATRICES, ...pairs].map(([name, original]) => {
    const { shape, data_offsets: offsets } = header[original];
    let at = start + offsets[0];
    const fill = (elements: number) => {
      const part = data.subarray(at, at + 4 * elements);
      at += part.length;
      return part;
    };
    return { name, shape: shape.toReversed(), type: 'F32', fill };
  });
}
