/**
 * A file that is being downloaded, in ranges that arrive side by side. Beside it lies a small text file that says which
 * bytes are there:
 *
 *     {"version":1,"sizeBytes":4000,"digest":"…"}
 *     0000000000000000 0000000000002000 0000000000001024      first byte, end, and how far it has come: one line a range
 *
 * Numbers have a fixed width, so each can be written in its place after the bytes that it counts. Whenever the process is
 * killed, what the lines say is there is there.
 */
import fs, { type promises } from 'node:fs';
import path from 'node:path';

const VERSION = 1;
const DIGITS = 16;
/** Three numbers, two spaces and the end of the line. */
const LINE_BYTES = 3 * DIGITS + 3;
const MAX_RANGES = 64;
const MAX_STATE_BYTES = 10_000;

/**
 * A file is divided into blocks of so many bytes, and each is written at once where that is possible. Linux then keeps it in
 * a huge page (2 MiB), from which weights are read faster, where the file system has these (ext4 from Linux 6.16 on, XFS,
 * Btrfs).
 */
export const BLOCK_BYTES = 2 ** 21;

type FileHandle = promises.FileHandle;

export interface ByteRange {
  start: number;
  end: number;
  /** The first byte that is not there yet. */
  at: number;
}

export interface PartContent {
  sizeBytes: number;
  /** In words of whoever announced it; another digest is another file. */
  digest: string;
}

export class PartFile {
  #ranges: ByteRange[] = [];
  /** Where the first line of numbers begins. */
  #linesAt = 0;
  /** Whether bytes of an earlier process are in it. */
  resumed = false;

  private constructor(
    readonly path: string,
    private readonly content: PartContent,
    private readonly data: FileHandle,
    private readonly state: FileHandle,
  ) {}

  /** Goes on with what is there, if it is a part of the same content; else begins anew. The caller holds the file's lock. */
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

  /** The bytes that are there of a part that nobody may have open. */
  static bytesIn(file: string, content: PartContent): number {
    return countBytes(readState(file, content) ?? []);
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

  /** Forgets what is there. */
  async restart(rangeCount: number): Promise<void> {
    const { sizeBytes } = this.content;
    this.#ranges = Array.from({ length: rangeCount }, (_, index) => {
      const start = beginOfRange(index, rangeCount, sizeBytes);
      return { start, end: beginOfRange(index + 1, rangeCount, sizeBytes), at: start };
    });
    this.resumed = false;
    // Until the state is whole again the old one must not be taken for true.
    await this.state.truncate(0);
    await this.data.truncate(0);
    await this.data.truncate(sizeBytes);
    const head = headOf(this.content);
    const lines = this.#ranges.map(({ start, end, at }) => `${[start, end, at].map(toDigits).join(' ')}\n`);
    await this.state.write(head + lines.join(''), 0);
    this.#linesAt = head.length;
  }

  /** Puts bytes where the range has come to. One call at a time for each range. */
  async append(range: ByteRange, chunks: readonly Uint8Array[]): Promise<void> {
    const length = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
    const { bytesWritten } = await this.data.writev(chunks as Uint8Array[], range.at);
    if (bytesWritten !== length) throw Object.assign(new Error('the disk took only a part'), { code: 'ENOSPC' });
    await this.#setAt(range, range.at + length);
  }

  /** Forgets what is there of a range. */
  async rewind(range: ByteRange): Promise<void> {
    await this.#setAt(range, range.start);
  }

  /** Has the system put everything on the disk. */
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

/** Where a range begins: with a block, if ranges are larger than blocks. The one after the last begins where the file ends. */
function beginOfRange(index: number, rangeCount: number, sizeBytes: number): number {
  if (index === rangeCount) return sizeBytes;
  const begin = Math.floor((sizeBytes / rangeCount) * index);
  return sizeBytes / rangeCount < BLOCK_BYTES ? begin : begin - (begin % BLOCK_BYTES);
}

/** `null` where there is no such part, or it is not of this content, or does not make sense. */
function readState(file: string, content: PartContent): ByteRange[] | null {
  if (fs.statSync(file, { throwIfNoEntry: false })?.size !== content.sizeBytes) return null;
  let text: string;
  try {
    if (fs.statSync(stateFileOf(file)).size > MAX_STATE_BYTES) return null;
    text = fs.readFileSync(stateFileOf(file), 'utf8');
  } catch {
    return null;
  }
  const head = headOf(content);
  if (!text.startsWith(head)) return null;
  const lines = text.slice(head.length).split('\n');
  if (lines.pop() !== '' || lines.length > MAX_RANGES) return null;
  const ranges = lines.map((line) => {
    const [start = -1, end = -1, at = -1] = line.split(' ').map(Number);
    return { start, end, at };
  });
  return areWhole(ranges, content.sizeBytes) ? ranges : null;
}

/** Whether the ranges follow upon each other from the first byte to the last. */
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
