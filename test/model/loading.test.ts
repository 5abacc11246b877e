import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { ChasquiError, type LoadOptions, loadModel } from '../../ts/index.js';
import { demoModelPath } from '../support/demo-model.js';

const folder = mkdtempSync(join(tmpdir(), 'chasqui-open-'));
test.after(() => rmSync(folder, { recursive: true }));

async function failure(path: string, options?: LoadOptions): Promise<ChasquiError> {
  try {
    await (await loadModel(path, options)).close();
  } catch (error) {
    assert.instance(error, ChasquiError);
    return error as ChasquiError;
  }
  throw new Error(`${path} loaded`);
}

test('a model says what it is', async () => {
  const model = await loadModel(demoModelPath, { contextSize: 512, parallel: 2, threads: 1 });
  assert.is(model.model.id, 'chasqui-demo');
  assert.is(model.model.path, demoModelPath);
  assert.is(model.model.contextLength, 512);
  assert.is(model.model.parallel, 2);
  assert.ok(model.model.hasChatTemplate);
  const [end] = await model.tokenize('<|im_end|>', { parseSpecial: true });
  assert.ok(model.model.endTokens.includes(end as number));
  assert.ok(model.model.endTokens.length < 10, 'few tokens end a completion');
  assert.ok(model.model.sizeBytes > 100_000 && model.model.sizeBytes < 8_000_000);
  assert.ok(model.model.parameterCount > 100_000);
  await model.close();
});

test('an alias replaces the name', async () => {
  const model = await loadModel(demoModelPath, { alias: 'mine', threads: 1 });
  assert.is(model.model.id, 'mine');
  await model.close();
});

test('loading reports its progress up to 1', async () => {
  const seen: number[] = [];
  const model = await loadModel(demoModelPath, { threads: 1, onProgress: (fraction) => seen.push(fraction) });
  await model.close();
  assert.is(seen.at(-1), 1);
});

test('a draft model and the projector are parts of the same progress', async () => {
  const seen: number[] = [];
  const onProgress = (fraction: number) => seen.push(fraction);
  const model = await loadModel(demoModelPath, { threads: 1, draftModel: demoModelPath, onProgress });
  await model.close();
  // The model itself is less than half of the bytes.
  assert.ok(seen.length > 1 && (seen[0] as number) < 0.5, `${seen}`);
  assert.equal(
    seen,
    [...seen].sort((one, other) => one - other),
  );
  assert.is(seen.at(-1), 1);
});

test('a missing file is model_file_missing', async () => {
  const error = await failure(join(folder, 'nowhere.gguf'));
  assert.is(error.code, 'model_file_missing');
  assert.match(error.message, 'nowhere.gguf');
});

test('a file that is no GGUF, an empty one and a folder are model_file_invalid', async () => {
  const text = join(folder, 'text.gguf');
  writeFileSync(text, 'not a model');
  const empty = join(folder, 'empty.gguf');
  writeFileSync(empty, '');
  for (const path of [text, empty, folder]) assert.is((await failure(path)).code, 'model_file_invalid');
});

test('a GGUF cut short anywhere is refused with a reason', async () => {
  const whole = readFileSync(demoModelPath);
  for (const share of [0.001, 0.01, 0.5, 0.999]) {
    const path = join(folder, `cut-${share}.gguf`);
    writeFileSync(path, whole.subarray(0, Math.floor(whole.length * share)));
    const error = await failure(path);
    assert.is(error.code, 'model_file_invalid', `${share}: ${error.code} ${error.message}`);
    assert.match(error.message, 'incomplete or damaged');
  }
});

test('impossible options are invalid_options', async () => {
  for (const options of [{ parallel: 0 }, { parallel: 1000 }, { contextSize: 3 }]) {
    assert.is((await failure(demoModelPath, options)).code, 'invalid_options');
  }
});

test('an aborted load rejects with the reason of the signal', async () => {
  const early = AbortSignal.abort(new Error('never mind'));
  await loadModel(demoModelPath, { signal: early }).then(
    () => assert.unreachable(),
    (error) => assert.is(error.message, 'never mind'),
  );
  const controller = new AbortController();
  const loading = loadModel(demoModelPath, { signal: controller.signal, onProgress: () => controller.abort() });
  await loading.then(
    (model) => model.close(),
    (error) => assert.is(error.name, 'AbortError'),
  );
});

test('a model file may be replaced after loading, and two models live side by side', async () => {
  const copy = join(folder, 'copy.gguf');
  copyFileSync(demoModelPath, copy);
  const [one, two] = await Promise.all([
    loadModel(demoModelPath, { threads: 1, contextSize: 256 }),
    loadModel(copy, { threads: 1, contextSize: 256 }),
  ]);
  for (const model of [one, two]) {
    for await (const token of model.generate({ prompt: 'a', maxTokens: 1 }))
      assert.is(token.finish?.completionTokens, 1);
  }
  await Promise.all([one.close(), two.close()]);
});

test.run();
