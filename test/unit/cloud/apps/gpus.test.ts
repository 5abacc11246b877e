// GPUs that runners have for themselves, with processes that print what they may use.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { AppStore } from '../../../../ts/cloud/apps/app-store.js';
import type { LiveApp } from '../../../../ts/cloud/apps/live-app.js';
import { logFileOf } from '../../../../ts/cloud/apps/logs.js';
import { readQuotas } from '../../../../ts/cloud/apps/quotas.js';
import { Supervisor } from '../../../../ts/cloud/apps/supervisor.js';
import { WeightStore } from '../../../../ts/cloud/apps/weights.js';
import { assignGpus, findGpus } from '../../../../ts/cloud/runners/gpus.js';
import { Podman } from '../../../../ts/cloud/runners/podman.js';
import { openDatabase } from '../../../../ts/cloud/store/database.js';
import { demoModelPath } from '../../../support/demo-model.js';
import { until } from '../../../support/until.js';

const test = suite('cloud: GPUs');

const PRINTS = "console.log('visible: ' + process.env.CUDA_VISIBLE_DEVICES + '.'); setInterval(() => {}, 1000);";

test('each runner sees its own GPUs, whatever its secrets say, and one more waits', async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-gpus-'));
  const script = path.join(folder, 'runner.cjs');
  fs.writeFileSync(script, PRINTS);
  const database = openDatabase(folder);
  const store = new AppStore(database);
  const nothing = { fetch: () => Promise.reject(new Error('nobody asks a hub')) };
  const supervisor = new Supervisor({
    store,
    weights: new WeightStore(folder, demoModelPath, nothing),
    secrets: () => ({ CUDA_VISIBLE_DEVICES: '4,7' }),
    freeDisk: () => 0,
    command: { command: [process.execPath, script], environment: process.env },
    gpus: { ids: ['4', '7'], variable: 'CUDA_VISIBLE_DEVICES' },
    isolation: 'process',
    podman: new Podman('none'),
    runFolder: path.join(folder, 'run'),
    logFolder: folder,
    responsesFolder: folder,
    budgetBytes: 2 ** 40,
    quotas: readQuotas([]),
    endsWithParent: true,
  });
  supervisor.start();
  const deploy = (name: string, gpu: number | undefined): LiveApp => {
    const app = supervisor.findOrAdd('me', name);
    const options = JSON.stringify({ model: 'demo', auth: 'public', context: 256, machine: { gpu } });
    const row = { options, files: '{}', digest: name, message: null, author: 'me', strategy: 'rolling' } as const;
    supervisor.rollouts.begin(app, store.addRevision(app.row, { ...row, is_local: 1 }), 'rolling', 'a test');
    return app;
  };
  const printed = (app: LiveApp): string | undefined => {
    const [runner] = app.runnersById.keys();
    if (runner === undefined) return undefined;
    return /visible: (.*)\./.exec(fs.readFileSync(logFileOf(folder, app.id, runner), 'utf8'))?.[1];
  };
  try {
    const seen: (string | undefined)[] = [];
    for (const [name, gpu] of [['shared'], ['first', 1], ['rest'], ['second', 1], ['none', 0], ['late']] as const) {
      const app = deploy(name, gpu);
      await until(() => printed(app) !== undefined, `${name} runs`);
      seen.push(printed(app));
    }
    assert.equal(seen, ['4,7', '4', '7', '7', '', '']);
    const third = deploy('third', 1);
    await until(() => third.waitsFor === 'out of GPUs: needs 1, free 0 of 2', 'it waits');
    const [first] = store.apps().filter(({ name }) => name === 'first');
    assert.is(store.runners(first?.id ?? '')[0]?.gpus, '4');
  } finally {
    await supervisor.stop({ keepRunners: false, graceMs: 0 });
    database.close();
    fs.rmSync(folder, { recursive: true });
  }
});

test('only GPUs that the environment leaves visible are assigned', () => {
  if (process.platform !== 'linux') return;
  const machine = (files: Record<string, string[]>, environment = {}) =>
    findGpus(environment, (folder) => files[folder] ?? []);
  const nvidia = { '/dev': ['nvidia0', 'nvidia1', 'nvidiactl', 'null'], '/dev/dri': ['renderD128'] };
  assert.equal(machine(nvidia), { ids: ['0', '1'], variable: 'CUDA_VISIBLE_DEVICES' });
  for (const [list, ids] of [
    ['1', ['1']],
    ['GPU-8f, 0', ['GPU-8f', '0']],
    ['1,-1,0', ['1']],
    ['', []],
  ] as const) {
    assert.equal(machine(nvidia, { CUDA_VISIBLE_DEVICES: list })?.ids, ids, list);
  }
  const other = { '/dev/dri': ['card0', 'renderD128'] };
  assert.equal(machine(other, { CUDA_VISIBLE_DEVICES: '' }), { ids: ['0'], variable: 'GGML_VK_VISIBLE_DEVICES' });
  assert.equal(machine({}, { CUDA_VISIBLE_DEVICES: '0,1' })?.ids, []);
  assert.is(assignGpus({ ids: ['0', '1'], variable: '' }, 2, ['1']), null);
});

test.run();
