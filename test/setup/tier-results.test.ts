import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { root } from '../support/places.js';
// @ts-expect-error: plain JavaScript, because test/run.mjs uses it
import { judge } from '../support/tier-results.mjs';

/** Runs uvu on one file and judges its output as test/run.mjs does. */
function judgeFile(body: string, timedOut = false) {
  const folder = mkdtempSync(path.join(root, 'build', 'tier-results-'));
  try {
    const head =
      "import { suite } from 'uvu';\nimport * as assert from 'uvu/assert';\nconst test = suite('the suite');\n";
    writeFileSync(path.join(folder, 'a.test.mjs'), `${head}${body}\ntest.run();\n`);
    writeFileSync(path.join(folder, 'b.test.mjs'), `${head}test('later', () => {});\ntest.run();\n`);
    const uvu = path.join(root, 'node_modules', 'uvu', 'bin.js');
    const run = spawnSync(process.execPath, [uvu, folder, '\\.test\\.mjs$'], { encoding: 'utf8' });
    const output = run.stdout.replaceAll('.test.mjs', '.test.ts');
    return judge(output, run.stderr, { code: run.status, signal: run.signal, timedOut, limit: 60_000 });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test('a tier without failures', () => {
  assert.equal(judgeFile("test('good', () => {});"), { passed: 2, failed: 0, problem: '', failures: '' });
});

test('failed tests are repeated with their messages, and nothing else', () => {
  const { failures, ...counts } = judgeFile(`
    test('good', () => {});
    test('values', () => assert.is(1, 2));
    test('an error', () => { throw new Error('it broke') });`);
  assert.equal(counts, { passed: 2, failed: 2, problem: '' });
  assert.match(failures, /^ +FAIL +the suite +"values"\n +Expected values to be strictly equal/);
  assert.match(failures, /FAIL +the suite +"an error"\n +it broke\n +at .*a\.test\.ts:\d/);
  assert.not.match(failures, /later|good|Total|b\.test/);
});

test('a suite that ends the process is named, with the reason', () => {
  const { failures, ...result } = judgeFile(`
    test('good', () => {});
    test.after(() => { throw new Error('the disk is busy') });`);
  const problem = 'ended with exit code 1 in a.test.ts, suite "the suite", after 1 tests of the suite';
  assert.equal(result, { passed: 0, failed: 1, problem });
  assert.match(failures, /^Error: the disk is busy\n/);
});

test('skipped tests count as failures', () => {
  const { failed, problem } = judgeFile("const { skip } = test;\nskip('never', () => {});");
  assert.is(failed, 1);
  assert.match(problem, /^1 skipped, /);
});

test('signals and time limits are named', () => {
  const byItself = judgeFile("test('kill', () => process.kill(process.pid, 'SIGKILL'));");
  assert.is(byItself.problem, 'was ended by SIGKILL in a.test.ts, suite "the suite", after 0 tests of the suite');
  assert.match(
    judgeFile("test('good', () => {});", true).problem,
    /^was still running after 1\.0 minutes in b\.test\.ts/,
  );
});

test.run();
