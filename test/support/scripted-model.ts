/**
 * A constructed model: the next token depends only on the last one. The chat template ends the prompt with a token that
 * selects the reply, depending on the last messages and the offered tools, and each token leads to the next one. This
 * lets third-party clients run a complete turn: the user asks, the model calls a tool, the client returns the result,
 * the model replies.
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
  writeGguf,
} from './gguf.js';
import { root } from './places.js';

export interface Script {
  /**
   * Possible calls. The model calls the first tool that the client offers. The arguments are in the order of the
   * schema.
   */
  calls: readonly { tool: string; arguments: object }[];
  /**
   * The completion where there is nothing to call, or a result is there, or this text itself: a conversation that was made
   * shorter has it as its summary.
   */
  say: string;
  /** The same text in several tokens. */
  pieces?: readonly string[];
  /** Each completion starts with endless reasoning until a closing tag is inserted. Then it writes `say`. */
  reasons?: boolean;
  /** A call is followed by the same call again, without end. */
  repeatsCalls?: boolean;
  /** The token of this text has an embedding of NaN. */
  invalid?: string;
  /** The chat template. Every prompt is followed by `say`. */
  template?: string;
}

/** The token that the model repeats while it reasons. */
export const REASONING = 'hm, ';

const width = 128;
/** llama.cpp's numbers for kinds of tokens. */
const control = 3;
const userDefined = 4;
const contextLength = 131_072;

/** As numbers of 16 bits. */
const one = 0x3c00;
const ten = 0x4900;
const nan = 0x7e00;

/** A token, and the one that follows it. */
interface Step {
  text: string;
  kind: number;
  next: Step | null;
}

/** Writes the model. Its vocabulary is a real one, so that long prompts have as many tokens as elsewhere. */
export function writeScriptedModel(file: string, script: Script): string {
  const end: Step = { text: '<|im_end|>', kind: control, next: null };
  const steps = [end, ...stepsOf('<|say|>', script.pieces ?? [script.say], end)];
  for (const [index, call] of script.calls.entries()) {
    const head = `<tool_call>\n{"name": "${call.tool}", "arguments": `;
    const [sign, begin, rest] = stepsOf(
      `<|call_${index}|>`,
      [head, `${JSON.stringify(call.arguments)}}\n</tool_call>${script.repeatsCalls ? '\n' : ''}`],
      end,
    ) as [Step, Step, Step];
    if (script.repeatsCalls) rest.next = begin;
    steps.push(sign, begin, rest);
  }
  if (script.reasons) steps.push(...reasoningSteps(steps[2] ?? end));
  if (script.invalid !== undefined) steps.push({ text: script.invalid, kind: userDefined, next: end });
  const vocabulary = readEntries(path.join(root, 'vendor', 'llama.cpp', 'models', 'ggml-vocab-starcoder.gguf')).filter(
    ({ key }) => key.startsWith('tokenizer.ggml.') && !/_token_id$|^tokenizer\.ggml\.add_/.test(key),
  );
  const known = arrayLength(entryOf(vocabulary, 'tokenizer.ggml.tokens'));
  writeGguf(
    file,
    [
      ...shapeEntries(),
      ...vocabulary.map((entry) => withSteps(entry, steps)),
      uint32Entry('tokenizer.ggml.eos_token_id', known),
      uint32Entry('tokenizer.ggml.bos_token_id', known),
      textEntry('tokenizer.chat_template', script.template ?? chatTemplate(script)),
    ],
    tensors(steps, known, script),
  );
  return file;
}

/** The sign that a prompt ends with, and the texts that follow it up to the end. */
function stepsOf(sign: string, texts: readonly string[], end: Step): Step[] {
  const steps: Step[] = [sign, ...texts].map((text, index) => ({
    text,
    kind: index === 0 ? control : userDefined,
    next: end,
  }));
  for (const [index, step] of steps.entries()) step.next = steps[index + 1] ?? end;
  return steps;
}

function reasoningSteps(after: Step): Step[] {
  const more: Step = { text: REASONING, kind: userDefined, next: null };
  more.next = more;
  const [start, end] = ['<think>', '</think>'].map((text, index) => ({
    text,
    kind: userDefined,
    next: index === 0 ? more : after,
  })) as [Step, Step];
  return [start, more, end];
}

function templateOf(name: string): string {
  return fs.readFileSync(path.join(root, 'vendor', 'llama.cpp', 'models', 'templates', name), 'utf8');
}

/** Qwen's template, but for the sign at the end, or that of its model that reasons, which ends with a tag. */
function chatTemplate({ calls, say, reasons }: Script): string {
  if (reasons) return templateOf('Qwen-QwQ-32B.jinja').replace("assistant\\n<think>\\n'", "assistant\\n<think>'");
  const original = templateOf('Qwen-Qwen2.5-7B-Instruct.jinja');
  const prompt = "{{- '<|im_start|>assistant\\n' }}";
  const choices = calls.map(
    ({ tool }, index) => `
    {%- for tool in tools %}
      {%- if state.open and tool.function.name == ${JSON.stringify(tool)} %}
        {%- set state.sign = '<|call_${index}|>' %}
        {%- set state.open = false %}
      {%- endif %}
    {%- endfor %}`,
  );
  const signed = `{%- set state = namespace(sign='<|say|>', open=true) %}
    {%- for message in messages %}
      {%- if message.role == 'tool' or (message.content is string and ${JSON.stringify(say)} in message.content) %}
        {%- set state.open = false %}
      {%- endif %}
    {%- endfor %}
    {%- if tools %}${choices.join('')}
    {%- endif %}
    {{- '<|im_start|>assistant\\n' + state.sign }}`;
  const at = original.lastIndexOf(prompt);
  if (at < 0) throw new Error('the template has changed');
  return original.slice(0, at) + signed + original.slice(at + prompt.length);
}

function shapeEntries(): Entry[] {
  return [
    textEntry('general.architecture', 'qwen2'),
    textEntry('general.name', 'scripted'),
    uint32Entry('qwen2.context_length', contextLength),
    uint32Entry('qwen2.embedding_length', width),
    uint32Entry('qwen2.block_count', 1),
    uint32Entry('qwen2.feed_forward_length', width),
    uint32Entry('qwen2.attention.head_count', 2),
    float32Entry('qwen2.attention.layer_norm_rms_epsilon', 1e-6),
  ];
}

function entryOf(entries: readonly Entry[], key: string): Entry {
  const entry = entries.find((each) => each.key === key);
  if (entry === undefined) throw new Error(`the vocabulary has no ${key}`);
  return entry;
}

/** The arrays of tokens and of their kinds, made longer. */
function withSteps(entry: Entry, steps: readonly Step[]): Entry {
  if (entry.key === 'tokenizer.ggml.tokens')
    return longer(
      entry,
      steps.length,
      steps.map(({ text }) => toText(text)),
    );
  if (entry.key === 'tokenizer.ggml.token_type')
    return longer(
      entry,
      steps.length,
      steps.map(({ kind }) => toInt32(kind)),
    );
  return entry;
}

function longer({ key, bytes }: Entry, count: number, elements: readonly Buffer[]): Entry {
  // The length of the key, the key, the type, the type of the elements; then their number.
  const at = 8 + Buffer.byteLength(key) + 8;
  const all = Buffer.concat([bytes, ...elements]);
  all.writeBigUInt64LE(all.readBigUInt64LE(at) + BigInt(count), at);
  return { key, bytes: all };
}

function toText(text: string): Buffer {
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(Buffer.byteLength(text)));
  return Buffer.concat([length, Buffer.from(text)]);
}

function toInt32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32LE(value);
  return bytes;
}

/**
 * The layer adds nothing, so that what a token is comes out again: a vector of zeros with a single one. The row of the
 * token that follows has a ten there. All tokens of the vocabulary share a one, which the end follows.
 */
function tensors(steps: readonly Step[], known: number, { invalid, template }: Script): Tensor[] {
  if (steps.length >= width) throw new Error(`a script may have ${width - 1} steps`);
  const rows = known + steps.length;
  const embeddings = new Uint16Array(rows * width);
  const output = new Uint16Array(rows * width);
  for (let token = 0; token < known; token++) embeddings[token * width] = one;
  // The end, or the step after the sign that a prompt ends with.
  output[(known + (template === undefined ? 0 : 2)) * width] = ten;
  for (const [index, { text, next }] of steps.entries()) {
    embeddings[(known + index) * width + index + 1] = text === invalid ? nan : one;
    const following = next === null ? 0 : steps.indexOf(next);
    output[(known + following) * width + index + 1] = ten;
  }
  return [
    matrix('token_embd.weight', embeddings),
    constant('blk.0.attn_norm.weight', 1),
    constant('blk.0.ffn_norm.weight', 1),
    ...['attn_q', 'attn_k', 'attn_v', 'attn_output', 'ffn_gate', 'ffn_up', 'ffn_down'].map((part) =>
      matrix(`blk.0.${part}.weight`, new Uint16Array(width * width)),
    ),
    ...['attn_q', 'attn_k', 'attn_v'].map((part) => constant(`blk.0.${part}.bias`, 0)),
    constant('output_norm.weight', 1),
    matrix('output.weight', output),
  ];
}

function matrix(name: string, values: Uint16Array): Tensor {
  let done = 0;
  const fill = (elements: number): Buffer => {
    const part = values.subarray(done, done + elements);
    done += elements;
    return Buffer.from(part.buffer, part.byteOffset, part.byteLength);
  };
  return { name, shape: [width, values.length / width], type: 'F16', fill };
}

function constant(name: string, value: number): Tensor {
  const fill = (n: number) => Buffer.from(new Float32Array(n).fill(value).buffer);
  return { name, shape: [width], type: 'F32', fill };
}
