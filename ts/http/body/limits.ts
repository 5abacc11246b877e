/** Limits of a request's body, checked before anything is made of it. README.md lists them for users. */

const MIB = 2 ** 20;

/**
 * The largest body of endpoints that take no images: room for half a million tokens, whether they come as ids of seven
 * digits or as text in any script. Where images are taken, the profile's limit holds for the body, and this one for
 * all of it that is no image.
 */
export const MAX_TEXT_BYTES = 4 * MIB;

/**
 * Levels of nesting. A schema, or what a tool is called with, may have 64 of them (`chat/json-depth.ts`) and stands some
 * ten levels deep in a body. `JSON.parse` itself would go on until the memory ends.
 */
export const MAX_BODY_DEPTH = 128;

/** Values of any kind: a million fill the longest contexts token by token, and take some 10 MB when they are numbers. */
export const MAX_VALUES = 1_000_000;

/**
 * Objects, arrays and keys together. Each takes up to 100 bytes, many times what `{}` takes in the body, and a
 * microsecond to make. Ten thousand messages with their parts stay below.
 */
export const MAX_STRUCTURE = 100_000;

/**
 * Bytes of bodies that the server holds for all requests together, from their first byte to the end of the reply. Text
 * and values made of them take about three times as much: together less than half of what Node gives a process.
 */
export const MAX_BYTES_HELD = 256 * MIB;

/**
 * So much of each body counts for nothing there, so that ordinary requests go on when large ones have taken all. As many
 * as there may be connections, they come to 256 MiB.
 */
export const FREE_BYTES = 128 * 1024;

/**
 * So much of that is kept for bodies of at most `MAX_TEXT_BYTES`: whole ones keep their room until their replies end, and
 * texts must not wait for images. Sixteen of the largest texts fit.
 */
export const BYTES_FOR_TEXTS = 64 * MIB;

/** A client that sends nothing for so long in the middle of its body is not going to. */
export const MAX_SILENCE_MS = 20_000;

/** Each piece that a body arrives in costs a turn of the event loop: whoever sends letter by letter is stopped here ... */
export const MAX_SMALL_PIECES = 10_000;
/** ... unless the pieces are at least so large, which all networks' packets are. */
export const SMALL_PIECE = 256;
