/** Reads its part of the memory in several passes, when all threads are ready. Replies with the bytes per second of the best pass. */
import { parentPort, workerData } from 'node:worker_threads';

const PASSES = 5;
/** A cache line. */
const STEP = 64 / 8;

const { ready, threads, bytes } = workerData;
// Written once: untouched memory maps to a single page of zeros.
const memory = new Float64Array(Math.floor(bytes / 8)).fill(1);

let sum = 0;
function read() {
  const start = performance.now();
  for (let at = 0; at < memory.length; at += STEP) sum += memory[at];
  return performance.now() - start;
}

// V8 optimizes during this pass.
read();
Atomics.add(ready, 0, 1);
Atomics.notify(ready, 0);
for (let count = Atomics.load(ready, 0); count < threads; count = Atomics.load(ready, 0)) Atomics.wait(ready, 0, count);
// Other processes can only slow a pass down.
const best = Math.min(...Array.from({ length: PASSES }, read));
// The condition keeps V8 from removing the reads.
parentPort.postMessage(sum > 0 ? (memory.byteLength / best) * 1000 : 0);
