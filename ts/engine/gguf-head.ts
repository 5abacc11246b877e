/** Reads the beginning of a GGUF file, before the model is loaded: names and types of its values, and its sizes. */
import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { isOutOfFiles, outOfFiles } from '../process/open-files.js';

/** Type numbers of GGUF. */
export const TEXT = 8;
export const LIST = 9;
const UINT32 = 4;

/** Bytes of a value of each type; texts and lists have a length of their own. */
export const VALUE_BYTES: Readonly<Record<number, number>> = {
  0: 1,
  1: 1,
  2: 2,
  3: 2,
  4: 4,
  5: 4,
  6: 4,
  7: 1,
  10: 8,
  11: 8,
  12: 8,
};

/** Contains all sizes, which writers put before the vocabulary. */
const HEAD_BYTES = 64 * 1024;
/** Contains all values, even after a large vocabulary with its merges. */
const LONG_HEAD_BYTES = 32 * 2 ** 20;

/**
 * The 32-bit numbers in a GGUF file, by their names without the architecture: `context_length`. Empty if the file cannot be
 * read.
 */
export function readGgufSizes(path: string): Map<string, number> {
  const sizes = new Map<string, number>();
  eachValue(readHead(path, HEAD_BYTES), (name, type, reader) => {
    if (type !== UINT32) return false;
    sizes.set(name.slice(name.indexOf('.') + 1), reader.int32());
    return true;
  });
  return sizes;
}

/** The type numbers of all values in a GGUF file, by their full names. Empty if the file cannot be read. */
export function readGgufTypes(path: string): Map<string, number> {
  const types = new Map<string, number>();
  eachValue(readHead(path, LONG_HEAD_BYTES), (name, type) => {
    types.set(name, type);
    return false;
  });
  return types;
}

/** Returns at most `bytes`; none if the file cannot be read. @throws {ChasquiError} `too_many_open_files` */
function readHead(path: string, bytes: number): Buffer {
  const head = Buffer.alloc(bytes);
  try {
    // Opening a named pipe would block until it has a writer.
    if (!statSync(path).isFile()) return head.subarray(0, 0);
    const file = openSync(path, 'r');
    try {
      return head.subarray(0, readSync(file, head, 0, bytes, 0));
    } finally {
      closeSync(file);
    }
  } catch (error) {
    if (isOutOfFiles(error)) throw outOfFiles('The file of a model cannot be read', error);
    return head.subarray(0, 0);
  }
}

/** Throws at the end of the buffer. */
class HeadReader {
  /** After the magic number, the version and the number of tensors. */
  #at = 16;

  constructor(private readonly head: Buffer) {}

  int32(): number {
    this.#at += 4;
    return this.head.readUInt32LE(this.#at - 4);
  }

  int64(): number {
    this.#at += 8;
    return Number(this.head.readBigUInt64LE(this.#at - 8));
  }

  text(): string {
    const length = this.int64();
    this.#at += length;
    return this.head.toString('utf8', this.#at - length, this.#at);
  }

  skip(type: number): void {
    if (type === TEXT) this.#skipText();
    else if (type === LIST) this.#skipList();
    else this.#at += VALUE_BYTES[type] ?? this.head.length;
  }

  #skipText(): void {
    const length = this.int64();
    this.#at += length;
  }

  #skipList(): void {
    const type = this.int32();
    const count = this.int64();
    const bytes = VALUE_BYTES[type];
    if (bytes !== undefined) {
      this.#at += count * bytes;
      return;
    }
    // Each item takes a byte or more, so the end of the head ends the loop.
    for (let left = count; left > 0 && this.#at < this.head.length; left -= 1) this.skip(type);
  }
}

/** Calls `take` for each value in the buffer, and skips the value if `take` returns false because it did not read it. */
function eachValue(head: Buffer, take: (name: string, type: number, reader: HeadReader) => boolean): void {
  if (head.toString('latin1', 0, 4) !== 'GGUF') return;
  const reader = new HeadReader(head);
  try {
    for (let left = reader.int64(); left > 0; left -= 1) {
      const name = reader.text();
      const type = reader.int32();
      if (!take(name, type, reader)) reader.skip(type);
    }
  } catch {
    // The buffer ends here.
  }
}
