/** The sizes of a model, from its file, before it is loaded. */
import { closeSync, openSync, readSync } from 'node:fs';
import { LIST, TEXT, VALUE_BYTES } from './gguf-values.js';

/** The sizes stand in front of the vocabulary, so the beginning of a file has them. */
const HEAD_BYTES = 64 * 1024;

/**
 * The whole numbers in the head of a GGUF file, without the architecture in front of their names; as far as it goes. None
 * of a file that cannot be read.
 */
export function readGgufSizes(path: string): Map<string, number> {
  return sizesIn(readHead(path));
}

function readHead(path: string): Buffer {
  const head = Buffer.alloc(HEAD_BYTES);
  try {
    const file = openSync(path, 'r');
    try {
      return head.subarray(0, readSync(file, head, 0, HEAD_BYTES, 0));
    } finally {
      closeSync(file);
    }
  } catch {
    return head.subarray(0, 0);
  }
}

const UINT32 = 4;

/** Reads a GGUF file's head; throws where the head ends. */
class HeadReader {
  readonly #head: Buffer;
  /** After the magic number, the version and the number of tensors. */
  #at = 16;

  constructor(head: Buffer) {
    this.#head = head;
  }

  int32(): number {
    this.#at += 4;
    return this.#head.readUInt32LE(this.#at - 4);
  }

  int64(): number {
    this.#at += 8;
    return Number(this.#head.readBigUInt64LE(this.#at - 8));
  }

  text(): string {
    const length = this.int64();
    this.#at += length;
    return this.#head.toString('utf8', this.#at - length, this.#at);
  }

  skip(type: number): void {
    if (type === TEXT) this.text();
    else if (type === LIST) this.#skipList();
    else this.#at += VALUE_BYTES[type] ?? HEAD_BYTES;
  }

  #skipList(): void {
    const type = this.int32();
    // Each item takes a byte or more, so a head of this size ends the loop.
    for (let left = this.int64(); left > 0 && this.#at < HEAD_BYTES; left -= 1) this.skip(type);
  }
}

function sizesIn(head: Buffer): Map<string, number> {
  const sizes = new Map<string, number>();
  if (head.toString('latin1', 0, 4) !== 'GGUF') return sizes;
  const reader = new HeadReader(head);
  try {
    for (let left = reader.int64(); left > 0; left -= 1) {
      const name = reader.text();
      const type = reader.int32();
      if (type === UINT32) sizes.set(name.slice(name.indexOf('.') + 1), reader.int32());
      else reader.skip(type);
    }
  } catch {
    // The head ends here.
  }
  return sizes;
}
