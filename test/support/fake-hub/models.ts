/** Models for a fake hub. */
import { seedOf } from '../seeded-random.js';

/** A file with a valid GGUF header followed by random bytes. No engine can load it. */
export function tinyModel(sizeBytes: number, name = 'tiny'): Buffer {
  const bytes = Buffer.alloc(sizeBytes);
  let state = seedOf(name);
  for (let at = 0; at + 4 <= sizeBytes; at += 4) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    bytes.writeUInt32LE(state, at);
  }
  bytes.write('GGUF');
  return bytes;
}
