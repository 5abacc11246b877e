import { spawnSync } from 'node:child_process';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { demoModelPath } from '../support/demo-model.js';

/** Runs in a child process with a memory limit that applies after loading. */
const script = `
  import { spawnSync } from 'node:child_process';
  import fs from 'node:fs';
  import { loadModel } from './dist/index.js';
  const model = await loadModel(${JSON.stringify(demoModelPath)}, { threads: 1, contextSize: 256, parallel: 1 });
  const text = Buffer.alloc(400_000_000, 'a').toString('latin1');
  await model.tokenize('warm');
  const used = Number(/VmSize:\\s+(\\d+)/.exec(fs.readFileSync('/proc/self/status', 'utf8'))[1]) * 1024;
  const { status } = spawnSync('prlimit', ['--pid', String(process.pid), '--as=' + (used + 100_000_000)]);
  if (status !== 0) throw new Error('prlimit failed');
  const failure = await model.tokenize(text).then(() => 'nothing', (error) => error.code ?? error.message);
  let answer = 0;
  for await (const _ of model.generate({ prompt: 'The', maxTokens: 3, ignoreEos: true })) answer++;
  console.log(JSON.stringify({ failure, answer }));
  await model.close();
`;

/**
 * Loads the demo model with less memory than the 158 MB of its projector. The soft limit can be raised again. With
 * much less memory the process may crash.
 */
const loading = `
  import { spawnSync } from 'node:child_process';
  import fs from 'node:fs';
  import { loadModel } from './dist/index.js';
  const options = { threads: 1, contextSize: 256, parallel: 1 };
  const load = () => loadModel(${JSON.stringify(demoModelPath)}, options);
  await (await load()).close();
  const limit = (bytes) => {
    const { status } = spawnSync('prlimit', ['--pid', String(process.pid), '--as=' + bytes + ':']);
    if (status !== 0) throw new Error('prlimit failed');
  };
  const used = Number(/VmSize:\\s+(\\d+)/.exec(fs.readFileSync('/proc/self/status', 'utf8'))[1]) * 1024;
  const results = [];
  for (let more = 100; more <= 150; more += 10) {
    limit(used + more * 1_000_000);
    results.push(await load().then((model) => model.close().then(() => 'loaded'), ({ code, message }) => code ?? message));
    limit('unlimited');
  }
  await (await load()).close();
  console.log(JSON.stringify(results));
`;

function runScript(code: string): unknown {
  const { stdout, stderr, signal } = spawnSync(process.execPath, ['--input-type=module', '-e', code], {
    encoding: 'utf8',
    timeout: 120_000,
  });
  assert.is(signal, null, stderr);
  return JSON.parse(stdout);
}

if (process.platform === 'linux') {
  test('a model that there is no memory for is out_of_memory, and can be loaded later', () => {
    const results = runScript(loading) as string[];
    assert.equal([...new Set(results)], ['out_of_memory'], results.join());
  });

  test('a text that there is no memory for is an error, and the engine goes on', () => {
    const { stdout, stderr, signal } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      encoding: 'utf8',
      timeout: 60_000,
    });
    assert.is(signal, null, stderr);
    const { failure, answer } = JSON.parse(stdout);
    assert.match(failure, /bad_alloc|out_of_memory|memory/);
    assert.is(answer, 3);
  });
}

test.run();
