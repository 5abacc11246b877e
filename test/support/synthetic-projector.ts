/**
 * Vision encoders with their projectors, by the shapes of real ones, weights drawn at random: what llama.cpp's mtmd
 * takes beside a model. They are written once and kept.
 */
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import {
  boolEntry,
  type Entry,
  float32ArrayEntry,
  float32Entry,
  int32ArrayEntry,
  type Tensor,
  textEntry,
  uint32Entry,
  writeGguf,
} from './gguf.js';
import { modelsFolder } from './places.js';
import { constant, randomTensor, weights } from './synthetic-model.js';

export interface ProjectorShape {
  /**
   * How the encoder's rows become the model's: `mlp` is LLaVA's (one row for each patch), `gemma3` pools four by four
   * and wants attention that is not causal, `qwen2vl` merges two by two and has two-dimensional positions,
   * `deepseek4v` merges three by three and pads by the image's place in the prompt.
   */
  kind: 'mlp' | 'gemma3' | 'qwen2vl' | 'deepseek4v';
  /** Side of the square that pictures are brought to (`qwen2vl`: was trained with), and of a patch, in pixels. */
  imageSize: number;
  patchSize: number;
  layers: number;
  width: number;
  hidden: number;
  heads: number;
  /** The width of the model's embeddings. */
  modelWidth: number;
  /** `mlp` only: pictures are cut into tiles, so that they fill one of these sizes ([width, height, width, ...]). */
  tilings?: number[];
}

/** ViT-B/16 of CLIP and SigLIP: 86 million parameters, 196 tokens for a picture. */
export const vitB16 = {
  kind: 'mlp',
  imageSize: 224,
  patchSize: 16,
  layers: 12,
  width: 768,
  hidden: 3072,
  heads: 12,
} satisfies Omit<ProjectorShape, 'modelWidth'>;

/** Makes the projector unless it is there, and returns its path. */
export function syntheticProjector(shape: ProjectorShape): string {
  return keptProjector(`${shape.kind}-${shape.modelWidth}`, shape, metadata(shape), () => [
    ...encoder(shape),
    ...projector(shape),
  ]);
}

/** An encoder of audio as Ultravox has: 75 tokens for each 30 seconds. */
export function audioProjector(modelWidth: number): string {
  const [layers, width, hidden, stack, bins] = [2, 64, 128, 20, 80];
  const norm = (name: string, size = width) => [constant(`${name}.weight`, size, 1), constant(`${name}.bias`, size, 0)];
  const conv = (layer: number, inputs: number) => [
    randomTensor(`a.conv1d.${layer}.weight`, [3, inputs, width], 1 / Math.sqrt(3 * inputs)),
    { ...constant(`a.conv1d.${layer}.bias`, width, 0), shape: [1, width] },
  ];
  const entries = [
    textEntry('general.architecture', 'clip'),
    boolEntry('clip.has_audio_encoder', true),
    textEntry('clip.projector_type', 'ultravox'),
    uint32Entry('clip.audio.num_mel_bins', bins),
    uint32Entry('clip.audio.embedding_length', width),
    uint32Entry('clip.audio.feed_forward_length', hidden),
    uint32Entry('clip.audio.block_count', layers),
    uint32Entry('clip.audio.attention.head_count', 2),
    uint32Entry('clip.audio.projection_dim', modelWidth),
    uint32Entry('clip.audio.projector.stack_factor', stack),
    float32Entry('clip.audio.attention.layer_norm_epsilon', 1e-5),
  ];
  return keptProjector(
    `ultravox-${modelWidth}`,
    entries.map(({ bytes }) => bytes.toString('hex')),
    entries,
    () => [
      ...conv(1, bins),
      ...conv(2, width),
      asF32(weights('a.position_embd', width, 1500, 0.02)),
      ...Array.from({ length: layers }, (_, layer) => {
        const block = (part: string) => `a.blk.${layer}.${part}`;
        const product = (part: string, inputs = width, outputs = width) => weights(block(part), inputs, outputs);
        return [
          ...['ln1', 'ln2'].flatMap((name) => norm(block(name))),
          ...['attn_q', 'attn_k', 'attn_v', 'attn_out'].map((part) => product(part)),
          ...['attn_q', 'attn_v', 'attn_out'].map((part) => constant(block(`${part}.bias`), width, 0)),
          product('ffn_up', width, hidden),
          constant(block('ffn_up.bias'), hidden, 0),
          product('ffn_down', hidden, width),
          constant(block('ffn_down.bias'), width, 0),
        ];
      }).flat(),
      ...norm('a.post_ln'),
      constant('mm.a.norm_pre.weight', stack * width, 1),
      weights('mm.a.mlp.1', stack * width, 2 * width),
      constant('mm.a.norm_mid.weight', width, 1),
      weights('mm.a.mlp.2', width, modelWidth, deviation),
    ],
  );
}

function keptProjector(name: string, recipe: unknown, entries: Entry[], tensors: () => Tensor[]): string {
  const file = path.join(modelsFolder, `mmproj-${name}-${recipeDigest(recipe)}.gguf`);
  if (fs.existsSync(file)) return file;
  fs.mkdirSync(modelsFolder, { recursive: true });
  writeGguf(file, entries, tensors());
  return file;
}

function recipeDigest(shape: unknown): string {
  const hash = createHash('sha256').update(JSON.stringify(shape));
  for (const source of ['synthetic-projector.ts', 'synthetic-model.ts', 'gguf.ts', 'random-weights.ts']) {
    hash.update(fs.readFileSync(new URL(source, import.meta.url)));
  }
  return hash.digest('hex').slice(0, 8);
}

function metadata(shape: ProjectorShape): Entry[] {
  return [
    textEntry('general.architecture', 'clip'),
    textEntry('general.name', 'random weights'),
    boolEntry('clip.has_vision_encoder', true),
    textEntry('clip.projector_type', shape.kind === 'qwen2vl' ? 'qwen2vl_merger' : shape.kind),
    boolEntry('clip.use_gelu', true),
    uint32Entry('clip.vision.image_size', shape.imageSize),
    uint32Entry('clip.vision.patch_size', shape.patchSize),
    uint32Entry('clip.vision.embedding_length', shape.width),
    uint32Entry('clip.vision.feed_forward_length', shape.hidden),
    // LLaVA leaves out the last layer.
    uint32Entry('clip.vision.block_count', shape.layers + (shape.kind === 'mlp' ? 1 : 0)),
    uint32Entry('clip.vision.attention.head_count', shape.heads),
    uint32Entry('clip.vision.projection_dim', shape.modelWidth),
    float32Entry('clip.vision.attention.layer_norm_epsilon', 1e-6),
    float32ArrayEntry('clip.vision.image_mean', [0.5, 0.5, 0.5]),
    float32ArrayEntry('clip.vision.image_std', [0.5, 0.5, 0.5]),
    ...(shape.kind === 'deepseek4v'
      ? [uint32Entry('clip.vision.projector.scale_factor', 3), uint32Entry('clip.vision.image_min_pixels', 576)]
      : []),
    ...(shape.tilings ? [int32ArrayEntry('clip.vision.image_grid_pinpoints', shape.tilings)] : []),
  ];
}

function encoder({ kind, imageSize, patchSize, layers, width, hidden }: ProjectorShape): Tensor[] {
  const patch = (name: string) =>
    randomTensor(name, [patchSize, patchSize, 3, width], 1 / Math.sqrt(3 * patchSize * patchSize));
  const all = [patch('v.patch_embd.weight')];
  if (kind === 'qwen2vl') all.push(patch('v.patch_embd.weight.1'));
  else if (kind !== 'deepseek4v')
    all.push(asF32(weights('v.position_embd', width, (imageSize / patchSize) ** 2, 0.02)));
  for (let layer = 0; layer < layers + (kind === 'mlp' ? 1 : 0); layer++) {
    const block = (part: string) => `v.blk.${layer}.${part}`;
    for (const norm of ['ln1', 'ln2']) {
      all.push(constant(block(`${norm}.weight`), width, 1), constant(block(`${norm}.bias`), width, 0));
    }
    for (const part of ['attn_q', 'attn_k', 'attn_v', 'attn_out']) {
      all.push(weights(block(part), width, width), constant(block(`${part}.bias`), width, 0));
    }
    all.push(weights(block('ffn_up'), width, hidden), constant(block('ffn_up.bias'), hidden, 0));
    all.push(weights(block('ffn_down'), hidden, width), constant(block('ffn_down.bias'), width, 0));
  }
  all.push(constant('v.post_ln.weight', width, 1), constant('v.post_ln.bias', width, 0));
  return all;
}

/** Rows as small as those of the model's own embeddings. */
const deviation = 0.002;

function projector({ kind, width, modelWidth }: ProjectorShape): Tensor[] {
  if (kind === 'gemma3') {
    return [
      constant('mm.soft_emb_norm.weight', width, 1),
      asF32(weights('mm.input_projection', modelWidth, width, deviation)),
    ];
  }
  if (kind === 'deepseek4v') {
    const sentinels = ['v.image_newline', ...['start', 'end', 'pad'].map((name) => `v.token_embd.img_${name}`)];
    return [
      weights('mm.1', 9 * width, width),
      constant('mm.1.bias', width, 0),
      weights('mm.2', width, modelWidth, deviation),
      constant('mm.2.bias', modelWidth, 0),
      ...sentinels.map((name, index) => constant(name, modelWidth, (index + 1) * deviation)),
    ];
  }
  const merged = kind === 'qwen2vl' ? 4 * width : width;
  return [
    weights('mm.0', merged, merged),
    constant('mm.0.bias', merged, 0),
    weights('mm.2', merged, modelWidth, deviation),
    constant('mm.2.bias', modelWidth, 0),
  ];
}

/** Some of llama.cpp's operations take whole floats only. */
function asF32(tensor: Tensor): Tensor {
  return { ...tensor, type: 'F32', fill: (elements) => toFloats(tensor.fill(elements)) };
}

function toFloats(halves: Buffer): Buffer {
  const floats = new Float32Array(halves.length / 2);
  for (let i = 0; i < floats.length; i++) {
    const half = halves.readUInt16LE(2 * i);
    const exponent = (half >> 10) & 0x1f;
    const magnitude = exponent === 0 ? 0 : 2 ** (exponent - 15) * (1 + (half & 0x3ff) / 1024);
    floats[i] = half & 0x8000 ? -magnitude : magnitude;
  }
  return Buffer.from(floats.buffer);
}
