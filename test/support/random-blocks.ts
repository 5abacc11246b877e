/** Random weights in the blocks of ggml's quantised types. Only the integers are random: all blocks have the same scales. */
import { toHalf } from './random-weights.js';
import { seededRandom } from './seeded-random.js';

interface Blocks {
  elements: number;
  bytes: number;
  /** Standard deviation of the integers, which are uniformly distributed. */
  deviation: number;
  /** Writes the scales of the block at `at`: a weight is `step` times its integer. */
  scale(blocks: Buffer, at: number, step: number): void;
}

const types = {
  Q8_0: {
    elements: 32,
    bytes: 34,
    deviation: uniformDeviation(256),
    scale: (blocks, at, step) => blocks.writeUInt16LE(toHalf(step), at),
  },
  /** The values of four bits are 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives. The scale is a power of two. */
  MXFP4: {
    elements: 32,
    bytes: 17,
    deviation: Math.sqrt(68.5 / 8),
    scale: (blocks, at, step) => blocks.writeUInt8(127 + Math.round(Math.log2(step)), at),
  },
  /** All scales and minima of sub-blocks are 15. */
  Q4_K: {
    elements: 256,
    bytes: 144,
    deviation: uniformDeviation(16),
    scale: (blocks, at, step) => {
      blocks.writeUInt16LE(toHalf(step / 15), at);
      blocks.writeUInt16LE(toHalf((7.5 * step) / 15), at + 2);
      blocks.fill(15, at + 4, at + 12).fill(0xff, at + 12, at + 16);
    },
  },
  Q6_K: {
    elements: 256,
    bytes: 210,
    deviation: uniformDeviation(64),
    scale: (blocks, at, step) => {
      blocks.fill(1, at + 192, at + 208).writeUInt16LE(toHalf(step), at + 208);
    },
  },
} satisfies Record<string, Blocks>;

export type BlockType = keyof typeof types;

/** Returns a function that returns the next elements of a tensor. */
export function randomBlocks(type: BlockType, seed: number, deviation: number): (elements: number) => Buffer {
  const { elements: elementsOfBlock, bytes, deviation: ofIntegers, scale }: Blocks = types[type];
  const random = seededRandom(seed);
  return (elements) => {
    const length = (elements / elementsOfBlock) * bytes;
    const words = new Uint32Array(Math.ceil(length / 4));
    for (let i = 0; i < words.length; i++) words[i] = 2 ** 32 * random();
    const blocks = Buffer.from(words.buffer, 0, length);
    for (let at = 0; at < length; at += bytes) scale(blocks, at, deviation / ofIntegers);
    return blocks;
  };
}

/** Standard deviation of `count` consecutive integers. */
function uniformDeviation(count: number): number {
  return Math.sqrt((count * count - 1) / 12);
}
