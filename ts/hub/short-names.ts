/** Short names of popular models, as in Ollama: `llama3.2`, `qwen3:4b`, `gemma3:12b-q8_0`. */
import { ChasquiError } from '../errors.js';

/** Publishers of faithful conversions, in the order of preference. */
export const PUBLISHERS: readonly string[] = ['ggml-org', 'bartowski', 'unsloth', 'lmstudio-community', 'Qwen'];

/** Repositories by size. The first one is the default. */
const FAMILIES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'deepseek-r1': {
    '8b': 'bartowski/DeepSeek-R1-Distill-Llama-8B-GGUF',
    '1.5b': 'bartowski/DeepSeek-R1-Distill-Qwen-1.5B-GGUF',
    '7b': 'bartowski/DeepSeek-R1-Distill-Qwen-7B-GGUF',
    '14b': 'bartowski/DeepSeek-R1-Distill-Qwen-14B-GGUF',
    '32b': 'bartowski/DeepSeek-R1-Distill-Qwen-32B-GGUF',
    '70b': 'bartowski/DeepSeek-R1-Distill-Llama-70B-GGUF',
  },
  embeddinggemma: { '300m': 'ggml-org/embeddinggemma-300M-GGUF' },
  gemma2: of('9b 2b 27b', (size) => `bartowski/gemma-2-${size}-it-GGUF`),
  gemma3: of('4b 1b 12b 27b', (size) => `ggml-org/gemma-3-${size}-it-GGUF`),
  'gpt-oss': of('20b 120b', (size) => `ggml-org/gpt-oss-${size}-GGUF`),
  'llama3.1': of('8b 70b', (size) => `bartowski/Meta-Llama-3.1-${size.toUpperCase()}-Instruct-GGUF`),
  'llama3.2': of('3b 1b', (size) => `bartowski/Llama-3.2-${size.toUpperCase()}-Instruct-GGUF`),
  'llama3.3': { '70b': 'bartowski/Llama-3.3-70B-Instruct-GGUF' },
  mistral: { '7b': 'bartowski/Mistral-7B-Instruct-v0.3-GGUF' },
  'mistral-nemo': { '12b': 'bartowski/Mistral-Nemo-Instruct-2407-GGUF' },
  'nomic-embed-text': { v1: 'nomic-ai/nomic-embed-text-v1.5-GGUF' },
  phi4: { '14b': 'bartowski/phi-4-GGUF' },
  'qwen2.5': of('7b 0.5b 1.5b 3b 14b 32b 72b', (size) => `Qwen/Qwen2.5-${size.toUpperCase()}-Instruct-GGUF`),
  'qwen2.5-coder': of('7b 0.5b 1.5b 3b 14b 32b', (size) => `Qwen/Qwen2.5-Coder-${size.toUpperCase()}-Instruct-GGUF`),
  'qwen2.5vl': of('7b 3b', (size) => `ggml-org/Qwen2.5-VL-${size.toUpperCase()}-Instruct-GGUF`),
  qwen3: of('8b 0.6b 1.7b 4b 14b 32b 30b-a3b', (size) => `Qwen/Qwen3-${size.toUpperCase()}-GGUF`),
  smollm2: {
    '1.7b': 'HuggingFaceTB/SmolLM2-1.7B-Instruct-GGUF',
    '360m': 'HuggingFaceTB/SmolLM2-360M-Instruct-GGUF',
    '135m': 'bartowski/SmolLM2-135M-Instruct-GGUF',
  },
  tinyllama: { '1.1b': 'TheBloke/TinyLlama-1.1B-Chat-v1.0-GGUF' },
};

/** Size, variant and quantisation; each may be missing. */
const TAG = /^([\d.]+[bm](?:-a\d+b)?|v1(?:\.5)?)?-?(?:instruct|it|chat)?-?(i?q\d\w*|fp16|f16|bf16|mxfp4)?$/;

export function isShortName(name: string): boolean {
  return Object.hasOwn(FAMILIES, familyOf(name));
}

/**
 * Returns `null` for other names.
 * @throws {ChasquiError} `invalid_model_name`: the family has no model of this size
 */
export function expandShortName(name: string): { repo: string; tag: string | null } | null {
  const family = familyOf(name);
  if (!isShortName(name)) return null;
  const sizes = FAMILIES[family] as Readonly<Record<string, string>>;
  const tag = name.slice(family.length + 1).toLowerCase();
  const [, size = Object.keys(sizes)[0] as string, quantisation] = (tag === 'latest' ? [] : TAG.exec(tag)) ?? ['', tag];
  const repo = sizes[size.replace(/^(v1)\.5$/, '$1')];
  if (repo !== undefined) return { repo, tag: quantisation?.replace('fp16', 'f16') ?? null };
  const known = Object.keys(sizes).map((each) => `${family}:${each}`);
  throw new ChasquiError(
    'invalid_model_name',
    `\`${name.slice(0, 100)}\` is unknown. Known: ${known.join(', ')}.`,
    'model',
  );
}

function familyOf(name: string): string {
  return name.split(':', 1)[0]?.toLowerCase() ?? '';
}

function of(sizes: string, toRepo: (size: string) => string): Readonly<Record<string, string>> {
  return Object.fromEntries(sizes.split(' ').map((size) => [size, toRepo(size)]));
}
