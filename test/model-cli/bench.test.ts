// `chasqui bench` with the demo model.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { JsonTest } from '../../ts/cli/bench/report.js';
import { runCli, startChild, untilWritten } from '../support/child.js';
import { demoModelPath } from '../support/demo-model.js';
import { isAlive, untilEngineOf } from '../support/engine-process.js';
import { until } from '../support/until.js';

const test = suite('model-cli: bench');

const SHORT = ['--streams', '1,3', '-d', '0,96', '-p', '40', '-n', '10', '-r', '3'];

test('measures streams and depths, as JSON with the names of llama-bench', async () => {
  const { code, stdout, stderr } = await runCli(['bench', ...SHORT, '--json']);
  assert.is(code, 0, stderr);
  const tests = JSON.parse(stdout) as JsonTest[];
  assert.equal(
    tests.map(({ test: name, streams }) => `${streams}: ${name}`),
    ['1: pp40', '1: tg10', '1: pp40 @ d96', '1: tg10 @ d96', '3: pp40', '3: tg10', '3: pp40 @ d96', '3: tg10 @ d96'],
  );
  for (const each of tests) {
    const tokens = each.streams * (each.n_prompt + each.n_gen);
    assert.is(each.model_filename, demoModelPath);
    assert.is(each.samples_ns.length, 3);
    assert.ok(each.samples_ts.every((rate, at) => isNear(rate, (1e9 * tokens) / (each.samples_ns[at] ?? 0))));
    assert.ok(isNear(each.avg_ts, each.samples_ts.reduce((sum, rate) => sum + rate, 0) / 3));
    assert.is(each.first_token_ms !== null, each.n_gen === 0);
    assert.ok(each.stddev_ts >= 0);
  }
});

/** But for rounding to nanoseconds. */
function isNear(one: number, other: number): boolean {
  return Math.abs(one / other - 1) < 1e-4;
}

test('prints a table within 80 columns', async () => {
  const { code, stdout } = await runCli(['bench', ...SHORT]);
  assert.is(code, 0);
  const rows = stdout.split('\n').filter((line) => /^[13] +(0|96) /.test(line));
  assert.is(rows.length, 4);
  for (const row of rows) assert.match(row, /^\d +\d+ +[\d.]+ ± [\d.]+ +[\d.]+ m?s +[\d.]+ ± [\d.]+ +[\d.]+$/);
  assert.match(stdout, /STREAMS {2}DEPTH +pp40 t\/s +FIRST TOKEN +tg10 t\/s +EACH STREAM\n/);
  const wide = stdout
    .split('\n')
    .slice(1)
    .filter((line) => line.length > 80);
  assert.equal(wide, []);
});

test('leaves out what there is no room or no time for, and says so', async () => {
  const { code, stdout } = await runCli([
    'bench',
    '--streams',
    '1',
    '-d',
    '0,500000',
    '-p',
    '40',
    '-n',
    '10',
    '-r',
    '1',
  ]);
  assert.is(code, 0);
  assert.match(stdout, /^1 +500000 +left out: the model was trained for \d+ tokens$/m);
  // The time for a million tokens is unknown before some have been measured.
  const slow = await runCli(['bench', '--streams', '1,256', '-p', '500', '-n', '4', '-d', '0', '--max-time', '1']);
  assert.is(slow.code, 0);
  assert.match(slow.stdout, /^256 +0 +left out: it would take about .*--max-time/m);
});

test('many streams cause no warning', async () => {
  const { code, stderr } = await runCli(['bench', '--streams', '12', '-d', '0', '-p', '4', '-n', '2', '-r', '1']);
  assert.equal([code, /Warning/.test(stderr)], [0, false], stderr);
});

test('Ctrl-C ends it, with what was measured until then', async () => {
  const child = startChild('ts/cli.ts', ['bench', '--streams', '1,2', '-d', '0', '-p', '16', '-n', '4', '-r', '1']);
  await untilWritten(child, /^1 +0 +\d/m);
  child.process.kill('SIGINT');
  const exit = await child.exited;
  // It may have been done with the second row when the signal came.
  if (exit.code !== 0) {
    assert.equal(exit, { code: 130, signal: null }, child.output.stderr);
    assert.match(child.output.stderr, /stopped; what was measured before is above/);
  }
});

test('Ctrl-C while it computes ends the engine as well', async () => {
  const args = ['bench', '--streams', '4', '-d', '0', '-p', '64', '-n', '1000', '-r', '1000', '--json'];
  const child = startChild('ts/cli.ts', args);
  const engine = await untilEngineOf(child.process.pid as number);
  child.process.kill('SIGINT');
  assert.equal(await child.exited, { code: 130, signal: null }, child.output.stderr);
  await until(() => !isAlive(engine), 'its engine has ended', 60_000);
});

const REFUSED: [args: string[], says: RegExp][] = [
  [['--streams', '0'], /--streams.*whole numbers from 1 to 256/],
  [['--streams', '1,300'], /--streams.*whole numbers from 1 to 256/],
  [['-d', 'x'], /--n-depth.*whole numbers of tokens/],
  [['-p', '0'], /--n-prompt.*from 1 to/],
  [['--model', 'nobody/nothing'], /nobody\/nothing is no file, and no model on this computer; npx chasqui ls/],
  [['--backend', 'abacus'], /--backend.*auto, cuda, metal, vulkan or cpu/],
];

for (const [args, says] of REFUSED) {
  test(`refuses: bench ${args.join(' ')}`, async () => {
    const { code, stdout, stderr } = await runCli(['bench', ...args]);
    assert.is(code, args.includes('nobody/nothing') ? 5 : 2);
    assert.is(stdout, '');
    assert.match(stderr, says);
  });
}

test.run();
