/** What a model will take in memory, from its file, before it is loaded. */
import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { readAdapterFiles } from '../engine/adapter-file.js';
import { LOAD_OPTIONS } from '../engine/load-option-table.js';
import type { LoadOptions } from '../engine/load-options.js';

/** The sizes stand in front of the vocabulary, so the beginning of a file has them. */
const HEAD_BYTES = 64 * 1024;
/** The process itself, with Node and the code of llama.cpp. */
const PROCESS_BYTES = 100 * 2 ** 20;
/** As the engine chooses it where no option says so. */
const MAX_DEFAULT_CONTEXT = 4096;

/** `fileBytes` is the size of the file. A file that cannot be read is left to its load, which says what is wrong. */
export function estimateMemory(path: string, fileBytes: number, options: LoadOptions): number {
  const sizes = sizesIn(readHead(path));
  const adapterBytes = readAdapterFiles(options.lora).reduce((sum, { path: file }) => sum + sizeOf(file), 0);
  const size = (name: string, otherwise: number) => sizes.get(name) ?? otherwise;
  const heads = size('attention.head_count', 0);
  const headLength = size('attention.key_length', heads > 0 ? size('embedding_length', 0) / heads : 0);
  const valuesPerToken = 2 * size('block_count', 0) * size('attention.head_count_kv', heads) * headLength;
  const context = options.contextSize ?? Math.min(size('context_length', MAX_DEFAULT_CONTEXT), MAX_DEFAULT_CONTEXT);
  const cells = context * (options.parallel ?? LOAD_OPTIONS.parallel.default);
  // The cache has half-precision numbers unless told otherwise.
  return PROCESS_BYTES + fileBytes + adapterBytes + 2 * valuesPerToken * cells;
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
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

/** The types of GGUF's values, by their numbers there: how many bytes each has. Texts (8) and lists (9) say it themselves. */
const VALUE_BYTES: Readonly<Record<number, number>> = {
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
const UINT32 = 4;
const TEXT = 8;

const LIST = 9;

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

/** The whole numbers in the head of a GGUF file, without the architecture in front of their names; as far as it goes. */
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
