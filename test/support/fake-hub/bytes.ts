/** How a fake hub sends the bytes of a file. */
import type http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Misbehaviour } from './misbehaviour.js';

const PIECE = 16 * 1024;
const POLL_MS = 10;

export async function sendBytes(
  file: Buffer,
  path: string,
  request: http.IncomingMessage,
  response: http.ServerResponse,
  counted: { sent: number },
  misbehaviour: () => Misbehaviour,
): Promise<void> {
  const bytes = misbehaviour().spoils ? spoilt(file) : file;
  const { ignoresRanges = false, shiftsRanges = false, sendsMore = false } = misbehaviour();
  const [, first, last] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '') ?? [];
  const isRange = first !== undefined && !ignoresRanges;
  const start = isRange ? Number(first) + (shiftsRanges ? 1 : 0) : 0;
  const end = isRange && last ? Math.min(Number(last) + 1, bytes.length) : bytes.length;
  if (isRange && start >= bytes.length) return void response.writeHead(416).end();
  response.writeHead(isRange ? 206 : 200, {
    'accept-ranges': 'bytes',
    ...(!sendsMore && { 'content-length': end - start }),
    ...(isRange && { 'content-range': `bytes ${start}-${end - 1}/${bytes.length}` }),
  });
  const ending = endingOf(misbehaviour(), end - start);
  await sendPieces(bytes.subarray(start, start + ending.bytes), start, path, request, response, counted, misbehaviour);
  if (sendsMore) return sendJunk(response);
  if (ending.how === 'breaks') response.destroy();
  else if (ending.how === 'ends') response.end();
}

/** How far this connection goes, and how it ends. */
function endingOf(misbehaviour: Misbehaviour, length: number): { bytes: number; how: 'ends' | 'stalls' | 'breaks' } {
  for (const how of ['stalls', 'breaks'] as const) {
    const wanted = misbehaviour[how];
    if (wanted && wanted.times > 0 && wanted.afterBytes < length) {
      wanted.times -= 1;
      return { bytes: wanted.afterBytes, how };
    }
  }
  return { bytes: length, how: 'ends' };
}

async function sendPieces(
  bytes: Buffer,
  offset: number,
  path: string,
  request: http.IncomingMessage,
  response: http.ServerResponse,
  counted: { sent: number },
  misbehaviour: () => Misbehaviour,
): Promise<void> {
  // A response says that it is destroyed only some time after its connection is.
  for (let at = 0; at < bytes.length && !response.destroyed && !request.socket.destroyed; ) {
    const { bytesPerSecond, holds } = misbehaviour();
    const isHeld = holds !== undefined && path.endsWith(holds.path) && offset + at >= holds.fromByte;
    if (isHeld) {
      response.flushHeaders();
      await sleep(POLL_MS);
      continue;
    }
    const untilHeld = holds !== undefined && path.endsWith(holds.path) ? holds.fromByte - offset - at : PIECE;
    const piece = bytes.subarray(at, at + Math.min(PIECE, bytesPerSecond ?? PIECE, untilHeld));
    const wasTaken = response.write(piece);
    at += piece.length;
    counted.sent += piece.length;
    if (bytesPerSecond !== undefined) await sleep((piece.length / bytesPerSecond) * 1000);
    else if (!wasTaken) await untilTaken(response);
  }
}

/** Resolves when the socket has drained or closed. */
function untilTaken(response: http.ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      response.off('drain', end).off('close', end);
      resolve();
    };
    response.on('drain', end).on('close', end);
  });
}

function spoilt(file: Buffer): Buffer {
  const bytes = Buffer.from(file);
  const at = Math.floor(bytes.length / 2);
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  return bytes;
}

function sendJunk(response: http.ServerResponse): void {
  const send = () => {
    while (!response.destroyed && response.write(Buffer.alloc(PIECE)));
  };
  response.on('drain', send);
  send();
}
