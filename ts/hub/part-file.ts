/**
 * A file that is being downloaded in parallel ranges. A small text file beside it records which bytes are present:
 *
 *     {"version":1,"sizeBytes":4000,"digest":"…"}
 *     0000000000000000 0000000000002000 0000000000001024      start, end and progress; one line per range
 *
 * Fields have a fixed width, so each is updated in place after its bytes were written. A killed process therefore
 * leaves a valid file.
 */
import fs, { type promises } from 'node:fs';
import path from 'node:path';
import { toObject } from './read-hub-replies.js';

const VERSION = 1;
const DIGITS = 16;
/** Three numbers, two spaces and a line feed. */
const LINE_BYTES = 3 * DIGITS + 3;
const MAX_RANGES = 64;
const MAX_STATE_BYTES = 10_000;

/**
 * Blocks are written whole where possible, so that Linux caches them in 2 MiB huge pages, which makes loading weights
 * faster. Needs a file system with large folios: ext4 from Linux 6.16 on, XFS, Btrfs.
 */
export const BLOCK_BYTES = 2 ** 21;

type FileHandle = promises.FileHandle;

export interface ByteRange {
  start: number;
  end: number;
  /** Offset of the first missing byte. */
  at: number;
}

/** After the digest. The name tells them from complete files. */
export const PART_SUFFIX = '.chasqui-part';

export interface PartContent {
  sizeBytes: number;
  /** Opaque identity of the content. */
  digest: string;
}

export class PartFile {
  #ranges: ByteRange[] = [];
  /** Offset of the first range line. */
  #linesAt = 0;
  /** Whether it holds bytes of an earlier process. */
  resumed = false;

  private constructor(
    readonly path: string,
    private readonly content: PartContent,
    private readonly data: FileHandle,
    private readonly state: FileHandle,
  ) {}

  /** Resumes an existing part of the same content, or starts over. The caller holds the file's lock. */
  static async open(file: string, content: PartContent, rangeCount: number): Promise<PartFile> {
    fs.mkdirSync(path.dirname(file), { recursive: true });
    const ranges = readState(file, content);
    const data = await fs.promises.open(file, fs.constants.O_RDWR | fs.constants.O_CREAT);
    let state: FileHandle | undefined;
    try {
      state = await fs.promises.open(stateFileOf(file), fs.constants.O_RDWR | fs.constants.O_CREAT);
      const part = new PartFile(file, content, data, state);
      if (ranges === null) await part.restart(rangeCount);
      else part.#adopt(ranges);
      return part;
    } catch (error) {
      await Promise.allSettled([data.close(), state?.close()]);
      throw error;
    }
  }

  /** Present bytes of a part that is not open. */
  static bytesIn(file: string, content: PartContent): number {
    return countBytes(readState(file, content) ?? []);
  }

  /** Present and expected bytes, whatever the content is. */
  static progressOf(file: string): { bytes: number; totalBytes: number } {
    const totalBytes = fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0;
    return { bytes: countBytes(readState(file, readContent(file)) ?? []), totalBytes };
  }

  static remove(file: string): void {
    fs.rmSync(file, { force: true });
    fs.rmSync(stateFileOf(file), { force: true });
  }

  get ranges(): readonly ByteRange[] {
    return this.#ranges;
  }

  get bytes(): number {
    return countBytes(this.#ranges);
  }

  /** Discards all bytes. */
  async restart(rangeCount: number): Promise<void> {
    const { sizeBytes } = this.content;
    this.#ranges = Array.from({ length: rangeCount }, (_, index) => {
      const start = beginOfRange(index, rangeCount, sizeBytes);
      return { start, end: beginOfRange(index + 1, rangeCount, sizeBytes), at: start };
    });
    this.resumed = false;
    // Invalidate the old state before writing the new one.
    await this.state.truncate(0);
    await this.data.truncate(0);
    await this.data.truncate(sizeBytes);
    const head = headOf(this.content);
    const lines = this.#ranges.map(({ start, end, at }) => `${[start, end, at].map(toDigits).join(' ')}\n`);
    await this.state.write(head + lines.join(''), 0);
    this.#linesAt = head.length;
  }

  /** Writes bytes at the range's position. One call at a time per range. */
  async append(range: ByteRange, chunks: readonly Uint8Array[]): Promise<void> {
    const length = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
    const { bytesWritten } = await this.data.writev(chunks as Uint8Array[], range.at);
    if (bytesWritten !== length) throw Object.assign(new Error('short write'), { code: 'ENOSPC' });
    await this.#setAt(range, range.at + length);
  }

  async rewind(range: ByteRange): Promise<void> {
    await this.#setAt(range, range.start);
  }

  async flush(): Promise<void> {
    await this.data.sync();
  }

  async close(): Promise<void> {
    await Promise.allSettled([this.data.close(), this.state.close()]);
  }

  async #setAt(range: ByteRange, at: number): Promise<void> {
    const place = this.#linesAt + this.#ranges.indexOf(range) * LINE_BYTES + 2 * (DIGITS + 1);
    await this.state.write(toDigits(at), place);
    range.at = at;
  }

  #adopt(ranges: ByteRange[]): void {
    this.#ranges = ranges;
    this.#linesAt = headOf(this.content).length;
    this.resumed = this.bytes > 0;
  }
}

export function stateFileOf(file: string): string {
  return `${file}.json`;
}

function headOf({ sizeBytes, digest }: PartContent): string {
  return `${JSON.stringify({ version: VERSION, sizeBytes, digest })}\n`;
}

/**
 * Start of a range, aligned to a block if ranges are larger than blocks. Range `count` starts at the end of the file.
 */
function beginOfRange(index: number, rangeCount: number, sizeBytes: number): number {
  if (index === rangeCount) return sizeBytes;
  const begin = Math.floor((sizeBytes / rangeCount) * index);
  return sizeBytes / rangeCount < BLOCK_BYTES ? begin : begin - (begin % BLOCK_BYTES);
}

/** Returns `null` if there is no valid state for this content. */
function readState(file: string, content: PartContent | null): ByteRange[] | null {
  if (content === null || fs.statSync(file, { throwIfNoEntry: false })?.size !== content.sizeBytes) return null;
  const text = readStateText(file);
  const head = headOf(content);
  if (!text?.startsWith(head)) return null;
  const lines = text.slice(head.length).split('\n');
  if (lines.pop() !== '' || lines.length > MAX_RANGES) return null;
  const ranges = lines.map((line) => {
    const [start = -1, end = -1, at = -1] = line.split(' ').map(Number);
    return { start, end, at };
  });
  return areWhole(ranges, content.sizeBytes) ? ranges : null;
}

function readStateText(file: string): string | null {
  try {
    if (fs.statSync(stateFileOf(file)).size > MAX_STATE_BYTES) return null;
    return fs.readFileSync(stateFileOf(file), 'utf8');
  } catch {
    return null;
  }
}

function readContent(file: string): PartContent | null {
  try {
    const { sizeBytes, digest } = toObject(JSON.parse(readStateText(file)?.split('\n', 1)[0] ?? ''));
    return typeof sizeBytes === 'number' && typeof digest === 'string' ? { sizeBytes, digest } : null;
  } catch {
    return null;
  }
}

/** Whether the ranges cover the file without gaps. */
function areWhole(ranges: readonly ByteRange[], sizeBytes: number): boolean {
  const isInside = ({ start, end, at }: ByteRange) =>
    [start, end, at].every(Number.isSafeInteger) && start <= at && at <= end;
  const follow = ranges.every(({ start }, index) => start === (ranges[index - 1]?.end ?? 0));
  return follow && ranges.every(isInside) && (ranges.at(-1)?.end ?? -1) === sizeBytes;
}

function countBytes(ranges: readonly ByteRange[]): number {
  return ranges.reduce((sum, { start, at }) => sum + at - start, 0);
}

function toDigits(value: number): string {
  return String(value).padStart(DIGITS, '0');
}
