/** Splits a model's file into parts, as llama.cpp's `gguf-split` does. */
import fs from 'node:fs';
import path from 'node:path';
import { type Entry, readEntries } from './gguf.js';

const ALIGNMENT = 32;

interface Info {
  /** Name, shape and type, as they stand in the file. */
  bytes: Buffer;
  offset: number;
}

/** Writes the parts into a folder, the tensors dealt out in order. Returns their paths. */
export function splitModel(file: string, folder: string, parts: number): string[] {
  const data = fs.readFileSync(file);
  const entries = readEntries(file);
  const { infos, start } = readInfos(data, entries);
  const name = path.basename(file, '.gguf');
  const perPart = Math.ceil(infos.length / parts);
  return Array.from({ length: parts }, (_, part) => {
    const own = infos.slice(part * perPart, (part + 1) * perPart);
    const contents = own.map((info) =>
      data.subarray(start + info.offset, start + endOf(info, infos, data.length - start)),
    );
    const about = [uint16('split.no', part), uint16('split.count', parts), int32('split.tensors.count', infos.length)];
    const written = path.join(folder, `${name}-${fiveDigits(part + 1)}-of-${fiveDigits(parts)}.gguf`);
    fs.writeFileSync(written, assemble(part === 0 ? [...entries, ...about] : about, own, contents));
    return written;
  });
}

function readInfos(data: Buffer, entries: readonly Entry[]): { infos: Info[]; start: number } {
  let at = 24 + entries.reduce((sum, { bytes }) => sum + bytes.length, 0);
  const infos = Array.from({ length: Number(data.readBigUInt64LE(8)) }, () => {
    const begin = at;
    at += 8 + Number(data.readBigUInt64LE(at));
    at += 4 + 8 * data.readUInt32LE(at) + 4;
    const offset = Number(data.readBigUInt64LE(at));
    at += 8;
    return { bytes: data.subarray(begin, at - 8), offset };
  });
  return { infos, start: at + padding(at) };
}

/** With the padding behind it. */
function endOf({ offset }: Info, infos: readonly Info[], length: number): number {
  const later = infos.map((info) => info.offset).filter((other) => other > offset);
  return Math.min(length, ...later);
}

function assemble(entries: readonly Entry[], infos: readonly Info[], contents: readonly Buffer[]): Buffer {
  const head = Buffer.alloc(24);
  head.writeUInt32LE(0x46554747, 0);
  head.writeUInt32LE(3, 4);
  head.writeBigUInt64LE(BigInt(infos.length), 8);
  head.writeBigUInt64LE(BigInt(entries.length), 16);
  const padded = contents.map((content) => Buffer.concat([content, Buffer.alloc(padding(content.length))]));
  let offset = 0;
  const described = infos.map((info, index) => {
    const place = Buffer.alloc(8);
    place.writeBigUInt64LE(BigInt(offset));
    offset += (padded[index] as Buffer).length;
    return Buffer.concat([info.bytes, place]);
  });
  const front = Buffer.concat([head, ...entries.map(({ bytes }) => bytes), ...described]);
  return Buffer.concat([front, Buffer.alloc(padding(front.length)), ...padded]);
}

function uint16(key: string, value: number): Entry {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16LE(value);
  return entry(key, 2, bytes);
}

function int32(key: string, value: number): Entry {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32LE(value);
  return entry(key, 5, bytes);
}

function entry(key: string, type: number, value: Buffer): Entry {
  const head = Buffer.alloc(8);
  head.writeBigUInt64LE(BigInt(key.length));
  const kind = Buffer.alloc(4);
  kind.writeUInt32LE(type);
  return { key, bytes: Buffer.concat([head, Buffer.from(key), kind, value]) };
}

function padding(length: number): number {
  return (ALIGNMENT - (length % ALIGNMENT)) % ALIGNMENT;
}

function fiveDigits(number: number): string {
  return String(number).padStart(5, '0');
}
