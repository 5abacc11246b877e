// A thread that decodes one WebP picture and ends. Plain JavaScript, because a worker's first file is loaded by Node
// itself, and in tests that is the source.
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { parentPort, workerData } from 'node:worker_threads';
import decode, { init } from '@jsquash/webp/decode.js';

const program = fileURLToPath(import.meta.resolve('@jsquash/webp/codec/dec/webp_dec.wasm'));
await init({ wasmBinary: await readFile(program) });
const { data, width, height } = await decode(workerData);
const rgb = withoutAlpha(data);
parentPort.postMessage({ width, height, rgb }, [rgb.buffer]);

/** What is transparent keeps its colour, as in the other formats. */
function withoutAlpha(rgba) {
  const rgb = new Uint8Array((rgba.length / 4) * 3);
  for (let from = 0, to = 0; from < rgba.length; from += 4, to += 3) {
    rgb[to] = rgba[from];
    rgb[to + 1] = rgba[from + 1];
    rgb[to + 2] = rgba[from + 2];
  }
  return rgb;
}
