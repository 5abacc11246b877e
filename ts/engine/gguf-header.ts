/**
 * Reads the header of a GGUF file: metadata and tensor shapes. Every length in the file is bounded. Each part is parsed from
 * the bytes that were read so far, and once more with further bytes if it is incomplete.
 */
import fs from 'node:fs';
import { ChasquiError } from '../errors.js';
import { isOutOfFiles, outOfFiles } from '../process/open-files.js';

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

/** Type numbers of GGUF. */
export const TEXT = 8;
export const LIST = 9;
const UINT32 = 4;

/** Length and form of a value of each type; texts and lists have a length of their own. */
const VALUES: Readonly<Record<number, { size: number; read(bytes: Buffer): number | boolean }>> = {
  0: { size: 1, read: (bytes) => bytes.readUInt8() },
  1: { size: 1, read: (bytes) => bytes.readInt8() },
  2: { size: 2, read: (bytes) => bytes.readUInt16LE() },
  3: { size: 2, read: (bytes) => bytes.readInt16LE() },
  [UINT32]: { size: 4, read: (bytes) => bytes.readUInt32LE() },
  5: { size: 4, read: (bytes) => bytes.readInt32LE() },
  6: { size: 4, read: (bytes) => bytes.readFloatLE() },
  7: { size: 1, read: (bytes) => bytes[0] !== 0 },
  10: { size: 8, read: (bytes) => Number(bytes.readBigUInt64LE()) },
  11: { size: 8, read: (bytes) => Number(bytes.readBigInt64LE()) },
  12: { size: 8, read: (bytes) => bytes.readDoubleLE() },
};

/** Contains all sizes, which writers put before the vocabulary. */
const HEAD_BYTES = 64 * 1024;
/** Contains all values, even after a large vocabulary with its merges. */
const LONG_HEAD_BYTES = 32 * 2 ** 20;

/** Bytes of 256 elements by ggml's number of the tensor type; 0: unknown. */
const TENSOR_BYTES = [
  1024, 512, 144, 160, 0, 0, 176, 192, 272, 288, 84, 110, 144, 176, 210, 292, 66, 74, 98, 50, 144, 110, 82, 136, 256,
  512, 1024, 2048, 2048, 56, 512, 0, 0, 0, 54, 66, 0, 0, 0, 136,
];

/** @throws {ChasquiError} `model_file_invalid` */
export async function readGgufHeader(read: ReadBytes): Promise<GgufHeader> {
  const file = new GrowingHead(read);
  const { tensors, entries } = await file.next(readCounts);
  const metadata = new Map<string, number | string | boolean>();
  const lengths = new Map<string, number>();
  const lists = new Map<string, readonly number[]>();
  for (let left = entries; left > 0; left -= 1) {
    const { key, value, list } = await file.next(readEntry);
    if (value !== null) metadata.set(key, value);
    if (list !== null) lengths.set(key, list.length);
    if (list !== null && list.items.length === list.length) lists.set(key, list.items);
  }
  let parameters = 0;
  let dataBytes = 0;
  const active = new ActiveElements(metadata);
  for (let left = tensors; left > 0; left -= 1) {
    const { name, elements, end } = await file.next(readTensor);
    parameters += elements;
    active.add(name ?? '', elements);
    dataBytes = Math.max(dataBytes, end);
  }
  const alignment = metadata.get('general.alignment') ?? DEFAULT_ALIGNMENT;
  if (typeof alignment !== 'number' || alignment < 1 || alignment > 2 ** 20) throw invalid('its alignment is invalid');
  const dataOffset = Math.ceil(file.at / alignment) * alignment;
  const activeShare = parameters === 0 ? 1 : active.count / parameters;
  const minBytes = dataBytes === 0 ? file.at : dataOffset + dataBytes;
  return { metadata, lengths, lists, parameters, activeShare, dataOffset, minBytes };
}

/** A positive whole number of the architecture, such as `context_length`; null if the file has none. */
export function sizeIn({ metadata }: Pick<GgufHeader, 'metadata'>, name: string): number | null {
  const value = metadata.get(`${metadata.get(ARCHITECTURE)}.${name}`);
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : null;
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
  const file = new GrowingHead(read);
  const { entries } = await file.next(readCounts);
  for (let left = entries; left > 0; left -= 1) {
    const { key, value } = await file.next(readEntry);
    if (key === ARCHITECTURE) return typeof value === 'string' ? value : null;
  }
  return null;
}

/**
 * The 32-bit numbers in a GGUF file, by their names without the architecture: `context_length`. Empty if the file cannot be
 * read.
 */
export function readGgufSizes(path: string): Map<string, number> {
  const sizes = [...entriesIn(readHead(path, HEAD_BYTES))].filter(({ type }) => type === UINT32);
  return new Map(sizes.map(({ key, value }) => [key.slice(key.indexOf('.') + 1), Number(value)]));
}

/** The type numbers of all values in a GGUF file, by their full names. Empty if the file cannot be read. */
export function readGgufTypes(path: string): Map<string, number> {
  return new Map([...entriesIn(readHead(path, LONG_HEAD_BYTES))].map(({ key, type }) => [key, type]));
}

/** Returns at most `bytes`; none if the file cannot be read. @throws {ChasquiError} `too_many_open_files` */
function readHead(path: string, bytes: number): Buffer {
  const head = Buffer.alloc(bytes);
  try {
    // Opening a named pipe would block until it has a writer.
    if (!fs.statSync(path).isFile()) return head.subarray(0, 0);
    const file = fs.openSync(path, 'r');
    try {
      return head.subarray(0, fs.readSync(file, head, 0, bytes, 0));
    } finally {
      fs.closeSync(file);
    }
  } catch (error) {
    if (isOutOfFiles(error)) throw outOfFiles('The file of a model cannot be read', error);
    return head.subarray(0, 0);
  }
}

/** Ends at the first entry that is invalid or incomplete. */
function* entriesIn(head: Buffer): Generator<Entry> {
  const reader = new HeadReader(head);
  try {
    for (let left = readCounts(reader).entries; left > 0; left -= 1) yield readEntry(reader);
  } catch {
    // The head ends here.
  }
}

function readCounts(reader: HeadReader): { tensors: number; entries: number } {
  if (reader.bytes(4).toString('latin1') !== 'GGUF') throw invalid('it has no GGUF header');
  const version = reader.uint32();
  if (version !== 2 && version !== 3) throw invalid(`format version ${version} is not supported`);
  return { tensors: reader.count(MAX_TENSORS, 'tensors'), entries: reader.count(MAX_ENTRIES, 'entries') };
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

interface Entry {
  key: string;
  type: number;
  /** Null for lists, and for texts that are too long. */
  value: number | string | boolean | null;
  list: List | null;
}

interface List {
  length: number;
  /** Fewer than `length` if they are not kept. */
  items: number[];
}

function readEntry(reader: HeadReader): Entry {
  const key = reader.text();
  const type = reader.uint32();
  if (key === null) throw invalid('a key is too long');
  if (type === LIST) return { key, type, value: null, list: readList(reader, 1) };
  return { key, type, value: type === TEXT ? reader.text() : reader.value(type), list: null };
}

function readList(reader: HeadReader, depth: number): List {
  if (depth > MAX_LIST_DEPTH) throw invalid('its lists are nested too deeply');
  const type = reader.uint32();
  const length = reader.count(MAX_HEADER_BYTES, 'items of a list');
  const size = VALUES[type]?.size;
  const items: number[] = [];
  if (size !== undefined && length > MAX_KEPT_LIST) reader.bytes(length * size);
  else {
    for (let left = length; left > 0; left -= 1) {
      if (type === LIST) readList(reader, depth + 1);
      else if (type === TEXT) reader.skipText();
      else items.push(Number(reader.value(type)));
    }
  }
  return { length, items };
}

/** `end`: where its data ends, from the beginning of all weights. */
function readTensor(reader: HeadReader): { name: string | null; elements: number; end: number } {
  const name = reader.text();
  const dimensions = reader.uint32();
  if (dimensions > MAX_DIMENSIONS) throw invalid('a tensor has too many dimensions');
  let elements = 1;
  for (let left = dimensions; left > 0; left -= 1) elements *= reader.uint64();
  const type = reader.uint32();
  const offset = reader.uint64();
  if (!Number.isSafeInteger(elements)) throw invalid('a tensor is too large');
  return { name, elements, end: offset + Math.ceil((elements * (TENSOR_BYTES[type] ?? 0)) / 256) };
}

/** Parses a file part by part. */
class GrowingHead {
  #reader = new HeadReader(Buffer.alloc(0));

  constructor(private readonly read: ReadBytes) {}

  get at(): number {
    return this.#reader.at;
  }

  /** Reads more bytes while the part is incomplete. */
  async next<Part>(parse: (reader: HeadReader) => Part): Promise<Part> {
    const rest = this.#reader.rest();
    for (let { head, at } = rest; ; ) {
      try {
        return parse(this.#reader);
      } catch (error) {
        if (!(error instanceof Truncated)) throw error;
        // At least doubled, so that a long list is not parsed often.
        const piece = await this.read(at + head.length, Math.max(PIECE_BYTES, head.length));
        if (piece.length === 0) throw error;
        head = Buffer.concat([head, piece]);
        this.#reader = new HeadReader(head, at);
      }
    }
  }
}

class HeadReader {
  at: number;

  /** `start`: the offset of `head` in the file. */
  constructor(
    private readonly head: Buffer,
    private readonly start = 0,
  ) {
    this.at = start;
  }

  /** The bytes that are not parsed yet. */
  rest(): { head: Buffer; at: number } {
    return { head: this.head.subarray(this.at - this.start), at: this.at };
  }

  /** @throws {Truncated} at the end of the bytes */
  bytes(length: number): Buffer {
    const from = this.#advance(length);
    return this.head.subarray(from, from + length);
  }

  uint32(): number {
    return this.head.readUInt32LE(this.#advance(4));
  }

  uint64(): number {
    const value = this.head.readBigUInt64LE(this.#advance(8));
    if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw invalid('it contains a number that is too large');
    return Number(value);
  }

  count(max: number, of: string): number {
    const count = this.uint64();
    if (count > max) throw invalid(`it claims ${count} ${of}`);
    return count;
  }

  /** Returns `null` for strings that are too long. */
  text(): string | null {
    const length = this.count(MAX_HEADER_BYTES, 'bytes of a text');
    const bytes = this.bytes(length);
    return length <= MAX_KEPT_TEXT ? bytes.toString('utf8') : null;
  }

  skipText(): void {
    this.#advance(this.count(MAX_HEADER_BYTES, 'bytes of a text'));
  }

  value(type: number): number | boolean {
    const form = VALUES[type];
    if (form === undefined) throw invalid(`it has a value of the unknown type ${type}`);
    return form.read(this.bytes(form.size));
  }

  #advance(length: number): number {
    const from = this.at - this.start;
    if (this.at + length > MAX_HEADER_BYTES) throw invalid('its header is too long');
    if (from + length > this.head.length) throw new Truncated();
    this.at += length;
    return from;
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
