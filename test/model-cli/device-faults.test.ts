// Faults of GPU drivers, by the artificial device of bench/overlap, which fails with messages of CUDA as ggml-cuda does.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { decideModules } from '../../ts/native/backends.js';
import { loadAddon } from '../../ts/native/load-addon.js';
import { runProbe } from '../../ts/native/run-probe.js';
import { runCli, startChild, untilWritten } from '../support/child.js';
import { root } from '../support/places.js';
import { until } from '../support/until.js';

const test = suite('cli: faults of devices');
const build = path.join(root, 'build');
const modules = path.join(build, 'slow-device');
const module = path.join(modules, 'libggml-vulkan-slow.so');
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-faults-'));
const [missing, fault] = [path.join(folder, 'missing'), path.join(folder, 'fault')];
let environment: NodeJS.ProcessEnv = {};

test.before(async () => {
  execFileSync('cmake', ['--build', build, '--target', 'slow-device'], { stdio: 'pipe' });
  const [cpuModule = ''] = await decideModules('cpu');
  // Its own HOME, because results of probes are cached there.
  environment = { CHASQUI_MODULES: modules, SLOW_DEVICE_CPU: cpuModule, SLOW_DEVICE_MS: '1', HOME: folder };
  Object.assign(environment, { SLOW_DEVICE_MISSING: missing, SLOW_DEVICE_FAULT: fault });
  Object.assign(process.env, { SLOW_DEVICE_CPU: cpuModule, SLOW_DEVICE_MISSING: missing, SLOW_DEVICE_FAULT: fault });
});
test.before.each(() => {
  for (const file of [missing, fault]) fs.rmSync(file, { force: true });
});
test.after(() => fs.rmSync(folder, { recursive: true, force: true }));

const serve = (...args: string[]) => ['serve', '--port', '0', '--ctx-size', '512', '--parallel', '1', ...args];

async function started(...args: string[]) {
  const child = startChild('ts/cli.ts', serve(...args), environment);
  await untilWritten(child, /^Try it/m);
  const url = /http:\S+(?=\/v1)/.exec(child.output.stdout)?.[0] ?? '';
  const ask = async () => {
    const body = JSON.stringify({ model: 'chasqui-demo', prompt: '3 4 5', max_tokens: 4, temperature: 0 });
    const headers = { 'content-type': 'application/json' };
    const reply = await fetch(`${url}/v1/completions`, { method: 'POST', headers, body });
    await reply.text();
    return reply.status;
  };
  const warnings = async () => ((await (await fetch(`${url}/health`)).json()) as { warnings: string[] }).warnings;
  const stop = async () => {
    child.process.kill('SIGTERM');
    assert.equal(await child.exited, { code: 0, signal: null });
  };
  return { child, ask, warnings, stop };
}

const PROBES: [message: string, remedy: RegExp][] = [
  ['CUDA driver version is insufficient for CUDA runtime version', /update the NVIDIA driver/],
  ['no CUDA-capable device is detected', /check `nvidia-smi` and CUDA_VISIBLE_DEVICES/],
];

for (const [message, remedy] of PROBES) {
  test(`a probe reports: ${message}`, async () => {
    fs.writeFileSync(missing, message);
    const [result] = await runProbe(loadAddon().path, 'try', [module], 120_000);
    assert.match(
      result?.reason ?? '',
      `it found no device on this machine: ggml_cuda_init: failed to initialize CUDA: ${message}`,
    );
    assert.match(result?.reason ?? '', remedy);
  });
}

test('a probe reports an error of its first computation', async () => {
  fs.writeFileSync(fault, 'out of memory');
  const [result] = await runProbe(loadAddon().path, 'try', [module], 120_000);
  assert.match(result?.reason ?? '', /SIGABRT.*CUDA error: out of memory.*another process.*contextSize/);
});

test('a module without its libraries is reported with their packages', async () => {
  const library = path.join(folder, 'libcudart.so.13');
  const incomplete = path.join(folder, 'libggml-cuda.so');
  const compile = (code: string, ...args: string[]) =>
    execFileSync('cc', ['-shared', '-fPIC', '-x', 'c', '-', '-x', 'none', ...args], { input: code });
  compile('int cudaGetDeviceCount(int *n) { return *n = 0; }', '-Wl,-soname,libcudart.so.13', '-o', library);
  compile(
    'int cudaGetDeviceCount(int *); int use(int *n) { return cudaGetDeviceCount(n); }',
    library,
    '-o',
    incomplete,
  );
  fs.rmSync(library);
  const [result] = await runProbe(loadAddon().path, 'try', [incomplete], 120_000);
  assert.match(
    result?.reason ?? '',
    /libcudart\.so\.13: cannot open shared object file.*install cuBLAS and the CUDA runtime/,
  );
});

test('after an error that ends a step, the engine starts again on the device', async () => {
  const { child, ask, warnings, stop } = await started();
  assert.match(child.output.stdout, /^Layers on Slow0: 5 of 5/m);
  assert.is(await ask(), 200);
  fs.writeFileSync(fault, 'an illegal memory access was encountered');
  const failed = ask();
  const told = /the engine ended: .*CUDA error: an illegal memory access .*Xid errors.*; it is started again/;
  await until(() => told.test(child.output.stderr), 'the message');
  fs.rmSync(fault);
  await failed;
  assert.is(await ask(), 200);
  assert.equal(await warnings(), []);
  await stop();
});

test('if the device fails again and again, the engine uses the CPU, and /health says so', async () => {
  const { ask, warnings, stop } = await started();
  fs.writeFileSync(fault, 'unspecified launch failure');
  const statuses: number[] = [];
  while (statuses.at(-1) !== 200 && statuses.length < 20) statuses.push(await ask());
  assert.is(statuses.at(-1), 200, statuses.join());
  assert.match((await warnings())[0] ?? '', /crashed repeatedly on the GPU, so it uses the CPU/);
  await stop();
});

test('a device that is gone since the probe is reported, and required if its backend is', async () => {
  // The result of the probe is cached.
  assert.is((await runCli(['serve', '--list-devices'], environment)).code, 0);
  fs.writeFileSync(missing, 'no CUDA-capable device is detected');
  const { child, ask, warnings, stop } = await started();
  assert.match(child.output.stdout, /^Backend: CPU/m);
  assert.match(child.output.stderr, /The GPU driver offers no device any more, so the model is on the CPU/);
  assert.match((await warnings())[0] ?? '', /offers no device any more/);
  assert.is(await ask(), 200);
  await stop();
  const { code, stderr } = await runCli(serve('--backend', 'vulkan'), environment);
  assert.is.not(code, 0);
  assert.match(stderr, /The GPU driver offers no device any more, and .*backend.* is vulkan/);
});

test.run();
