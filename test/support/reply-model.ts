/**
 * A constructed model that writes a given text after a prompt of a given length: the position alone selects the next token.
 * Each byte is a token, and so is each special token.
 */
import { float32Entry, int32ArrayEntry, type Tensor, textEntry, textsEntry, uint32Entry, writeGguf } from './gguf.js';
import { constant } from './synthetic-model.js';

export interface Reply {
  template: string;
  /** In tokens. */
  promptLength: number;
  text: string;
  /** Control tokens, besides the end. */
  specials?: readonly string[];
}

const END = '<|end_of_reply|>';
const CONTEXT = 8192;
const FEED_FORWARD = 32;
const HEAD = 64;
const NORMAL = 1;
const CONTROL = 3;

export function writeReplyModel(file: string, { template, promptLength, text, specials = [] }: Reply): void {
  const tokens = [...Array.from({ length: 256 }, (_, byte) => LETTERS[byte] as string), END, ...specials];
  const ids = [...split(text, specials).map((token) => tokens.indexOf(token)), 256];
  const width = HEAD * Math.ceil((ids.length + 2) / HEAD);
  const entries = [
    textEntry('general.architecture', 'gpt2'),
    ...Object.entries({
      context_length: CONTEXT,
      embedding_length: width,
      block_count: 1,
      feed_forward_length: FEED_FORWARD,
      'attention.head_count': width / HEAD,
    }).map(([key, value]) => uint32Entry(`gpt2.${key}`, value)),
    float32Entry('gpt2.attention.layer_norm_epsilon', 1e-5),
    textEntry('tokenizer.ggml.model', 'gpt2'),
    textEntry('tokenizer.ggml.pre', 'gpt-2'),
    textsEntry('tokenizer.ggml.tokens', tokens),
    int32ArrayEntry(
      'tokenizer.ggml.token_type',
      tokens.map((_, id) => (id < 256 ? NORMAL : CONTROL)),
    ),
    textsEntry('tokenizer.ggml.merges', [`${tokens[0]} ${tokens[1]}`]),
    uint32Entry('tokenizer.ggml.eos_token_id', 256),
    uint32Entry('tokenizer.ggml.bos_token_id', 256),
    textEntry('tokenizer.chat_template', template),
  ];
  writeGguf(file, entries, tensors(ids, width, tokens.length, promptLength));
}

/** GPT-2's characters for the 256 bytes. */
const LETTERS = lettersOfBytes();

function lettersOfBytes(): string[] {
  const isVisible = (byte: number) => (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
  let others = 256;
  return Array.from({ length: 256 }, (_, byte) => String.fromCharCode(isVisible(byte) ? byte : others++));
}

function split(text: string, specials: readonly string[]): string[] {
  const next = specials.filter((each) => text.includes(each)).sort((a, b) => text.indexOf(a) - text.indexOf(b))[0];
  const at = next === undefined ? text.length : text.indexOf(next);
  const bytes = Array.from(Buffer.from(text.slice(0, at)), (byte) => LETTERS[byte] as string);
  return next === undefined ? bytes : [...bytes, next, ...split(text.slice(at + next.length), specials)];
}

/** The layer adds nothing. Embeddings of positions select rows of the output matrix. */
function tensors(ids: readonly number[], width: number, vocabularySize: number, promptLength: number): Tensor[] {
  const positions = new Float32Array(CONTEXT * width);
  const output = new Float32Array(vocabularySize * width);
  for (const [step, id] of ids.entries()) {
    positions[(promptLength - 1 + step) * width + step] = 1;
    output[id * width + step] = 1;
  }
  const zeros = (name: string, shape: number[]) => matrix(name, shape, new Float32Array(shape.reduce((a, b) => a * b)));
  const block = (name: string) => `blk.0.${name}`;
  const linear = (name: string, columns: number, rows: number) => [
    zeros(block(`${name}.weight`), [columns, rows]),
    zeros(block(`${name}.bias`), [rows]),
  ];
  const norm = (name: string) => [constant(`${name}.weight`, width, 1), constant(`${name}.bias`, width, 0)];
  return [
    zeros('token_embd.weight', [width, vocabularySize]),
    matrix('position_embd.weight', [width, CONTEXT], positions),
    ...norm('output_norm'),
    matrix('output.weight', [width, vocabularySize], output),
    ...linear('attn_qkv', width, 3 * width),
    ...linear('attn_output', width, width),
    ...linear('ffn_up', width, FEED_FORWARD),
    ...linear('ffn_down', FEED_FORWARD, width),
    ...norm(block('attn_norm')),
    ...norm(block('ffn_norm')),
  ];
}

function matrix(name: string, shape: number[], values: Float32Array): Tensor {
  let done = 0;
  const fill = (elements: number) => {
    const part = values.subarray(done, done + elements);
    done += elements;
    return Buffer.from(part.buffer, part.byteOffset, part.byteLength);
  };
  return { name, shape, type: 'F32', fill };
}
