// Module selection: the best module that passes a probe, regardless of defects of better ones.
import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type ChoiceOptions, chooseModules, type ModuleChoice } from '../../ts/native/choose-modules.js';
import { loadAddon } from '../../ts/native/load-addon.js';
import { ProbeCache } from '../../ts/native/probe-cache.js';
import { runProbe } from '../../ts/native/run-probe.js';
import { writeBadModule } from './bad-modules.js';

const test = suite('packages: modules');
const { addon, path: addonPath, directory } = loadAddon();
let folder = '';

test.before.each(() => {
  folder = mkdtempSync(join(tmpdir(), 'chasqui-modules-'));
  for (const name of readdirSync(directory).filter((each) => each.endsWith('.so'))) {
    cpSync(join(directory, name), join(folder, name));
  }
});

test.after.each(() => rmSync(folder, { recursive: true, force: true }));

function choose(options: Partial<ChoiceOptions> = {}): Promise<ModuleChoice> {
  const cache = new ProbeCache(join(folder, 'probes.json'));
  return chooseModules({ directories: [folder], addonPath, cache, score: addon.scoreModule, ...options });
}

function chosen({ reports }: ModuleChoice): string[] {
  return reports.filter(({ verdict }) => verdict === 'chosen').map(({ name }) => name);
}

test('without a bad one, the best is chosen and the others are left alone', async () => {
  const choice = await choose();
  assert.is(chosen(choice).length, 1);
  const [best, ...others] = choice.reports;
  assert.is(best?.verdict, 'chosen');
  assert.is(best?.devices[0]?.type, 'cpu');
  assert.ok(others.every(({ verdict }) => verdict === 'untried' || verdict === 'unfit'));
});

const reasons = {
  crash: /SIGSEGV/,
  'crash-in-score': /SIGABRT/,
  wrong: /wrong product of f32 weights/,
  'other-version': /libggml-base-chasqui-0\.0\.1\.so/,
} as const;

for (const [fault, reason] of Object.entries(reasons)) {
  test(`a module with the fault "${fault}" is passed over, and the reason kept`, async () => {
    const expected = chosen(await choose());
    writeBadModule(folder, fault as keyof typeof reasons);
    const choice = await choose();
    assert.equal(chosen(choice), expected);
    const bad = choice.reports.find(({ name }) => name === `cpu-${fault.replaceAll('-', '_')}`);
    assert.is(bad?.verdict, 'failed');
    assert.match(bad?.reason ?? '', reason);
  });
}

test('a module that hangs is given up', async () => {
  const file = writeBadModule(folder, 'hang');
  const [result] = await runProbe(addonPath, 'try', [file], 300);
  assert.match(result?.reason ?? '', /no sign of life for 0\.3 s/);
});

test('the result of a probe is cached until the file changes', async () => {
  const cache = new ProbeCache(join(folder, 'probes.json'));
  const [first] = (await choose()).reports;
  const key = cache.key('try', first?.path ?? '', addonPath);
  const planted = new ProbeCache(join(folder, 'probes.json'));
  assert.ok(planted.get(key), 'the first choice was not written down');
  planted.set(key, { reason: 'planted' });
  planted.save();
  assert.is((await choose()).reports[0]?.reason, 'planted');
  assert.is((await choose({ fresh: true })).reports[0]?.reason, undefined);

  planted.set(key, { reason: 'planted' });
  planted.save();
  cpSync(join(folder, 'libggml-cpu-x64.so'), first?.path ?? '');
  assert.is((await choose()).reports[0]?.reason, undefined);
});

test('a backend without a module is not made up', async () => {
  const { reports } = await choose({ backend: 'vulkan' });
  assert.ok(reports.every(({ backend }) => backend === 'cpu'));
});

test('where no process can be started, the score alone decides', async () => {
  const expected = chosen(await choose());
  const choice = await choose({ addonPath: join(folder, 'libggml-cpu-x64.so'), fresh: true });
  assert.match(choice.notPossible ?? '', /crashed/);
  assert.equal(chosen(choice), expected);
});

test.run();
