import { execFileSync } from 'node:child_process';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { demoModelPath } from '../support/demo-model.js';

const indexUrl = new URL('../../dist/index.js', import.meta.url).href;

/** Milliseconds of CPU that 100 tokens take when all threads must share one core. */
function cpuTimeOnOneCore(threads: number): number {
  const program = `
    import { loadModel } from ${JSON.stringify(indexUrl)};
    const model = await loadModel(${JSON.stringify(demoModelPath)}, { threads: ${threads}, contextSize: 256 });
    const before = process.cpuUsage();
    for await (const _ of model.generate({ prompt: 'The', maxTokens: 100, ignoreEos: true })) ;
    const { user, system } = process.cpuUsage(before);
    console.log((user + system) / 1000);
    await model.close();`;
  const args = ['--cpu-list', '0', process.execPath, '--input-type=module', '-e', program];
  return Number(execFileSync('taskset', args, { encoding: 'utf8' }));
}

// vendor/patches/0002: without it the threads burn a time slice at every barrier, more than a hundred times as much.
if (process.platform === 'linux') {
  test('compute threads without a core of their own do not burn it waiting for each other', () => {
    const alone = cpuTimeOnOneCore(1);
    const sharing = cpuTimeOnOneCore(2);
    assert.ok(sharing < 30 * alone + 1000, `${sharing} ms of CPU by two threads, ${alone} ms by one`);
  });
}

test.run();
