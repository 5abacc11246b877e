/**
 * Frames on the pipe between a server and a child process:
 *
 *     length: u32, little-endian | kind: u8 | payload
 *
 * The length includes the kind. The payload is the structured clone of a value. Only events, one frame for each wake of the
 * engine, keep the columns of native code:
 *
 *     count: u32 | bytes of text: u32 | records: count x 4 x i32 | text: UTF-8 | extras and parsed texts: structured clone,
 *                                                                                 absent when there are none
 */
import { deserialize, serialize } from 'node:v8';
import { ChasquiError } from '../../errors.js';
import { FIELDS_PER_RECORD } from '../../native/addon.js';
import type { OnCoreEvents, ParsedText } from '../core.js';

export const FRAME = {
  /** To the child: [id, method, arguments, owner]; answered by `result` or `error`. With the id 0: a message, no owner. */
  call: 1,
  /** From the child: [id, value]. */
  result: 2,
  /** From the child: [id, failure]. */
  error: 3,
  events: 4,
} as const;

export type FrameKind = (typeof FRAME)[keyof typeof FRAME];

const HEAD_BYTES = 5;
const EVENTS_HEAD_BYTES = 8;
const RECORD_BYTES = FIELDS_PER_RECORD * 4;
/** Requests hold up to 64 MiB of images as files; the worker decodes them. */
export const MAX_FRAME_BYTES = 2 ** 30;

/** Throws `request_too_large` for a payload of more than `maxBytes`, which the receiver would refuse. */
export function encodeFrame(kind: FrameKind, value: unknown, maxBytes = MAX_FRAME_BYTES - 1): Buffer {
  const payload = serialize(value);
  if (payload.length > maxBytes) {
    throw new ChasquiError(
      'request_too_large',
      `The request takes up ${payload.length} bytes, of ${maxBytes} at most.`,
    );
  }
  const frame = Buffer.allocUnsafe(HEAD_BYTES + payload.length);
  writeHead(frame, kind);
  payload.copy(frame, HEAD_BYTES);
  return frame;
}

export function encodeEvents(
  records: Int32Array,
  count: number,
  text: string,
  extras: readonly unknown[],
  parsed?: ReadonlyMap<number, ParsedText>,
): Buffer {
  const rest = extras.length > 0 || (parsed?.size ?? 0) > 0 ? serialize([extras, parsed]) : null;
  const textBytes = Buffer.byteLength(text);
  const recordsAt = HEAD_BYTES + EVENTS_HEAD_BYTES;
  const textAt = recordsAt + count * RECORD_BYTES;
  const frame = Buffer.allocUnsafe(textAt + textBytes + (rest?.length ?? 0));
  writeHead(frame, FRAME.events);
  frame.writeUInt32LE(count, HEAD_BYTES);
  frame.writeUInt32LE(textBytes, HEAD_BYTES + 4);
  frame.set(new Uint8Array(records.buffer, records.byteOffset, count * RECORD_BYTES), recordsAt);
  frame.write(text, textAt);
  if (rest) frame.set(rest, textAt + textBytes);
  return frame;
}

function writeHead(frame: Buffer, kind: FrameKind): void {
  frame.writeUInt32LE(frame.length - 4, 0);
  frame.writeUInt8(kind, 4);
}

export class EventsDecoder {
  /** A copy, because records must be aligned to 4 bytes. */
  #records = new Int32Array(64 * FIELDS_PER_RECORD);

  decode(payload: Buffer, onEvents: OnCoreEvents): void {
    const count = payload.readUInt32LE(0);
    const textBytes = payload.readUInt32LE(4);
    const textAt = EVENTS_HEAD_BYTES + count * RECORD_BYTES;
    const restAt = textAt + textBytes;
    if (restAt > payload.length) throw new Error('An events frame is shorter than it says.');
    if (this.#records.length < count * FIELDS_PER_RECORD) this.#records = new Int32Array(count * FIELDS_PER_RECORD);
    new Uint8Array(this.#records.buffer).set(payload.subarray(EVENTS_HEAD_BYTES, textAt));
    const text = payload.toString('utf8', textAt, restAt);
    const rest = restAt < payload.length ? deserialize(payload.subarray(restAt)) : NOTHING;
    const [extras, parsed] = rest as [unknown[], ReadonlyMap<number, ParsedText> | undefined];
    onEvents(this.#records, count, text, extras, parsed);
  }
}

const NOTHING = [[], undefined] as const;

/** Splits the data of a pipe into frames. */
export class FrameReader {
  #pieces: Buffer[] = [];
  #bytes = 0;
  /** Length of the next frame, including its head. */
  #needed = HEAD_BYTES;

  constructor(private readonly onFrame: (kind: number, payload: Buffer) => void) {}

  /** Throws errors of `onFrame`, and an error for a frame that is too long. */
  push(piece: Buffer): void {
    this.#pieces.push(piece);
    this.#bytes += piece.length;
    if (this.#bytes < this.#needed) return;
    let all = this.#pieces.length === 1 ? piece : Buffer.concat(this.#pieces, this.#bytes);
    this.#pieces = [];
    let at = 0;
    for (;;) {
      this.#needed = HEAD_BYTES;
      if (all.length - at < HEAD_BYTES) break;
      const length = all.readUInt32LE(at);
      if (length < 1 || length > MAX_FRAME_BYTES) throw new Error(`A frame of ${length} bytes cannot be.`);
      this.#needed = 4 + length;
      if (all.length - at < this.#needed) break;
      const end = at + this.#needed;
      this.onFrame(all.readUInt8(at + 4), all.subarray(at + HEAD_BYTES, end));
      at = end;
    }
    if (at > 0) all = all.subarray(at);
    this.#bytes = all.length;
    if (all.length > 0) this.#pieces.push(all);
  }
}
