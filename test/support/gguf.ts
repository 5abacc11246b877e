/** As much of the GGUF format (version 3, little-endian) as it takes to copy a vocabulary and to write a model. */
import fs from 'node:fs';

const magic = 0x46554747;
const version = 3;
const alignment = 32;
const uint32 = 4;
const int32 = 5;
const float32 = 6;
const bool = 7;
const text = 8;
const array = 9;
/** Size of each fixed-size value type, in bytes. */
const sizes: Record<number, number> = { 0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8 };

/** A key, the type of its value and the value, as they stand in the file. */
export interface Entry {
  key: string;
  bytes: Buffer;
}

/** Quantised types: in blocks of 32 or 256 elements. */
const elementTypes = {
  F32: { code: 0, bytes: 4 },
  F16: { code: 1, bytes: 2 },
  Q8_0: { code: 8, bytes: 34 / 32 },
  Q2_K: { code: 10, bytes: 84 / 256 },
  Q4_K: { code: 12, bytes: 144 / 256 },
  Q6_K: { code: 14, bytes: 210 / 256 },
  MXFP4: { code: 39, bytes: 17 / 32 },
};
export type ElementType = keyof typeof elementTypes;

export interface Tensor {
  name: string;
  /** The length of a row first. */
  shape: number[];
  type: ElementType;
  /** The next so many elements, as they shall stand in the file. Called until the tensor is full. */
  fill(elements: number): Buffer;
}

/** A tensor as it is in a file. */
export interface StoredTensor {
  name: string;
  /** The length of a row first. */
  shape: number[];
  /** Size in the file, including padding to 32 bytes. */
  bytes: number;
}

/** All metadata of a file; version 2 differs in nothing that is read here. */
export function readEntries(file: string): Entry[] {
  return entriesOf(contentOf(file)).entries;
}

/** The tensors of a file, in the order of their data. Requires the default alignment. */
export function readTensors(file: string): StoredTensor[] {
  const data = contentOf(file);
  const { headers, end } = tensorHeadersOf(data);
  const length = data.length - (end + padding(end));
  const ordered = headers.sort((one, other) => one.offset - other.offset);
  return ordered.map(({ name, shape, offset }, i) => ({
    name,
    shape,
    bytes: (ordered[i + 1]?.offset ?? length) - offset,
  }));
}

/** Writes a copy of `source` with other metadata. */
export function copyGguf(source: string, target: string, entries: readonly Entry[]): void {
  const data = contentOf(source);
  const { end } = tensorHeadersOf(data);
  const headers = data.subarray(entriesOf(data).end, end);
  const header = Buffer.concat([
    data.subarray(0, 16),
    ofUint64(entries.length),
    ...entries.map(({ bytes }) => bytes),
    headers,
  ]);
  fs.writeFileSync(
    target,
    Buffer.concat([header, Buffer.alloc(padding(header.length)), data.subarray(end + padding(end))]),
  );
}

function tensorHeadersOf(data: Buffer): { headers: { name: string; shape: number[]; offset: number }[]; end: number } {
  let at = entriesOf(data).end;
  const headers = Array.from({ length: Number(data.readBigUInt64LE(8)) }, () => {
    const nameLength = Number(data.readBigUInt64LE(at));
    const name = data.toString('utf8', at + 8, at + 8 + nameLength);
    at += 8 + nameLength;
    const dimensions = data.readUInt32LE(at);
    const shape = Array.from({ length: dimensions }, (_, i) => Number(data.readBigUInt64LE(at + 4 + 8 * i)));
    at += 4 + 8 * dimensions + 4;
    const offset = Number(data.readBigUInt64LE(at));
    at += 8;
    return { name, shape, offset };
  });
  return { headers, end: at };
}

function contentOf(file: string): Buffer {
  const data = fs.readFileSync(file);
  const isReadable = data.readUInt32LE(0) === magic && [2, version].includes(data.readUInt32LE(4));
  if (!isReadable) throw new Error(`${file} is not GGUF 2 or 3`);
  return data;
}

function entriesOf(data: Buffer): { entries: Entry[]; end: number } {
  const count = Number(data.readBigUInt64LE(16));
  let at = 24;
  const entries = Array.from({ length: count }, () => {
    const start = at;
    const keyLength = Number(data.readBigUInt64LE(at));
    const key = data.toString('utf8', at + 8, at + 8 + keyLength);
    at += 8 + keyLength;
    at = endOfValue(data, data.readUInt32LE(at), at + 4);
    return { key, bytes: data.subarray(start, at) };
  });
  return { entries, end: at };
}

function endOfValue(data: Buffer, type: number, at: number): number {
  const size = sizes[type];
  if (size !== undefined) return at + size;
  if (type === text) return at + 8 + Number(data.readBigUInt64LE(at));
  if (type !== array) throw new Error(`unknown type ${type} at ${at}`);
  const elementType = data.readUInt32LE(at);
  const count = Number(data.readBigUInt64LE(at + 4));
  let end = at + 12;
  for (let i = 0; i < count; i++) end = endOfValue(data, elementType, end);
  return end;
}

/** Length of an array entry. */
export function arrayLength(entry: Entry): number {
  return Number(entry.bytes.readBigUInt64LE(8 + Buffer.byteLength(entry.key) + 8));
}

/** Value of a text, a number or an array of these. */
export function readValue({ key, bytes }: Entry): unknown {
  const at = 8 + Buffer.byteLength(key);
  const type = bytes.readUInt32LE(at);
  if (type !== array) return readScalar(bytes, type, at + 4);
  const elementType = bytes.readUInt32LE(at + 4);
  let end = at + 16;
  return Array.from({ length: Number(bytes.readBigUInt64LE(at + 8)) }, () => {
    const element = readScalar(bytes, elementType, end);
    end = endOfValue(bytes, elementType, end);
    return element;
  });
}

function readScalar(data: Buffer, type: number, at: number): string | number {
  if (type === text) return data.toString('utf8', at + 8, at + 8 + Number(data.readBigUInt64LE(at)));
  if (type === uint32) return data.readUInt32LE(at);
  if (type === int32) return data.readInt32LE(at);
  if (type === float32) return data.readFloatLE(at);
  if (sizes[type] === 1) return data.readInt8(at);
  throw new Error(`unknown type ${type} at ${at}`);
}

export function textEntry(key: string, value: string): Entry {
  return entry(key, text, withLength(value));
}

export function textsEntry(key: string, values: readonly string[]): Entry {
  return entry(key, array, arrayOf(text, values.length, Buffer.concat(values.map(withLength))));
}

export function uint32Entry(key: string, value: number): Entry {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return entry(key, uint32, bytes);
}

export function uint32sEntry(key: string, values: readonly number[]): Entry {
  return entry(key, array, Buffer.concat([ofUint32(uint32), ofUint64(values.length), ...values.map(ofUint32)]));
}

export function float32Entry(key: string, value: number): Entry {
  const bytes = Buffer.alloc(4);
  bytes.writeFloatLE(value);
  return entry(key, float32, bytes);
}

export function boolEntry(key: string, value: boolean): Entry {
  return entry(key, bool, Buffer.from([value ? 1 : 0]));
}

export function int32ArrayEntry(key: string, values: readonly number[]): Entry {
  return entry(key, array, arrayOf(int32, values.length, Buffer.from(Int32Array.from(values).buffer)));
}

export function float32ArrayEntry(key: string, values: readonly number[]): Entry {
  return entry(key, array, arrayOf(float32, values.length, Buffer.from(Float32Array.from(values).buffer)));
}

function arrayOf(type: number, length: number, elements: Buffer): Buffer {
  return Buffer.concat([ofUint32(type), ofUint64(length), elements]);
}

function entry(key: string, type: number, value: Buffer): Entry {
  return { key, bytes: Buffer.concat([withLength(key), ofUint32(type), value]) };
}

function withLength(value: string): Buffer {
  return Buffer.concat([ofUint64(Buffer.byteLength(value)), Buffer.from(value)]);
}

function ofUint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function ofUint64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}

/** The file appears under its name only when it is complete. */
export function writeGguf(file: string, entries: readonly Entry[], tensors: readonly Tensor[]): void {
  const unfinished = `${file}.${process.pid}`;
  const out = fs.openSync(unfinished, 'w');
  try {
    const header = headerOf(entries, tensors);
    fs.writeSync(out, header);
    fs.writeSync(out, Buffer.alloc(padding(header.length)));
    for (const tensor of tensors) writeTensor(out, tensor);
    fs.closeSync(out);
    fs.renameSync(unfinished, file);
  } finally {
    fs.rmSync(unfinished, { force: true });
  }
}

function headerOf(entries: readonly Entry[], tensors: readonly Tensor[]): Buffer {
  const parts = [ofUint32(magic), ofUint32(version), ofUint64(tensors.length), ofUint64(entries.length)];
  for (const { bytes } of entries) parts.push(bytes);
  let offset = 0;
  for (const tensor of tensors) {
    parts.push(withLength(tensor.name), ofUint32(tensor.shape.length), ...tensor.shape.map(ofUint64));
    parts.push(ofUint32(elementTypes[tensor.type].code), ofUint64(offset));
    offset += byteLength(tensor) + padding(byteLength(tensor));
  }
  return Buffer.concat(parts);
}

function writeTensor(out: number, tensor: Tensor): void {
  const elementsAtOnce = 1 << 22;
  const count = elementCount(tensor);
  for (let done = 0; done < count; done += elementsAtOnce) {
    fs.writeSync(out, tensor.fill(Math.min(elementsAtOnce, count - done)));
  }
  fs.writeSync(out, Buffer.alloc(padding(byteLength(tensor))));
}

function elementCount(tensor: Tensor): number {
  return tensor.shape.reduce((product, length) => product * length, 1);
}

function byteLength(tensor: Tensor): number {
  return elementCount(tensor) * elementTypes[tensor.type].bytes;
}

function padding(length: number): number {
  return (alignment - (length % alignment)) % alignment;
}
