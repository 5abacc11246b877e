/** Programs that lose their engine, drop their model, or fail while it loads. */
import { spawnSync } from 'node:child_process';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { loadModel, type ProcessOptions } from '../../ts/index.js';
import { demoModelPath } from '../support/demo-model.js';
import { nodeArguments } from '../support/node-arguments.mjs';

const test = suite('model: programs');

function run(how: string): string {
  const script = [...nodeArguments('test/support/library-program.ts'), how, demoModelPath];
  const { stdout, stderr, status } = spawnSync(process.execPath, ['--expose-gc', ...script], { encoding: 'utf8' });
  assert.is(status, 0, stderr);
  return stdout;
}

test('a pending call keeps the program alive when its engine is killed', () => {
  assert.is(run('killed'), 'engine_restarting\n3\n');
});

if (process.platform === 'linux') {
  for (const how of ['dropped', 'dropped-processes']) {
    test(`a model that is dropped without close() is freed: ${how}`, () => assert.is(run(how), '0\n'));
  }
}

for (const ownProcess of [false, true]) {
  test(`an exception in onProgress rejects the load${ownProcess ? ' in its process' : ''}`, async () => {
    const planted = new Error('planted');
    const options: ProcessOptions = { process: ownProcess };
    for (const at of [0, 1]) {
      const onProgress = (fraction: number) => {
        if (fraction >= at) throw planted;
      };
      await loadModel(demoModelPath, { ...(options as { process: true }), contextSize: 256, onProgress }).then(
        () => assert.unreachable(`loaded at ${at}`) as never,
        (error) => assert.is(error, planted),
      );
    }
  });
}

test('a second load with a backend that is unusable here is an error', async () => {
  const first = await loadModel(demoModelPath, { contextSize: 256, threads: 1 });
  try {
    await loadModel(demoModelPath, { contextSize: 256, backend: 'cann' as 'cuda' }).then(
      () => assert.unreachable('loaded') as never,
      (error) => assert.is(error.code, 'invalid_options'),
    );
    const backend = process.platform === 'darwin' ? 'cuda' : 'metal';
    await loadModel(demoModelPath, { contextSize: 256, backend }).then(
      () => assert.unreachable('loaded') as never,
      (error) => assert.is(error.code, 'backend_unavailable'),
    );
  } finally {
    await first.close();
  }
});

test.run();
