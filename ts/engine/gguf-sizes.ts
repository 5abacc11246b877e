/** The sizes of a model, from its file, before it is loaded. */
import { eachValue, readHead } from './gguf-head.js';

/** The sizes stand in front of the vocabulary, so the beginning of a file has them. */
const HEAD_BYTES = 64 * 1024;
/** A whole vocabulary with its merges is in here, and what stands behind it. */
const LONG_HEAD_BYTES = 32 * 2 ** 20;

const UINT32 = 4;

/**
 * The whole numbers in the head of a GGUF file, without the architecture in front of their names; as far as it goes. None
 * of a file that cannot be read.
 */
export function readGgufSizes(path: string): Map<string, number> {
  const sizes = new Map<string, number>();
  eachValue(readHead(path, HEAD_BYTES), (name, type, reader) => {
    if (type !== UINT32) return false;
    sizes.set(name.slice(name.indexOf('.') + 1), reader.int32());
    return true;
  });
  return sizes;
}

/** The types of all values of a GGUF file, by their whole names and as numbers; none of a file that cannot be read. */
export function readGgufTypes(path: string): Map<string, number> {
  const types = new Map<string, number>();
  eachValue(readHead(path, LONG_HEAD_BYTES), (name, type) => {
    types.set(name, type);
    return false;
  });
  return types;
}
