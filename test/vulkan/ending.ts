/** Begins to generate and ends in the way that its argument says: run by `exit.test.ts`. */
import { isMainThread, parentPort, Worker } from 'node:worker_threads';
import { loadModel } from '../../ts/index.js';
import { demoModelPath } from '../support/demo-model.js';

const endings: Record<string, () => Promise<void>> = {
  close: async () => (await begin()).close(),
  exit: async () => {
    await begin();
    process.exit(7);
  },
  throw: async () => {
    await begin();
    setImmediate(() => {
      throw new Error('planted');
    });
  },
  signal: async () => {
    await begin();
    process.once('SIGTERM', () => process.exit(0));
    process.kill(process.pid, 'SIGTERM');
  },
  worker: async () => {
    const inside = `import('tsx/esm/api').then(({ register }) => (register(), import(${JSON.stringify(import.meta.url)})))`;
    const worker = new Worker(inside, { eval: true });
    worker.once('message', () => worker.terminate());
  },
};

async function begin() {
  const model = await loadModel(demoModelPath, { contextSize: 512, parallel: 1 });
  await model.generate({ prompt: 'Once', ignoreEos: true }).next();
  return model;
}

if (isMainThread) await endings[process.argv[2] ?? '']?.();
else {
  await begin();
  parentPort?.postMessage('generating');
}
