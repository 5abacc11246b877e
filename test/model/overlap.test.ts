// An engine on an asynchronous device (bench/overlap/slow-device.cpp): the tokens of a step are published while the
// device computes the next one.
import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { stepsOf } from '../../bench/overlap/timeline.js';
import { type Finish, type GenerateRequest, type LoadOptions, loadModel } from '../../ts/index.js';
import { decideModules } from '../../ts/native/backends.js';
import { demoModelPath } from '../support/demo-model.js';
import { root } from '../support/places.js';

const build = path.join(root, 'build');
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'overlap-'));
const timeline = path.join(folder, 'timeline');
test.after(() => fs.rmSync(folder, { recursive: true, force: true }));

test.before(async () => {
  execFileSync('cmake', ['--build', build, '--target', 'slow-device'], { stdio: 'pipe' });
  await decideModules('cpu');
});

interface Completion {
  text: string;
  finish: Finish;
  /** Microseconds on the machine's clock, of each token. */
  arrivals: number[];
}

/** In a process of its own, because a process computes with the modules of its first model. */
const script = `
  import fs from 'node:fs';
  import { loadModel } from './dist/index.js';
  const { requests, options, timeline } = JSON.parse(process.argv[1]);
  const model = await loadModel(${JSON.stringify(demoModelPath)}, { backend: 'vulkan', threads: 1, contextSize: 512, ...options });
  fs.writeFileSync(timeline, '');
  const complete = async (request) => {
    const arrivals = [];
    let text = '';
    for await (const token of model.generate(request)) {
      arrivals.push(Number(process.hrtime.bigint() / 1000n));
      text += token.text;
      if (token.finish) return { text, finish: token.finish, arrivals };
    }
  };
  console.log(JSON.stringify(await Promise.all(requests.map(complete))));
  await model.close();
`;

async function onSlowDevice(
  requests: GenerateRequest[],
  milliseconds: number,
  options: LoadOptions = {},
): Promise<Completion[]> {
  const [cpuModule = ''] = await decideModules('cpu');
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    ['--input-type=module', '-e', script, JSON.stringify({ requests, options, timeline })],
    {
      cwd: root,
      encoding: 'utf8',
      timeout: 120_000,
      env: {
        ...process.env,
        CHASQUI_MODULES: path.join(build, 'slow-device'),
        SLOW_DEVICE_CPU: cpuModule,
        SLOW_DEVICE_MS: `${milliseconds}`,
        SLOW_DEVICE_TIMELINE: timeline,
      },
    },
  );
  assert.is(status, 0, stderr);
  return JSON.parse(stdout);
}

interface More {
  maxTokens?: number;
  ignoreEos?: boolean;
  stop?: string[];
  topLogprobs?: number;
  jsonSchema?: object;
}

const ask = (content: string, more: More = {}): GenerateRequest => ({
  messages: [{ role: 'user', content }],
  temperature: 0,
  maxTokens: 40,
  ...more,
});

test('the device has its next step before anybody has the last token', async () => {
  const [completion] = await onSlowDevice([ask('Count from 1 to 9.', { maxTokens: 30, ignoreEos: true })], 10);
  const { arrivals } = completion as Completion;
  const steps = stepsOf(fs.readFileSync(timeline, 'utf8'));
  assert.is(arrivals.length, 30);
  assert.is(steps.length, 30);
  const early = arrivals.slice(0, -1).filter((arrival, at) => arrival < (steps[at + 1]?.given ?? 0));
  assert.equal(early, []);
});

test('completions are what they are on the CPU, and end where they end there', async () => {
  const requests = [
    ask('Count from 3 to 9.'),
    ask('Count from 3 to 9.', { stop: ['6'] }),
    ask('Count from 1 to 5.', { maxTokens: 1 }),
    ask('Say the larger of 4 and 9.', { topLogprobs: 2 }),
    ask('Count from 2 to 8.', { jsonSchema: { type: 'array', items: { type: 'integer' }, maxItems: 5 } }),
    ask('Hello'),
  ];
  const slow = await onSlowDevice(requests, 3);
  assert.ok(stepsOf(fs.readFileSync(timeline, 'utf8')).length > 20, 'they were computed there');
  const model = await loadModel(demoModelPath, { threads: 1, contextSize: 512 });
  try {
    for (const [at, request] of requests.entries()) {
      let text = '';
      for await (const token of model.generate(request)) {
        text += token.text;
        if (token.finish === undefined) continue;
        const { reason, stopString, completionTokens } = token.finish;
        const there = slow[at] as Completion;
        assert.is(there.text, text);
        assert.equal([there.finish.reason, there.finish.stopString], [reason, stopString]);
        assert.is(there.finish.completionTokens, completionTokens);
      }
    }
  } finally {
    await model.close();
  }
});

test('where a GPU is used, drafts from the text have to be asked for', async () => {
  // Favoring one token makes the text repeat itself, so drafts are always made.
  const repeating = { prompt: 'The', maxTokens: 60, ignoreEos: true, logitBias: { 100: 1000 } };
  const drafted = async (options: LoadOptions) =>
    (await onSlowDevice([repeating], 1, options))[0]?.finish.draftedTokens;
  assert.is(await drafted({ draftMin: 4 }), 0);
  assert.ok(((await drafted({ draftMax: 8, draftMin: 4 })) ?? 0) > 20);
});

test.run();
