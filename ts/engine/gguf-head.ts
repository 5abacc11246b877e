/** Reads the head of a GGUF file: names and types of its values, and the values that are small. */
import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { isOutOfFiles, outOfFiles } from '../process/open-files.js';
import { LIST, TEXT, VALUE_BYTES } from './gguf-values.js';

/** As much of a file's beginning as is asked for; nothing of one that cannot be read. @throws {ChasquiError} `too_many_open_files` */
export function readHead(path: string, bytes: number): Buffer {
  const head = Buffer.alloc(bytes);
  try {
    // To open a pipe that nobody writes to would wait for ever.
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

/** Throws where the head ends. */
export class HeadReader {
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
    if (type === TEXT) this.#skipText();
    else if (type === LIST) this.#skipList();
    else this.#at += VALUE_BYTES[type] ?? this.#head.length;
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
    for (let left = count; left > 0 && this.#at < this.#head.length; left -= 1) this.skip(type);
  }
}

/**
 * Calls `take` with the name and the type of each value, as far as the head goes; a value that `take` does not read is
 * skipped. Nothing is called for a file of another kind.
 */
export function eachValue(head: Buffer, take: (name: string, type: number, reader: HeadReader) => boolean): void {
  if (head.toString('latin1', 0, 4) !== 'GGUF') return;
  const reader = new HeadReader(head);
  try {
    for (let left = reader.int64(); left > 0; left -= 1) {
      const name = reader.text();
      const type = reader.int32();
      if (!take(name, type, reader)) reader.skip(type);
    }
  } catch {
    // The head ends here.
  }
}
