// The memory that a script gives a runner, and the sizes of the files that it would have to load.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { HubFetcher } from '../../../../ts/cloud/apps/hub-weights.js';
import {
  checkLocalFiles,
  estimateRunner,
  givenFileBytes,
  refuseImpossibleMachine,
  refuseTooLittleMemory,
  runnerModels,
} from '../../../../ts/cloud/apps/runner-memory.js';
import { WeightStore } from '../../../../ts/cloud/apps/weights.js';
import { toManifest } from '../../../../ts/cloud/script/manifest.js';
import { ChasquiError } from '../../../../ts/errors.js';
import { demoModelPath } from '../../../support/demo-model.js';

const test = suite('cloud: memory and files');
const MIB = 2 ** 20;
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-memory-'));
test.after(() => fs.rmSync(folder, { recursive: true, force: true }));

/** A file of so many bytes, which takes none on the disk. */
function file(name: string, bytes: number): string {
  const whole = path.join(folder, name);
  fs.writeFileSync(whole, '');
  fs.truncateSync(whole, bytes);
  return whole;
}

function refusal(action: () => unknown): ChasquiError {
  try {
    action();
  } catch (error) {
    if (error instanceof ChasquiError) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

test('less memory than the files have is refused with both numbers, and what to do', () => {
  const manifest = toManifest({ model: 'demo', machine: { memory: '1Gi' } }, 'chat');
  const { code, param, message } = refusal(() => refuseTooLittleMemory(manifest, 4300.5 * MIB, 'chat'));
  assert.equal([code, param], ['script_invalid', 'machine.memory']);
  assert.match(message, '`machine.memory` of the app chat is 1024 MiB, but the model files have 4301 MiB. ');
  assert.match(message, 'omit it');
  refuseTooLittleMemory(manifest, 1024 * MIB, 'chat');
});

test('nothing is refused that may work: no number, or GPUs with memory of their own', () => {
  refuseTooLittleMemory(toManifest({ model: 'demo' }, 'chat'), 1e15, 'chat');
  refuseTooLittleMemory(toManifest({ model: 'demo', machine: { memory: '1Gi', gpu: 1 } }, 'chat'), 1e15, 'chat');
  refusal(() =>
    refuseTooLittleMemory(toManifest({ model: 'demo', machine: { memory: '1Gi', gpu: 0 } }, 'chat'), 1e15, 'chat'),
  );
});

test('the files of all models count, each once, and all parts of one', () => {
  const [big, draft] = [file('big.gguf', 60 * MIB), file('draft.gguf', 30 * MIB)];
  const part = file('parts-00001-of-00002.gguf', 20 * MIB);
  file('parts-00002-of-00002.gguf', 25 * MIB);
  const manifest = toManifest(
    {
      machine: { memory: '100Mi' },
      models: [
        { model: `file:${big}`, draftModel: `file:${draft}` },
        { model: `file:${big}`, alias: 'again', adapters: { one: `file:${part}` } },
      ],
    },
    'chat',
  );
  assert.is(
    givenFileBytes(manifest, (at) => fs.statSync(at).size),
    110 * MIB,
  );
  assert.match(
    refusal(() => checkLocalFiles(manifest, 'chat')).message,
    'is 100 MiB, but the model files have 135 MiB',
  );
});

test('the estimate of a runner includes all parts of its model', () => {
  const first = file('large-00001-of-00003.gguf', 100 * MIB);
  for (const part of [2, 3]) file(`large-0000${part}-of-00003.gguf`, 100 * MIB);
  const manifest = toManifest({ model: `file:${first}` }, 'chat');
  const bytes = estimateRunner(manifest, [{ model: first, mmproj: null, draftModel: null, adapters: [] }]);
  assert.ok(bytes > 300 * MIB, String(bytes));
});

test('caches that the script requests count, and others fit into what remains', () => {
  const given = (options: object) => toManifest({ model: 'demo', ...options }, 'chat');
  const weights = [{ model: demoModelPath, mmproj: null, draftModel: null, adapters: [] }];
  const estimate = estimateRunner(given({}), weights);
  assert.is(estimateRunner(given({ cacheRamMiB: 500, imageCacheMiB: 20 }), weights), estimate + 520 * MIB);
  const [budgeted, small] = [{ kvBudgetMiB: 700 }, { kvBudgetMiB: 300 }].map((each) =>
    estimateRunner(given(each), weights),
  );
  assert.is((budgeted as number) - (small as number), 400 * MIB);
  const tooMuch = given({ cacheRamMiB: 200_000, machine: { memory: '1Gi', gpu: 1 } });
  assert.match(refusal(() => refuseImpossibleMachine(tooMuch, null, 'chat')).message, 'but must be at least 195.5 GiB');
  const cacheOf = (options: object) => runnerModels(given(options), weights)[0]?.options.cacheRamMiB;
  const memory = `${Math.ceil(estimate / MIB) + 60}Mi`;
  assert.is(cacheOf({ machine: { memory } }), 30);
  assert.is(cacheOf({ machine: { memory: '20Gi' } }), 1024);
  assert.is(cacheOf({ machine: { memory: '20Gi' }, cacheRamMiB: 7 }), 7);
  assert.ok((cacheOf({}) as number) > 500);
});

const nothing: HubFetcher = { fetch: () => Promise.reject(new Error('nobody asks a hub')) };

test('files of this machine are not read before they are known to fit', async () => {
  const big = file('unread.gguf', 60 * MIB);
  const manifest = toManifest({ model: `file:${big}`, machine: { memory: '50Mi' } }, 'chat');
  const steps: string[] = [];
  const watcher = {
    onProgress: (what: string) => void steps.push(what),
    checkSize: (bytes: number) => refuseTooLittleMemory(manifest, bytes, 'chat'),
  };
  const marks = { [big]: { size: 60 * MIB, sha256: '00' } };
  const error = await new WeightStore(folder, demoModelPath, nothing)
    .fetch(manifest, marks, null, watcher)
    .catch((thrown) => thrown);
  assert.is(error.code, 'script_invalid');
  assert.equal(steps, []);
});

test('a model that is being fetched is refused as soon as its size is known, and stays for whoever wants it next', async () => {
  let arrive: (path: string) => void = () => {};
  const hub: HubFetcher = {
    fetch: (_name, _token, tell) => {
      setImmediate(() => tell(0.01, 60 * MIB));
      return new Promise((resolve) => {
        arrive = resolve;
      });
    },
  };
  const store = new WeightStore(folder, demoModelPath, hub);
  const fetch = (memory: string) => {
    const manifest = toManifest({ model: 'hf:ada/big-GGUF:Q4_K_M', machine: { memory } }, 'chat');
    const checkSize = (bytes: number) => refuseTooLittleMemory(manifest, bytes, 'chat');
    return store.fetch(manifest, {}, null, { onProgress: () => {}, checkSize });
  };
  const error = await fetch('50Mi').catch((thrown) => thrown);
  assert.match(error.message, 'is 50 MiB, but the model files have 60 MiB');
  const enough = fetch('70Mi');
  arrive(file('arrived.gguf', 60 * MIB));
  assert.is((await enough)[0]?.model, path.join(folder, 'arrived.gguf'));
});

test.run();
