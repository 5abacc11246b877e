// A driver without a GPU is a device like any other: tried, chosen, told of.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { loadAddon } from '../../ts/native/load-addon.js';
import { runProbe } from '../../ts/native/run-probe.js';
import { nodeArguments } from '../support/node-arguments.mjs';

const test = suite('vulkan: probe');
const module = join(process.env.CHASQUI_MODULES as string, 'libggml-vulkan.so');
/** llvmpipe compiles a kernel for longer than a probe waits. Its cache keeps them, so that the next probe is a quick one. */
const compiling = 300_000;

test('the module computes rightly', async () => {
  const [result] = await runProbe(loadAddon().path, 'try', [module], compiling);
  assert.is(result?.reason, undefined);
  assert.match(result?.devices?.[0]?.description ?? '', /^llvmpipe/);
});

test('doctor tries it within the limits, and chooses it', () => {
  const args = [...nodeArguments('ts/cli.ts'), 'doctor', '--json'];
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  const report = JSON.parse(stdout || stderr);
  const [first] = report.modules;
  assert.equal([first.name, first.verdict, first.reason], ['vulkan', 'chosen', undefined]);
  assert.is(first.path, module);
});

test('--list-devices prints the devices of doctor, and exits', () => {
  const args = [...nodeArguments('ts/cli.ts'), 'serve', '--list-devices'];
  const { status, stdout } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  assert.is(status, 0);
  assert.match(stdout, /^Available devices:\n {2}Vulkan0: llvmpipe.*, .* free\n$/);
});

test.run();
