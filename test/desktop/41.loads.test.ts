// Loads of one model that are asked for while another of it is under way.
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Instances } from '../../ts/desktop/instances.js';
import { describeFile } from '../../ts/desktop/local-model.js';
import { MachineWatch } from '../../ts/desktop/machine.js';
import type { ChasquiError } from '../../ts/errors.js';
import { Metrics } from '../../ts/metrics/metrics.js';
import { demoModelPath } from '../support/demo-model.js';
import { desktopFolder, removeFolder } from '../support/start-desktop.js';

const loads = suite('loads of one model at the same time');
const MODEL = 'chasqui-demo';
const folder = desktopFolder();
let instances: Instances;

loads.before(async () => {
  instances = new Instances({
    engine: {},
    cacheFolder: path.join(folder, 'cache'),
    metrics: new Metrics(),
    machine: new MachineWatch(),
    selected: () => null,
    defaultsOf: () => ({}),
    keepOf: () => ({ ttlMs: 0, pin: false }),
    onFailure: () => {},
  });
  instances.know([await describeFile(demoModelPath)]);
  await instances.pool.start([]);
});

loads.before.each(() => instances.unloadAll(MODEL));

loads.after(async () => {
  await instances.pool.close();
  removeFolder(folder);
});

async function untilLoading(): Promise<void> {
  while (instances.pool.list()[0]?.status !== 'loading') await instances.pool.changed();
}

/** Why each was refused, or the context that it got. */
async function outcomes(asked: readonly ReturnType<Instances['load']>[]): Promise<(string | number | undefined)[]> {
  const settled = await Promise.allSettled(asked);
  return settled.map((each) =>
    each.status === 'fulfilled' ? each.value.engine?.model.contextLength : (each.reason as ChasquiError).code,
  );
}

loads('each has the options that it was asked for with, one after the other', async () => {
  const asked = [
    instances.load(MODEL, { contextSize: 512 }),
    instances.load(MODEL, { contextSize: 768 }),
    instances.load(MODEL, { contextSize: 768 }),
    instances.load(MODEL),
  ];
  assert.equal(await outcomes(asked), [512, 768, 768, 768]);
  assert.is(instances.configOf(MODEL).contextSize, 768);
});

loads('one with the same options, or with none, is the one that is under way', async () => {
  const first = instances.load(MODEL, { contextSize: 512 });
  assert.is(instances.load(MODEL, { contextSize: 512 }), first);
  assert.is(instances.load(MODEL), first);
  assert.equal(await outcomes([first]), [512]);
});

loads('one that waits goes on when the one before it fails', async () => {
  const asked = [
    instances.load(MODEL, { mmproj: path.join(folder, 'nothing.gguf') }),
    instances.load(MODEL, { contextSize: 512 }),
  ];
  assert.equal(await outcomes(asked), ['engine_failed', 512]);
});

loads('whoever unloads it meanwhile, and whoever does so twice, waits for an end that comes', async () => {
  const asked = [instances.load(MODEL, { contextSize: 512 })];
  await untilLoading();
  asked.push(instances.load(MODEL, { contextSize: 768 }));
  const unloaded = [instances.unload(MODEL), instances.unload(MODEL)];
  assert.is((await outcomes(asked))[1], 768);
  await Promise.all(unloaded);
  assert.is(instances.configOf(MODEL).contextSize, 768);
  await Promise.all([instances.unload(MODEL), instances.unload(MODEL)]);
  assert.equal(instances.list(), []);
});

loads('a cancel ends those that wait, too, and leaves nothing behind', async () => {
  const asked = [instances.load(MODEL, { contextSize: 512 })];
  await untilLoading();
  asked.push(instances.load(MODEL, { contextSize: 768 }));
  instances.cancel(MODEL);
  assert.equal(await outcomes(asked), ['request_cancelled', 'request_cancelled']);
  assert.equal(instances.list(), []);
});

loads.run();
