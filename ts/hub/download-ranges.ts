/** Fills a part file from the hub in parallel ranges, with retries. */
import { setTimeout as sleep } from 'node:timers/promises';
import { ChasquiError } from '../errors.js';
import { unreachable } from './hub-errors.js';
import { discard, type HubReply, type HubRequests, headerOf } from './hub-requests.js';
import { BLOCK_BYTES, type ByteRange, type PartFile } from './part-file.js';

const GGUF = Buffer.from('GGUF');
/** Received bytes are written when a block is complete, or after this time. */
const WRITE_AFTER_MS = 500;
const MAX_RETRY_DELAY_MS = 30_000;

export interface TransferSettings {
  /** A connection that delivers no byte for this long is dropped, and the file's address is requested again. */
  stallTimeoutMs: number;
  /** Delay before the first retry; doubles up to half a minute. */
  retryDelayMs: number;
  /** The download fails after this many consecutive attempts without a byte. */
  maxTries: number;
}

export interface Transfer {
  requests: HubRequests;
  url: URL;
  sizeBytes: number;
  /** For messages, such as `the file a.gguf of user/repo`. */
  what: string;
  page: string;
  settings: TransferSettings;
  signal: AbortSignal;
  onBytes(): void;
  /** Called with the error before a retry, and with `null` when bytes arrive again. */
  onTrouble(error: ChasquiError | null): void;
}

/** The hub ignores `Range` headers and sends the whole file. */
class RangesIgnored extends Error {}

/** Resolves when every byte is in the file. @throws {ChasquiError} if a retry cannot help; or the signal's reason. */
export async function fillPart(part: PartFile, transfer: Transfer): Promise<void> {
  try {
    await fillRanges(part, transfer, true);
  } catch (error) {
    if (!(error instanceof RangesIgnored)) throw error;
    await part.restart(1);
    await fillRanges(part, transfer, false);
  }
}

/** The first permanent failure of a range aborts the others. */
async function fillRanges(part: PartFile, transfer: Transfer, asRanges: boolean): Promise<void> {
  const stop = new AbortController();
  const signal = AbortSignal.any([transfer.signal, stop.signal]);
  const fills = part.ranges.map((range) =>
    fillRange(part, range, { ...transfer, signal }, asRanges).catch((error) => {
      if (!stop.signal.aborted) stop.abort(error);
      throw error;
    }),
  );
  const ends = await Promise.allSettled(fills);
  transfer.signal.throwIfAborted();
  if (ends.some(({ status }) => status === 'rejected')) throw stop.signal.reason;
}

async function fillRange(part: PartFile, range: ByteRange, transfer: Transfer, asRange: boolean): Promise<void> {
  const { signal, settings, onTrouble } = transfer;
  for (let tries = 0; range.at < range.end; ) {
    const before = range.at;
    try {
      await receive(part, range, transfer, asRange);
      continue;
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof ChasquiError) || !isTemporary(error)) throw error;
      // The hub is reachable if it rate-limits; that is not a failed attempt.
      if (error.code !== 'hub_rate_limited') tries = range.at > before ? 1 : tries + 1;
      if (tries >= settings.maxTries) throw error;
      onTrouble(error);
      await sleep(delayOf(error, tries, settings), undefined, { signal });
    }
    // Without ranges a transfer cannot be resumed.
    if (!asRange) await part.rewind(range);
  }
}

function isTemporary({ code }: ChasquiError): boolean {
  return ['hub_unreachable', 'hub_failed', 'hub_rate_limited'].includes(code);
}

function delayOf(error: ChasquiError, tries: number, { retryDelayMs }: TransferSettings): number {
  if (error.code === 'hub_rate_limited') return (error.retryAfterSeconds ?? 60) * 1000;
  const delay = Math.min(retryDelayMs * 2 ** Math.min(tries - 1, 20), MAX_RETRY_DELAY_MS);
  // Jitter, to spread the retries of parallel ranges.
  return delay * (0.75 + Math.random() / 2);
}

/** Receives over one connection. The address expires, so it is requested each time. */
async function receive(part: PartFile, range: ByteRange, transfer: Transfer, asRange: boolean): Promise<void> {
  const { requests, url, what, page, settings, signal } = transfer;
  const reply = await requests.open(url, {
    what,
    page,
    signal,
    idleTimeoutMs: settings.stallTimeoutMs,
    headers: asRange ? { range: `bytes=${range.at}-${range.end - 1}` } : {},
  });
  try {
    checkReply(reply, range, transfer, asRange);
    await writeAll(reply, part, range, transfer);
  } catch (error) {
    reply.body.on('error', () => {}).destroy();
    throw error;
  }
  if (range.at < range.end) throw unreachable(reply.url, what, new Error('the connection closed early'));
}

function checkReply(reply: HubReply, range: ByteRange, { what, sizeBytes }: Transfer, asRange: boolean): void {
  const { statusCode } = reply;
  if (statusCode >= 400) {
    // The hub redirected to this address, so it has expired or that host is failing.
    void discard(reply);
    throw new ChasquiError('hub_failed', `${reply.url.host} replied ${statusCode} to a request for ${what}.`);
  }
  if (!asRange && statusCode === 200) return;
  if (statusCode === 200) throw new RangesIgnored();
  const [, start, total] = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(headerOf(reply, 'content-range') ?? '') ?? [];
  const isRange = statusCode === 206 && Number(start) === range.at && ['*', String(sizeBytes)].includes(total ?? '');
  if (!isRange) {
    throw new ChasquiError('hub_failed', `${reply.url.host} sent a different range of ${what} than requested.`);
  }
}

async function writeAll(reply: HubReply, part: PartFile, range: ByteRange, transfer: Transfer): Promise<void> {
  const { signal, what, onTrouble } = transfer;
  const writer = new RangeWriter(part, range, transfer);
  try {
    for await (const chunk of reply.body as AsyncIterable<Uint8Array>) {
      onTrouble(null);
      await writer.add(chunk);
      if (writer.isFull) break;
    }
  } catch (error) {
    if (error instanceof ChasquiError || isOfDisk(error)) throw error;
    // Keep what arrived before the connection broke.
    await writer.flush();
    signal.throwIfAborted();
    throw unreachable(reply.url, what, error);
  }
  await writer.flush();
}

/** Batches received bytes into larger writes, and flushes them on a timer if no more arrive. */
class RangeWriter {
  #chunks: Uint8Array[] = [];
  #bytes = 0;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(
    private readonly part: PartFile,
    private readonly range: ByteRange,
    private readonly transfer: Transfer,
  ) {}

  /** True once the range is complete. Surplus bytes from the server are not read. */
  get isFull(): boolean {
    return this.#missing === 0;
  }

  async add(chunk: Uint8Array): Promise<void> {
    // Writes are sequential: each starts where the previous one ended.
    await this.#writing;
    for (let rest = chunk.subarray(0, this.#missing); rest.length > 0; ) {
      const untilBlockEnds = BLOCK_BYTES - ((this.range.at + this.#bytes) % BLOCK_BYTES);
      const wanted = rest.subarray(0, untilBlockEnds);
      rest = rest.subarray(wanted.length);
      this.#chunks.push(wanted);
      this.#bytes += wanted.length;
      if (wanted.length === untilBlockEnds || this.isFull) await this.flush();
    }
    if (this.#bytes > 0) this.#timer ??= setTimeout(() => void this.flush().catch(() => undefined), WRITE_AFTER_MS);
  }

  /** @throws the error of the disk, on this and every later call. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writing = this.#writing.then(() => this.#write());
    this.#writing.catch(() => undefined);
    return this.#writing;
  }

  get #missing(): number {
    return this.range.end - this.range.at - this.#bytes;
  }

  async #write(): Promise<void> {
    if (this.#bytes === 0) return;
    const chunks = this.#chunks;
    if (this.range.at === 0) checkMagic(chunks, this.transfer.what);
    await this.part.append(this.range, chunks);
    this.#chunks = [];
    this.#bytes = 0;
    this.transfer.onBytes();
  }
}

/** Sockets also report failed system calls; these are the ones of a disk. */
function isOfDisk(error: unknown): boolean {
  const { syscall, code } = error as NodeJS.ErrnoException;
  return code === 'ENOSPC' || code === 'EDQUOT' || code === 'EIO' || syscall === 'pwritev' || syscall === 'write';
}

/** Detects an error page in place of the model before gigabytes of it arrive. */
function checkMagic(chunks: readonly Uint8Array[], what: string): void {
  const head = Buffer.concat(chunks.map((chunk) => chunk.subarray(0, 4))).subarray(0, 4);
  if (head.length < GGUF.length || head.equals(GGUF)) return;
  throw new ChasquiError('model_file_invalid', `The hub's reply for ${what} is not a GGUF file.`, 'model');
}
