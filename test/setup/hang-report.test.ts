import { spawn } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
// @ts-expect-error: plain JavaScript, because test/run.mjs uses it
import { describeProcess, killTree, processTree, runningTest } from '../support/hang-report.mjs';
import { until } from '../support/until.js';

test('the test file, the suite and the number of its finished tests are named', () => {
  assert.is(runningTest(''), 'before its first test file');
  assert.is(runningTest('a.test.ts\n'), 'in a.test.ts, after 0 tests of the suite');
  const output = 'a.test.ts\n• •   (2 / 2)\n\nb/c.test.ts\n one  • ✘   (1 / 2)\n \u001b[90m two, more \u001b[39m • ';
  assert.is(runningTest(output), 'in b/c.test.ts, suite "two, more", after 1 tests of the suite');
});

if (process.platform === 'linux') {
  test('a process and its children are listed and killed', async () => {
    const parent = spawn('sh', ['-c', 'sleep 1000 & echo $!; wait'], { stdio: ['ignore', 'pipe', 'inherit'] });
    const child = Number(await once(parent.stdout, 'data'));
    const tree = processTree(parent.pid);
    assert.equal(
      tree.map(({ pid, depth }: { pid: number; depth: number }) => [pid, depth]),
      [
        [parent.pid, 0],
        [child, 1],
      ],
    );
    // The shell tells the number of its child before that runs `sleep`.
    const isAsleep = () =>
      /^ {2}\d+ S 0\.0 s of CPU time: sleep 1000 $/.test(describeProcess(processTree(parent.pid)[1]));
    await until(isAsleep, 'the child is listed as sleep');
    killTree(parent.pid);
    // The pipe closes when the last process that holds it has ended.
    await once(parent, 'close');
    assert.equal(processTree(parent.pid), []);
  });
}

test.run();
