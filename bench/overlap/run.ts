/**
 * Measures how long a device waits for the host between two steps: `node --import tsx bench/overlap/run.ts`.
 *
 *   --ms N        duration of a step on the device (default 5)
 *   --streams A,B concurrent completions (default 1,16,64)
 *   --tokens N    tokens per completion (default 64)
 *   --model PATH  default the demo model
 *
 * The device is slow-device.cpp. It computes on the CPU, stays busy for a few more milliseconds, and records when each step
 * was submitted and completed. The time from a completion to the next submission is host work that no device work hides:
 * sampling, IPC, planning.
 */
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { demoModelPath } from '../../test/support/demo-model.js';
import { root } from '../../test/support/places.js';
import { seededRandom } from '../../test/support/seeded-random.js';
import { loadModel, type SupervisedEngine } from '../../ts/index.js';
import { decideModules } from '../../ts/native/backends.js';
import { table } from '../table.js';
import { type Step, sharesOf, stepsOf } from './timeline.js';

const { values } = parseArgs({
  options: {
    ms: { type: 'string', default: '5' },
    streams: { type: 'string', default: '1,16,64' },
    tokens: { type: 'string', default: '64' },
    model: { type: 'string', default: demoModelPath },
  },
});
const build = path.join(root, 'build');
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-overlap-'));
const timeline = path.join(folder, 'timeline');

execFileSync('cmake', ['--build', build, '--target', 'slow-device'], { stdio: ['ignore', 2, 2] });
const [cpuModule] = await decideModules('cpu');
Object.assign(process.env, {
  CHASQUI_MODULES: path.join(build, 'slow-device'),
  SLOW_DEVICE_CPU: cpuModule,
  SLOW_DEVICE_MS: values.ms,
  SLOW_DEVICE_TIMELINE: timeline,
});

const PROMPT_TOKENS = 4;

async function generate(engine: SupervisedEngine, streams: number, round: number): Promise<void> {
  const random = seededRandom(round);
  const prompts = Array.from({ length: streams }, () =>
    Array.from({ length: PROMPT_TOKENS }, () => Math.floor(random() * engine.model.vocabularySize)),
  );
  const maxTokens = Number(values.tokens);
  const run = (prompt: number[]) => engine.generate({ prompt, temperature: 0, maxTokens, ignoreEos: true });
  await Promise.all(prompts.map((prompt) => run(prompt).forEachBatch(() => {})));
}

async function measure(streams: number): Promise<Step[]> {
  const contextSize = Number(values.tokens) + PROMPT_TOKENS + 16;
  const options = { backend: 'vulkan', parallel: streams, contextSize, process: true } as const;
  const engine = await loadModel(values.model, options);
  if (engine.model.placement.devices.join() !== 'Slow0') throw new Error('the model is not on the slow device');
  await generate(engine, streams, 0);
  fs.writeFileSync(timeline, '');
  await generate(engine, streams, 1);
  await engine.close();
  return stepsOf(fs.readFileSync(timeline, 'utf8'));
}

const rows: string[][] = [];
for (const streams of values.streams.split(',').map(Number)) {
  const { steps, busyMs, waitingMs, waitingShare } = sharesOf(await measure(streams));
  rows.push([
    `${streams}`,
    `${steps}`,
    busyMs.toFixed(2),
    waitingMs.toFixed(3),
    `${(100 * waitingShare).toFixed(1)} %`,
  ]);
}
fs.rmSync(folder, { recursive: true });
console.log(table(['streams', 'steps', 'busy, ms', 'waits for the host, ms', 'share of the time'], rows));
