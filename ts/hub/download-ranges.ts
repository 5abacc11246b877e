/** Fills a part file from the hub, in ranges side by side, whatever the hub and the network do meanwhile. */
import { setTimeout as sleep } from 'node:timers/promises';
import { ChasquiError } from '../errors.js';
import { unreachable } from './hub-errors.js';
import { discard, type HubReply, type HubRequests, headerOf } from './hub-requests.js';
import { BLOCK_BYTES, type ByteRange, type PartFile } from './part-file.js';

const GGUF = Buffer.from('GGUF');
/** What is received is written when a block of the file is complete, or when so much time has gone by. */
const WRITE_AFTER_MS = 500;
const MAX_RETRY_DELAY_MS = 30_000;

export interface TransferSettings {
  /** Without a byte for so long, a connection is given up and another address is asked for. */
  stallTimeoutMs: number;
  /** Before the first new try; doubled for each further one, up to half a minute. */
  retryDelayMs: number;
  /** Tries one after another that bring no byte, after which the download fails. */
  maxTries: number;
}

export interface Transfer {
  requests: HubRequests;
  url: URL;
  sizeBytes: number;
  /** In words: `the file a.gguf of user/repo`. */
  what: string;
  page: string;
  settings: TransferSettings;
  signal: AbortSignal;
  /** More bytes are there. */
  onBytes(): void;
  /** What went wrong, and is tried again. `null`: it works again. */
  onTrouble(error: ChasquiError | null): void;
}

/** The hub sends the whole file whatever part of it is asked for. */
class RangesIgnored extends Error {}

/** Returns when every byte is there. @throws {ChasquiError} what cannot be mended by trying again; or the signal's reason. */
export async function fillPart(part: PartFile, transfer: Transfer): Promise<void> {
  try {
    await fillRanges(part, transfer, true);
  } catch (error) {
    if (!(error instanceof RangesIgnored)) throw error;
    await part.restart(1);
    await fillRanges(part, transfer, false);
  }
}

/** When one range fails for good, the others are ended. */
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
      // A hub that says when to come back is there; that is no failure to count.
      if (error.code !== 'hub_rate_limited') tries = range.at > before ? 1 : tries + 1;
      if (tries >= settings.maxTries) throw error;
      onTrouble(error);
      await sleep(delayOf(error, tries, settings), undefined, { signal });
    }
    // Without ranges there is no going on in the middle.
    if (!asRange) await part.rewind(range);
  }
}

function isTemporary({ code }: ChasquiError): boolean {
  return ['hub_unreachable', 'hub_failed', 'hub_rate_limited'].includes(code);
}

function delayOf(error: ChasquiError, tries: number, { retryDelayMs }: TransferSettings): number {
  if (error.code === 'hub_rate_limited') return (error.retryAfterSeconds ?? 60) * 1000;
  const delay = Math.min(retryDelayMs * 2 ** Math.min(tries - 1, 20), MAX_RETRY_DELAY_MS);
  // Not all ranges at the same moment.
  return delay * (0.75 + Math.random() / 2);
}

/** One connection's worth of a range. The address is asked for anew each time, because it expires. */
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
  if (range.at < range.end) throw unreachable(reply.url, what, new Error('it ended too early'));
}

function checkReply(reply: HubReply, range: ByteRange, { what, sizeBytes }: Transfer, asRange: boolean): void {
  const { statusCode } = reply;
  if (statusCode >= 400) {
    // The hub itself gave this address, so it has expired, or the other host is out of order.
    void discard(reply);
    throw new ChasquiError('hub_failed', `${reply.url.host} replied ${statusCode} when asked for ${what}.`);
  }
  if (!asRange && statusCode === 200) return;
  if (statusCode === 200) throw new RangesIgnored();
  const [, start, total] = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(headerOf(reply, 'content-range') ?? '') ?? [];
  const isRange = statusCode === 206 && Number(start) === range.at && ['*', String(sizeBytes)].includes(total ?? '');
  if (!isRange) {
    throw new ChasquiError('hub_failed', `${reply.url.host} sent other bytes of ${what} than those asked for.`);
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
    // What came before the connection broke off is good.
    await writer.flush();
    signal.throwIfAborted();
    throw unreachable(reply.url, what, error);
  }
  await writer.flush();
}

/** Gathers what comes into larger writes, but leaves nothing unwritten for long while nothing more comes. */
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

  /** Whether everything has come; a server that sends more than it was asked for is not read any further. */
  get isFull(): boolean {
    return this.#missing === 0;
  }

  async add(chunk: Uint8Array): Promise<void> {
    // One write at a time, so that each begins where the one before has ended.
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

  /** @throws what the disk says, also to those who call it later. */
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

/** Sockets have system calls that fail, too; a disk's are these. */
function isOfDisk(error: unknown): boolean {
  const { syscall, code } = error as NodeJS.ErrnoException;
  return code === 'ENOSPC' || code === 'EDQUOT' || code === 'EIO' || syscall === 'pwritev' || syscall === 'write';
}

/** A page that says something else in place of the model is noticed before gigabytes of it have come. */
function checkMagic(chunks: readonly Uint8Array[], what: string): void {
  const head = Buffer.concat(chunks.map((chunk) => chunk.subarray(0, 4))).subarray(0, 4);
  if (head.length < GGUF.length || head.equals(GGUF)) return;
  throw new ChasquiError('model_file_invalid', `What the hub sends for ${what} is no GGUF file.`, 'model');
}
