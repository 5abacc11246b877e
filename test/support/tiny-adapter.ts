/** Adapters (LoRA) of the tiny models: random matrices of low rank, large enough to change what the model says. */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { type Entry, float32Entry, type Tensor, textEntry, writeGguf } from './gguf.js';
import { seededRandom, seedOf } from './seeded-random.js';

const width = 64;
const rank = 4;

const folders: string[] = [];
process.once('exit', () => {
  for (const folder of folders) fs.rmSync(folder, { recursive: true, force: true });
});

export interface AdapterChanges {
  /** Instead of those with the same key. */
  entries?: Entry[];
  tensors?: (tensors: Tensor[]) => Tensor[];
}

/** Writes one into a folder of its own, which goes when the process does. Other seeds are other weights. */
export function tinyAdapter(
  name: string,
  seed: number,
  { entries = [], tensors = (all) => all }: AdapterChanges = {},
): string {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-adapter-'));
  folders.push(folder);
  const file = path.join(folder, `${name}.gguf`);
  const usual = [
    textEntry('general.type', 'adapter'),
    textEntry('general.architecture', 'llama'),
    textEntry('adapter.type', 'lora'),
    float32Entry('adapter.lora.alpha', 2 * rank),
  ];
  const kept = usual.filter(({ key }) => !entries.some((each) => each.key === key));
  writeGguf(file, [...kept, ...entries], tensors(adapterTensors(seed)));
  return file;
}

function adapterTensors(seed: number): Tensor[] {
  return [0, 1].flatMap((layer) =>
    ['attn_q', 'attn_v', 'attn_output'].flatMap((part) => {
      const weight = `blk.${layer}.${part}.weight`;
      return [matrix(`${weight}.lora_a`, [width, rank], seed), matrix(`${weight}.lora_b`, [rank, width], seed)];
    }),
  );
}

/** The length of a row first. */
export function matrix(name: string, shape: number[], seed = 1): Tensor {
  const random = seededRandom(seedOf(`${seed} ${name}`));
  const fill = (elements: number) =>
    Buffer.from(Float32Array.from({ length: elements }, () => (random() - 0.5) / 2).buffer);
  return { name, shape, type: 'F32', fill };
}
