/** A program of a library user for tests of lifecycle: `node library-program.ts HOW MODEL`. */
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { loadModel, type Model, type SupervisedEngine } from '../../ts/index.js';

const [how = '', path = ''] = process.argv.slice(2);
const options = { contextSize: 256, threads: 1, mmproj: null };

/** Nothing but the pending call keeps the program alive. */
async function killed(): Promise<void> {
  const model = await loadModel(path, { ...options, process: true });
  const stream = model.generate({ prompt: 'Once', ignoreEos: true });
  await stream.next();
  process.kill(model.processes.engine as number, 'SIGKILL');
  await stream.result().catch((error) => console.log(error.code));
  console.log((await model.generate({ prompt: 'Once', maxTokens: 3 }).result()).finish.completionTokens);
}

/** Prints how many threads, or child processes, models leave that were dropped without `close()`. */
async function dropped(load: () => Promise<Model | SupervisedEngine>, inUse: () => number): Promise<void> {
  const use = async () => {
    const model = await load();
    await model.generate({ prompt: 'Once', maxTokens: 2 }).text();
  };
  await use();
  await collected();
  const before = inUse();
  for (let time = 0; time < 3; time++) await use();
  await collected();
  // The engines end within a step, and their processes soon after.
  for (let time = 0; time < 600 && inUse() > before; time++) await collected();
  // The first model may have ended after the first count.
  console.log(Math.max(0, inUse() - before));
}

async function collected(): Promise<void> {
  (globalThis as { gc?: () => void }).gc?.();
  await delay(50);
}

function threads(): number {
  return readdirSync('/proc/self/task').length;
}

function childProcesses(): number {
  return readdirSync('/proc').filter((name) => /^\d+$/.test(name) && parentOf(name) === process.pid).length;
}

function parentOf(pid: string): number {
  try {
    return Number(/^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
  } catch {
    return 0;
  }
}

if (how === 'killed') await killed();
else if (how === 'dropped') await dropped(() => loadModel(path, options), threads);
else await dropped(() => loadModel(path, { ...options, process: true }), childProcesses);
