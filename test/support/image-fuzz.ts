/** Pictures and data URIs with faults in them, the same for the same seed. */
import { deflateSync } from 'node:zlib';
import { DRAWING, dataUri, FORMATS, PNG_SIGNATURE, picture, pngHeader, webp } from './image-files.js';
import { pngChunk } from './picture.js';
import { progressiveJpeg } from './progressive-jpeg.js';

export interface FuzzCase {
  /** What was done, for the report of a failure. */
  story: string;
  bytes: Buffer;
  mediaType: string;
  /** The data URI, where that is what has the fault. */
  uri?: string;
}

interface Seed {
  name: string;
  mediaType: string;
  bytes: Buffer;
}

export async function fuzzCases(seed: number): Promise<(index: number) => FuzzCase> {
  const seeds = await wholePictures();
  return (index) => {
    const random = new Random(seed * 1_000_003 + index);
    const { name, mediaType, bytes } = random.pick(seeds);
    if (random.below(10) === 0)
      return { story: `${name}, URI`, bytes, mediaType, uri: faultyUri(bytes, mediaType, random) };
    if (random.below(50) === 0) return { ...random.pick(BOMBS)(random), mediaType: 'image/png' };
    const faults = 1 + random.below(4);
    const done: string[] = [];
    let faulty = bytes;
    for (let fault = 0; fault < faults; fault++) {
      const [what, mutate] = random.pick(MUTATIONS);
      faulty = mutate(faulty, random, seeds);
      done.push(what);
    }
    const declared = random.below(20) === 0 ? random.pick(seeds).mediaType : mediaType;
    return { story: `${name}: ${done.join(', ')}`, bytes: faulty, mediaType: declared };
  };
}

async function wholePictures(): Promise<Seed[]> {
  const seeds: Seed[] = [];
  for (const drawing of [DRAWING, { ...DRAWING, width: 133, height: 7 }, { ...DRAWING, width: 1, height: 1 }]) {
    for (const format of FORMATS) {
      const name = `${format} of ${drawing.width} x ${drawing.height}`;
      seeds.push({ name, mediaType: `image/${format}`, bytes: await picture(format, drawing) });
    }
  }
  const more: [name: string, mediaType: string, bytes: Buffer][] = [
    ['lossy webp', 'image/webp', await webp(DRAWING, { lossless: false })],
    ['webp with alpha', 'image/webp', await webp(DRAWING, { lossless: false, alpha: 99 })],
    ['progressive jpeg', 'image/jpeg', progressiveJpeg(3, 2, [0, 255, 128, 128, 30, 200])],
  ];
  return [...seeds, ...more.map(([name, mediaType, bytes]) => ({ name, mediaType, bytes }))];
}

type Mutation = (bytes: Buffer, random: Random, seeds: readonly Seed[]) => Buffer;

const NUMBERS = [
  0, 1, 2, 3, 7, 8, 16, 127, 128, 255, 256, 0x7fff, 0x8000, 0xffff, 0x10000, 0x7fffffff, 0x80000000, 0xffffffff,
];

const MUTATIONS: readonly [what: string, mutate: Mutation][] = [
  [
    'bits flipped',
    (bytes, random) => eachOf(random, bytes, (copy, at) => (copy[at] = (copy[at] ?? 0) ^ (1 << random.below(8)))),
  ],
  ['bytes replaced', (bytes, random) => eachOf(random, bytes, (copy, at) => (copy[at] = random.below(256)))],
  ['header changed', (bytes, random) => header(random, bytes, (copy, at) => (copy[at] = random.below(256)))],
  [
    'number of 32 bits',
    (bytes, random) =>
      header(random, bytes, (copy, at) => {
        const to = Math.max(0, Math.min(at, copy.length - 4));
        if (copy.length < 4) return;
        if (random.below(2) === 0) copy.writeUInt32BE(random.pick(NUMBERS), to);
        else copy.writeUInt32LE(random.pick(NUMBERS), to);
      }),
  ],
  [
    'number of 16 bits',
    (bytes, random) =>
      header(random, bytes, (copy, at) => {
        const to = Math.max(0, Math.min(at, copy.length - 2));
        if (copy.length >= 2) copy.writeUInt16BE(random.pick(NUMBERS) & 0xffff, to);
      }),
  ],
  ['cut off', (bytes, random) => bytes.subarray(0, random.below(bytes.length + 1))],
  ['piece removed', (bytes, random) => splice(bytes, random, Buffer.alloc(0), random.below(40))],
  ['noise inserted', (bytes, random) => splice(bytes, random, random.bytes(random.below(40)), 0)],
  ['piece doubled', (bytes, random) => splice(bytes, random, slice(bytes, random), 0)],
  ['piece of another', (bytes, random, seeds) => splice(bytes, random, slice(random.pick(seeds).bytes, random), 0)],
  ['noise at the end', (bytes, random) => Buffer.concat([bytes, random.bytes(random.below(2000))])],
  [
    'noise behind the signature',
    (bytes, random) => Buffer.concat([bytes.subarray(0, 30), random.bytes(random.below(500))]),
  ],
];

const BOMBS: readonly ((random: Random) => { story: string; bytes: Buffer })[] = [
  () => ({ story: 'a PNG that inflates to 100 MB', bytes: bombOf(100_000_000) }),
  (random) => ({
    story: 'a PNG that claims much',
    bytes: Buffer.concat([PNG_SIGNATURE, pngHeader(random.below(2 ** 31), random.below(2 ** 31))]),
  }),
  (random) => ({
    story: 'a PNG as large as it may be, with little data',
    bytes: smallPng(1 + random.below(5000), 1 + random.below(5000)),
  }),
  (random) => ({ story: 'noise', bytes: random.bytes(random.below(5000)) }),
];

let bomb: Buffer | null = null;

function bombOf(size: number): Buffer {
  bomb ??= deflateSync(Buffer.alloc(size));
  return Buffer.concat([PNG_SIGNATURE, pngHeader(40, 30), pngChunk('IDAT', bomb), pngChunk('IEND', Buffer.alloc(0))]);
}

function smallPng(width: number, height: number): Buffer {
  const data = deflateSync(Buffer.alloc(1000));
  return Buffer.concat([
    PNG_SIGNATURE,
    pngHeader(width, height),
    pngChunk('IDAT', data),
    pngChunk('IEND', Buffer.alloc(0)),
  ]);
}

function faultyUri(bytes: Buffer, mediaType: string, random: Random): string {
  const uri = dataUri(bytes, mediaType);
  const at = random.below(uri.length);
  switch (random.below(7)) {
    case 0:
      return uri.slice(0, at);
    case 1:
      return `${uri.slice(0, at)}${String.fromCharCode(random.below(0x2100))}${uri.slice(at + 1)}`;
    case 2:
      return `${uri.slice(0, at)}${random.pick(['\n', ' ', '=', '==', '%3D', '\0', ',', ';', '-', '_'])}${uri.slice(at)}`;
    case 3:
      return uri.replaceAll('=', '');
    case 4:
      return `${uri}${random.pick(['=', '====', '\n', 'A', 'AAAA'])}`;
    case 5:
      return `${random.pick(['data:', 'data:,', 'data:;base64,', 'DATA:image/png;BASE64,', 'x', ''])}${uri.slice(at)}`;
    default:
      return uri.slice(at);
  }
}

function eachOf(random: Random, bytes: Buffer, change: (copy: Buffer, at: number) => void): Buffer {
  const copy = Buffer.from(bytes);
  for (let times = 1 + random.below(8); times > 0 && copy.length > 0; times--) change(copy, random.below(copy.length));
  return copy;
}

/** Where sizes, lengths and kinds stand. */
function header(random: Random, bytes: Buffer, change: (copy: Buffer, at: number) => void): Buffer {
  const copy = Buffer.from(bytes);
  if (copy.length > 0) change(copy, random.below(Math.min(copy.length, 64)));
  return copy;
}

function slice(bytes: Buffer, random: Random): Buffer {
  const from = random.below(bytes.length + 1);
  return bytes.subarray(from, from + random.below(60));
}

function splice(bytes: Buffer, random: Random, inserted: Buffer, removed: number): Buffer {
  const at = random.below(bytes.length + 1);
  return Buffer.concat([bytes.subarray(0, at), inserted, bytes.subarray(at + removed)]);
}

/** Mulberry32: small, and the same everywhere. */
class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** A whole number from 0 to `limit` - 1. */
  below(limit: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * limit);
  }

  pick<T>(from: readonly T[]): T {
    return from[this.below(from.length)] as T;
  }

  bytes(length: number): Buffer {
    return Buffer.from(Array.from({ length }, () => this.below(256)));
  }
}
