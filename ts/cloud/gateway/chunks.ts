/** HTTP/1.1 chunked encoding: hexadecimal length, CRLF, bytes, CRLF. */

const CARRIAGE_RETURN = 0x0d;
const LINE_FEED = 0x0a;
const MAX_SIZE_DIGITS = 8;

/**
 * Returns the end of the last complete chunk from `at` on. Stops before chunks with extensions and before the final
 * empty chunk.
 */
export function chunksEnd(bytes: Uint8Array, at: number): number {
  for (let start = at; ; ) {
    let size = 0;
    let digits = 0;
    for (let digit = hexValue(bytes[start]); digit >= 0; digit = hexValue(bytes[start + digits])) {
      size = size * 16 + digit;
      digits += 1;
      if (digits > MAX_SIZE_DIGITS) return start;
    }
    const body = start + digits + 2;
    const end = body + size;
    if (size === 0 || !isLineEnd(bytes, body - 2) || !isLineEnd(bytes, end)) return start;
    start = end + 2;
  }
}

/** Removes the framing. `framed`: complete chunks, as found by `chunksEnd`, in Latin-1. */
export function unframed(framed: string): string {
  let body = '';
  for (let at = 0; at < framed.length; ) {
    const start = framed.indexOf('\n', at) + 1;
    const end = start + Number.parseInt(framed.slice(at, start), 16);
    body += framed.slice(start, end);
    at = end + 2;
  }
  return body;
}

function isLineEnd(bytes: Uint8Array, at: number): boolean {
  return bytes[at] === CARRIAGE_RETURN && bytes[at + 1] === LINE_FEED;
}

/** Returns -1 if the byte is not a hexadecimal digit. */
function hexValue(byte = 0): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}
