import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Engine } from '../../../ts/engine/engine.js';
import type { LoadHooks } from '../../../ts/engine/load-options.js';
import { ChasquiError } from '../../../ts/errors.js';
import { SingleModel } from '../../../ts/models/single-model.js';
import { FakeEngine } from '../../support/fake-engine.js';

const test = suite('unit: a pool of one model');

function slowSource() {
  let hooks: LoadHooks = {};
  let loaded: (engine: Engine) => void = () => undefined;
  let failed: (error: Error) => void = () => undefined;
  const source = {
    id: 'slow',
    sizeBytes: 1000,
    opened: 0,
    open: (given: LoadHooks) => {
      source.opened += 1;
      hooks = given;
      return new Promise<Engine>((resolve, reject) => {
        [loaded, failed] = [resolve, reject];
        given.signal?.addEventListener('abort', () => reject(given.signal?.reason));
      });
    },
    progress: (fraction: number) => hooks.onProgress?.(fraction),
    load: (engine: Engine) => loaded(engine),
    fail: (error: Error) => failed(error),
  };
  return source;
}

async function refusal(pool: SingleModel, name: string | undefined): Promise<{ code: string; message: string }> {
  try {
    await pool.acquire(name, {});
  } catch (error) {
    return error as ChasquiError;
  }
  return { code: 'none', message: '' };
}

test('while it loads it says how far it is, and lends nothing', async () => {
  const source = slowSource();
  const pool = new SingleModel(source);
  assert.equal([pool.list()[0]?.status, pool.list()[0]?.progress], ['loading', 0]);
  const loading = pool.start();
  source.progress(0.407);
  const [entry] = pool.list();
  assert.equal([entry?.id, entry?.status, entry?.progress, entry?.sizeBytes], ['slow', 'loading', 0.407, 1000]);
  const { code, message } = await refusal(pool, 'slow');
  assert.is(code, 'model_loading');
  assert.match(message, '`slow` is being loaded, 40 % so far');
  const engine = new FakeEngine({ model: { id: 'slow' } });
  source.load(engine);
  assert.is(await loading, engine);
  assert.equal([pool.list()[0]?.status, pool.list()[0]?.progress], ['loaded', null]);
  assert.is((await pool.acquire('slow', {})).engine, engine);
});

test('it is loaded once, however often that is asked for', async () => {
  const source = slowSource();
  const pool = new SingleModel(source);
  const both = [pool.start(), pool.start()];
  source.load(new FakeEngine());
  await Promise.all(both);
  assert.is(source.opened, 1);
});

test('another name is refused at any time, unless any will do', async () => {
  const source = slowSource();
  for (const pool of [new SingleModel(source), SingleModel.of(new FakeEngine())]) {
    const { code, message } = await refusal(pool, 'other');
    assert.is(code, 'model_not_found');
    assert.match(message, /`other` is not served here; this server has `(slow|fake)`\./);
  }
  const pool = SingleModel.of(new FakeEngine(), { anyName: true });
  for (const name of ['other', 'fake', undefined]) assert.is((await refusal(pool, name)).code, 'none');
  assert.is((await refusal(SingleModel.of(new FakeEngine()), undefined)).code, 'none');
});

test('one that cannot be loaded says so, without what only the log may say', async () => {
  const source = slowSource();
  const pool = new SingleModel(source);
  const loading = pool.start().catch((error) => error);
  const failure = new ChasquiError('model_file_invalid', '/home/me/secret.gguf is no model.');
  source.fail(failure);
  assert.is(await loading, failure);
  const [entry] = pool.list();
  assert.is(entry?.status, 'failed');
  assert.match(String(entry?.reason), /not a complete GGUF model/);
  const { code, message } = await refusal(pool, 'slow');
  assert.is(code, 'engine_failed');
  assert.not.match(JSON.stringify([entry, message]), /secret/);
  await pool.close();
});

test('closing it ends the load, or closes its engine', async () => {
  const pool = new SingleModel(slowSource());
  const loading = pool.start().catch((error) => error);
  await pool.close();
  assert.is((await loading).code, 'engine_closed');
  const engine = new FakeEngine();
  await SingleModel.of(engine).close();
  assert.ok(engine.closed);
  const never = new SingleModel(slowSource());
  await never.close();
  assert.is((await never.start().catch((error) => error)).code, 'engine_closed');
});

test('whose request is over gets no lease', async () => {
  const reason = new Error('gone');
  const thrown = await SingleModel.of(new FakeEngine())
    .acquire('fake', { signal: AbortSignal.abort(reason) })
    .catch((error) => error);
  assert.is(thrown, reason);
});

test.run();
