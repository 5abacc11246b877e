// A stream and what is embedded meanwhile take turns at the cores. If both computed at once, the threads of each would wait at
// every barrier for cores that the other has.
import fs from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadModel } from '../../ts/index.js';
import { demoModelPath } from '../support/demo-model.js';
import { until } from '../support/until.js';

/** Milliseconds of the processor that each thread of this process has had. */
function cpuOfThreads(): Map<string, number> {
  const tasks = '/proc/self/task';
  return new Map(
    fs
      .readdirSync(tasks)
      .map((task) => [task, Number(fs.readFileSync(`${tasks}/${task}/schedstat`, 'utf8').split(' ')[0]) / 1e6]),
  );
}

/** What the two threads that computed most had of the processor while `work` ran, in milliseconds, and how long that was. */
async function busiestTwo(work: () => Promise<unknown>) {
  const before = cpuOfThreads();
  const began = performance.now();
  await work();
  const elapsed = performance.now() - began;
  const had = [...cpuOfThreads()].map(([task, ms]) => ms - (before.get(task) ?? 0));
  const [first = 0, second = 0] = had.sort((a, b) => b - a);
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
    const { embeddedTokens } = await model.stats();
    const embedding = model.embed(texts, { signal: controller.signal }).catch(() => {});
    await until(async () => (await model.stats()).embeddedTokens > embeddedTokens, 'embedding has begun');
    const { first, second, elapsed } = await busiestTwo(() =>
      Promise.all(
        [0, 1, 2, 3].map(async (index) => {
          for await (const _ of ask(index));
        }),
      ),
    );
    controller.abort();
    await embedding;
    await model.close();
    assert.ok(second > 0.1 * first, `one had ${first} ms, the other ${second} ms: both have computed`);
    assert.ok(first + second < 1.1 * elapsed, `${first} ms and ${second} ms within ${elapsed} ms`);
  });
}

test.run();
