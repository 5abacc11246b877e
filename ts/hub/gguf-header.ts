/**
 * Reads the header of a GGUF file: metadata and tensor shapes. Reads incrementally, with bounds on every length in the
 * file.
 */

import fs from 'node:fs';
import { LIST, TEXT, VALUE_BYTES } from '../engine/gguf-head.js';
import { ChasquiError } from '../errors.js';

/** Returns bytes from `start` on; fewer than `length` only at the end of the file. */
export type ReadBytes = (start: number, length: number) => Promise<Uint8Array>;

export interface GgufHeader {
  metadata: ReadonlyMap<string, number | string | boolean>;
  /** Number of items of each list. Items of numeric lists up to a few thousand are in `lists`. */
  lengths: ReadonlyMap<string, number>;
  lists: ReadonlyMap<string, readonly number[]>;
  /** Number of elements of all tensors. */
  parameters: number;
  /** Share of the elements that decoding a token reads: chosen experts, and no embeddings that are only looked up. */
  activeShare: number;
  dataOffset: number;
  /** The file has at least so many bytes. Tensors of unknown types do not count. */
  minBytes: number;
}

const PIECE_BYTES = 2 ** 20;
const MAX_HEADER_BYTES = 64 * 2 ** 20;
const MAX_ENTRIES = 100_000;
const MAX_TENSORS = 200_000;
const MAX_DIMENSIONS = 8;
const MAX_KEPT_TEXT = 2 ** 20;
const MAX_KEPT_LIST = 4096;
const MAX_LIST_DEPTH = 2;
const DEFAULT_ALIGNMENT = 32;
const ARCHITECTURE = 'general.architecture';

const BOOLEAN = 7;

/** Bytes of 256 elements by ggml's number of the tensor type; 0: unknown. */
const TENSOR_BYTES = [
  1024, 512, 144, 160, 0, 0, 176, 192, 272, 288, 84, 110, 144, 176, 210, 292, 66, 74, 98, 50, 144, 110, 82, 136, 256,
  512, 1024, 2048, 2048, 56, 512, 0, 0, 0, 54, 66, 0, 0, 0, 136,
];

/** @throws {ChasquiError} `model_file_invalid` */
export async function readGgufHeader(read: ReadBytes): Promise<GgufHeader> {
  const reader = new HeaderReader(read);
  const { tensors, entries } = await readCounts(reader);
  const found = { metadata: new Map(), lengths: new Map(), lists: new Map() } as Found;
  for (let left = entries; left > 0; left -= 1) await readEntry(reader, found);
  let parameters = 0;
  let dataBytes = 0;
  const active = new ActiveElements(found.metadata);
  for (let left = tensors; left > 0; left -= 1) {
    const { name, elements, end } = await readTensor(reader);
    parameters += elements;
    active.add(name ?? '', elements);
    dataBytes = Math.max(dataBytes, end);
  }
  const alignment = found.metadata.get('general.alignment') ?? DEFAULT_ALIGNMENT;
  if (typeof alignment !== 'number' || alignment < 1 || alignment > 2 ** 20) throw invalid('its alignment is invalid');
  const dataOffset = Math.ceil(reader.at / alignment) * alignment;
  const activeShare = parameters === 0 ? 1 : active.count / parameters;
  const minBytes = dataBytes === 0 ? reader.at : dataOffset + dataBytes;
  return { ...found, parameters, activeShare, dataOffset, minBytes };
}

/** Counts the elements that decoding a token reads. */
class ActiveElements {
  readonly #expertShare: number;
  #count = 0;
  #embeddings = 0;
  #hasOutput = false;

  constructor(metadata: GgufHeader['metadata']) {
    const number = (key: string) => Number(metadata.get(`${metadata.get(ARCHITECTURE)}.${key}`));
    const share = number('expert_used_count') / number('expert_count');
    this.#expertShare = share > 0 && share < 1 ? share : 1;
  }

  /** Without an output matrix, the embeddings are the output matrix. */
  get count(): number {
    return this.#count + (this.#hasOutput ? 0 : this.#embeddings);
  }

  add(name: string, elements: number): void {
    if (name === 'output.weight') this.#hasOutput = true;
    if (name === 'token_embd.weight') this.#embeddings = elements;
    else if (name !== 'per_layer_token_embd.weight') {
      this.#count += name.includes('_exps.') ? elements * this.#expertShare : elements;
    }
  }
}

/** Returns the architecture and reads no further: writers put it first. */
export async function readArchitecture(read: ReadBytes): Promise<string | null> {
  const reader = new HeaderReader(read);
  const { entries } = await readCounts(reader);
  const found = { metadata: new Map(), lengths: new Map(), lists: new Map() } as Found;
  for (let left = entries; left > 0 && !found.metadata.has(ARCHITECTURE); left -= 1) await readEntry(reader, found);
  const architecture = found.metadata.get(ARCHITECTURE);
  return typeof architecture === 'string' ? architecture : null;
}

async function readCounts(reader: HeaderReader): Promise<{ tensors: number; entries: number }> {
  if ((await reader.bytes(4)).toString('latin1') !== 'GGUF') throw invalid('it has no GGUF header');
  const version = await reader.uint32();
  if (version !== 2 && version !== 3) throw invalid(`format version ${version} is not supported`);
  return {
    tensors: await reader.count(MAX_TENSORS, 'tensors'),
    entries: await reader.count(MAX_ENTRIES, 'entries'),
  };
}

export async function readGgufFile(file: string): Promise<GgufHeader> {
  // Opening a pipe blocks until a writer appears.
  if (!(await fs.promises.stat(file)).isFile()) throw invalid('it is not a regular file');
  const opened = await fs.promises.open(file, 'r');
  try {
    return await readGgufHeader(async (start, length) => {
      const buffer = Buffer.allocUnsafe(length);
      const { bytesRead } = await opened.read(buffer, 0, length, start);
      return buffer.subarray(0, bytesRead);
    });
  } finally {
    await opened.close();
  }
}

/** Whether the file ends before its header or its weights do. False if it cannot be read, or is no GGUF file. */
export async function isTruncatedGguf(file: string): Promise<boolean> {
  try {
    const { minBytes } = await readGgufFile(file);
    return (await fs.promises.stat(file)).size < minBytes;
  } catch (error) {
    return error instanceof Truncated;
  }
}

interface Found {
  metadata: Map<string, number | string | boolean>;
  lengths: Map<string, number>;
  lists: Map<string, number[]>;
}

async function readEntry(reader: HeaderReader, { metadata, lengths, lists }: Found): Promise<void> {
  const key = await reader.text();
  const type = await reader.uint32();
  if (key === null) throw invalid('a key is too long');
  if (type === TEXT) {
    const text = await reader.text();
    if (text !== null) metadata.set(key, text);
  } else if (type === LIST) {
    const { length, items } = await readList(reader, 1);
    lengths.set(key, length);
    if (items.length === length) lists.set(key, items);
  } else {
    metadata.set(key, await reader.value(type));
  }
}

async function readList(reader: HeaderReader, depth: number): Promise<{ length: number; items: number[] }> {
  if (depth > MAX_LIST_DEPTH) throw invalid('its lists are nested too deeply');
  const type = await reader.uint32();
  const length = await reader.count(MAX_HEADER_BYTES, 'items of a list');
  const size = VALUE_BYTES[type];
  const items: number[] = [];
  if (size !== undefined && length > MAX_KEPT_LIST) await reader.skip(length * size);
  else if (type === TEXT) await reader.skipTexts(length);
  else {
    for (let left = length; left > 0; left -= 1) {
      if (type === LIST) await readList(reader, depth + 1);
      else items.push(Number(await reader.value(type)));
    }
  }
  return { length, items };
}

/** `end`: where its data ends, from the beginning of all weights. */
async function readTensor(reader: HeaderReader): Promise<{ name: string | null; elements: number; end: number }> {
  const name = await reader.text();
  const dimensions = await reader.uint32();
  if (dimensions > MAX_DIMENSIONS) throw invalid('a tensor has too many dimensions');
  let elements = 1;
  for (let left = dimensions; left > 0; left -= 1) elements *= await reader.uint64();
  const type = await reader.uint32();
  const offset = await reader.uint64();
  if (!Number.isSafeInteger(elements)) throw invalid('a tensor is too large');
  return { name, elements, end: offset + Math.ceil((elements * (TENSOR_BYTES[type] ?? 0)) / 256) };
}

/** Fetches bytes that are not buffered yet, so most calls return at once. */
class HeaderReader {
  #piece: Buffer = Buffer.alloc(0);
  #pieceAt = 0;
  at = 0;

  constructor(private readonly read: ReadBytes) {}

  /** Returns a view, valid until the next call. */
  async bytes(length: number): Promise<Buffer> {
    if (this.at + length > MAX_HEADER_BYTES) throw invalid('its header is too long');
    const isThere = this.at >= this.#pieceAt && this.at + length <= this.#pieceAt + this.#piece.length;
    if (!isThere) await this.#fetch(length);
    const from = this.at - this.#pieceAt;
    this.at += length;
    return this.#piece.subarray(from, from + length);
  }

  async skip(length: number): Promise<void> {
    if (this.at + length > MAX_HEADER_BYTES) throw invalid('its header is too long');
    this.at += length;
  }

  /** Skips strings without awaiting each one: a vocabulary has hundreds of thousands. */
  async skipTexts(count: number): Promise<void> {
    for (let left = count; left > 0; left -= 1) {
      const from = this.at - this.#pieceAt;
      const isThere = from >= 0 && from + 8 <= this.#piece.length;
      if (isThere && this.#piece.readUInt32LE(from + 4) === 0) this.at += 8 + this.#piece.readUInt32LE(from);
      else await this.skip(await this.count(MAX_HEADER_BYTES, 'bytes of a text'));
      if (this.at > MAX_HEADER_BYTES) throw invalid('its header is too long');
    }
  }

  async uint32(): Promise<number> {
    return (await this.bytes(4)).readUInt32LE();
  }

  async uint64(): Promise<number> {
    const value = (await this.bytes(8)).readBigUInt64LE();
    if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw invalid('it contains a number that is too large');
    return Number(value);
  }

  async count(max: number, of: string): Promise<number> {
    const count = await this.uint64();
    if (count > max) throw invalid(`it claims ${count} ${of}`);
    return count;
  }

  /** Returns `null` for strings that are too long. */
  async text(): Promise<string | null> {
    const length = await this.count(MAX_HEADER_BYTES, 'bytes of a text');
    if (length <= MAX_KEPT_TEXT) return (await this.bytes(length)).toString('utf8');
    await this.skip(length);
    return null;
  }

  async value(type: number): Promise<number | boolean> {
    const size = VALUE_BYTES[type];
    if (size === undefined) throw invalid(`it has a value of the unknown type ${type}`);
    const bytes = await this.bytes(size);
    switch (type) {
      case BOOLEAN:
        return bytes[0] !== 0;
      case 1:
        return bytes.readInt8();
      case 3:
        return bytes.readInt16LE();
      case 5:
        return bytes.readInt32LE();
      case 6:
        return bytes.readFloatLE();
      case 10:
        return Number(bytes.readBigUInt64LE());
      case 11:
        return Number(bytes.readBigInt64LE());
      case 12:
        return bytes.readDoubleLE();
      default:
        return bytes.readUIntLE(0, size);
    }
  }

  async #fetch(length: number): Promise<void> {
    const piece = await this.read(this.at, Math.max(length, PIECE_BYTES));
    if (piece.length < length) throw new Truncated();
    this.#piece = Buffer.from(piece.buffer, piece.byteOffset, piece.length);
    this.#pieceAt = this.at;
  }
}

function invalid(why: string): ChasquiError {
  return new ChasquiError('model_file_invalid', invalidBecause(why));
}

function invalidBecause(why: string): string {
  return `The file is not a valid GGUF model: ${why}.`;
}

class Truncated extends ChasquiError {
  constructor() {
    super('model_file_invalid', invalidBecause('it is truncated'));
  }
}
