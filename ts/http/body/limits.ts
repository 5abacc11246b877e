/** Limits of a request's body, checked before it is parsed. ts/http/README.md lists them for users. */

const MIB = 2 ** 20;

/**
 * The largest body of endpoints that take no images: half a million tokens, as ids of seven digits or as text in any
 * script. Endpoints that accept images apply the profile's limit to the whole body, and this one to everything except
 * images and documents (`json-body.ts`).
 */
export const MAX_TEXT_BYTES = 4 * MIB;

/**
 * Levels of nesting. A schema, or the arguments of a tool call, may have 64 of them (`json-depth.ts`) and stands
 * some ten levels deep in a body. `JSON.parse` itself has no limit but memory.
 */
export const MAX_BODY_DEPTH = 128;

/**
 * Values of any kind: a million fill the longest contexts token by token, and take some 10 MB when they are numbers.
 */
export const MAX_VALUES = 1_000_000;

/**
 * Objects, arrays and keys together. Each takes up to 100 bytes, many times the size of `{}` in the body, and a
 * microsecond to create. Ten thousand messages with their parts stay below.
 */
export const MAX_STRUCTURE = 100_000;

/**
 * Bytes of bodies that the server holds for all requests together, from their first byte to the end of the reply. Text
 * and values made of them take about three times as much: together less than half of Node's default heap limit.
 */
export const MAX_BYTES_HELD = 256 * MIB;

/**
 * The first bytes of each body do not count towards that limit: ordinary requests are still served after large ones
 * have exhausted it. For all connections together they come to 256 MiB.
 */
export const FREE_BYTES = 128 * 1024;

/**
 * This part of the limit is reserved for bodies of at most `MAX_TEXT_BYTES`. A complete body is held until its reply
 * ends, and texts must not wait for images. Sixteen of the largest texts fit.
 */
export const BYTES_FOR_TEXTS = 64 * MIB;

/** Timeout for a client that stops sending in the middle of its body. */
export const MAX_SILENCE_MS = 20_000;

/** Maximum number of pieces of a body, because each piece costs a turn of the event loop. */
export const MAX_SMALL_PIECES = 10_000;
/** Bodies with at least this many bytes per piece are not limited. Packets of ordinary networks are that large. */
export const SMALL_PIECE = 256;
