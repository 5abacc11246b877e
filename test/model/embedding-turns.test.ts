// Streams and embeddings of one model take turns at the cores. If both computed at once, the threads of each would wait at
// every barrier for the cores that the other uses.
import fs from 'node:fs';
import process from 'node:process';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadModel } from '../../ts/index.js';
import { demoModelPath } from '../support/demo-model.js';
import { until } from '../support/until.js';

/** CPU milliseconds of each thread of this process. The main thread, which computes nothing of the model, is left out. */
function cpuOfThreads(): Map<string, number> {
  const tasks = '/proc/self/task';
  const threads = fs.readdirSync(tasks).filter((task) => Number(task) !== process.pid);
  return new Map(
    threads.map((task) => [task, Number(fs.readFileSync(`${tasks}/${task}/schedstat`, 'utf8').split(' ')[0]) / 1e6]),
  );
}

/** The CPU time of the two busiest threads while `work` ran, and the duration, in milliseconds. */
async function busiestTwo(work: () => Promise<unknown>) {
  const before = cpuOfThreads();
  const began = performance.now();
  await work();
  const elapsed = performance.now() - began;
  const used = [...cpuOfThreads()].map(([task, ms]) => ms - (before.get(task) ?? 0));
  const [first = 0, second = 0] = used.sort((a, b) => b - a);
  return { first, second, elapsed };
}

if (process.platform === 'linux') {
  test('streams and embeddings with one thread each never have two cores together', async () => {
    const model = await loadModel(demoModelPath, { threads: 1, contextSize: 1024, parallel: 4, draftMax: 0 });
    const ask = (index: number) =>
      model.generate({ prompt: `The ${index}`, maxTokens: 900, ignoreEos: true, seed: index });
    const controller = new AbortController();
    const texts = Array.from({ length: 2000 }, (_, index) => `text number ${index} `.repeat(30));
    await model.embed(['a thread and a context for it']);
    const embedded = async () => (await model.stats()).embeddedTokens;
    const idle = await embedded();
    const embedding = model.embed(texts, { signal: controller.signal }).catch(() => {});
    await until(async () => (await embedded()) > idle, 'embedding has begun');
    const begun = await embedded();
    const { first, second, elapsed } = await busiestTwo(() =>
      Promise.all(
        [0, 1, 2, 3].map(async (index) => {
          for await (const _ of ask(index));
        }),
      ),
    );
    const after = await embedded();
    controller.abort();
    await embedding;
    await model.close();
    assert.ok(after > begun, 'texts are embedded while the streams run');
    // Other programs on the machine can only lower the sum.
    assert.ok(first + second < 1.1 * elapsed, `${first} ms and ${second} ms within ${elapsed} ms`);
  });
}

test.run();
