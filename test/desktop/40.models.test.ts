// Loading, unloading and cancelling, each with options, as the app's pages and commands do it.
import { copyFileSync, existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cancelLoad } from '../support/cancel-load.js';
import { root } from '../support/places.js';
import { desktopFolder, type RunningDesktop, removeFolder, startDesktop } from '../support/start-desktop.js';
import { until } from '../support/until.js';

const models = suite('models of the app');
const MODEL = 'chasqui-demo';
const DEMO = path.join(root, 'prebuilds', 'demo', 'chasqui-demo.gguf');
const folder = desktopFolder();
let app: RunningDesktop;

models.before(async () => {
  app = await startDesktop([], { folder });
});

models.after(async () => {
  await app.stop();
  removeFolder(folder);
});

async function loaded(): Promise<{ id: string; state: string; contextLength: number; config: object }[]> {
  return (await app.done('GET', '/api/v1/state')).models;
}

models('the list says what is known of a file, in the shapes of LM Studio', async () => {
  const { models: list } = await app.done('GET', '/api/v1/models');
  const demo = list.find(({ key }: { key: string }) => key === MODEL);
  assert.is(demo.type, 'llm');
  assert.is(demo.architecture, 'llama');
  assert.is(demo.format, 'gguf');
  assert.is(demo.source, 'builtin');
  assert.is(demo.can_delete, false);
  assert.ok(demo.max_context_length > 0 && demo.size_bytes > 1e6);
  assert.ok(demo.capabilities.vision, 'its projector lies beside it');
  assert.equal(demo.loaded_instances, []);
});

models('a model is loaded with options, and loaded anew with others', async () => {
  const first = await app.done('POST', '/api/v1/models/load', { model: MODEL, context_length: 512 });
  assert.is(first.model_instance_id, MODEL);
  assert.is(first.status, 'loaded');
  assert.is(first.config.contextSize, 512);
  assert.ok(first.load_time_seconds >= 0);
  assert.is((await loaded())[0]?.contextLength, 512);
  const second = await app.done('POST', '/api/v1/models/load', {
    model: MODEL,
    config: { contextSize: 768, parallel: 2 },
  });
  assert.equal([second.config.contextSize, second.config.parallel], [768, 2]);
  assert.is((await loaded()).length, 1);
  assert.is((await loaded())[0]?.contextLength, 768);
  const kept = await app.done('POST', '/api/v1/models/load', { model: MODEL });
  assert.is(kept.config.contextSize, 768, 'without options it stays as it is');
});

models('conversations of a model that is loaded so are kept in the data folder', async () => {
  await app.done('POST', '/api/v1/models/load', { model: MODEL, identifier: 'keeping', config: { cacheDiskMiB: 16 } });
  const messages = [{ role: 'user', content: 'Say it again and again. '.repeat(100) }];
  await app.done('POST', '/app/v1/chat/completions', { model: 'keeping', messages, max_tokens: 2 });
  await app.done('POST', '/api/v1/models/unload', { instance_id: 'keeping' });
  const cache = path.join(folder, 'cache');
  const files = () => (existsSync(cache) ? readdirSync(cache, { recursive: true, encoding: 'utf8' }) : []);
  await until(() => files().some((name) => name.endsWith('.state')), 'the conversation is in the data folder');
});

models('another instance of a model has a name and options of its own', async () => {
  await app.done('POST', '/api/v1/models/load', { model: MODEL, identifier: 'small', config: { contextSize: 256 } });
  assert.equal((await loaded()).map(({ id, contextLength }) => [id, contextLength]).sort(), [
    [MODEL, 768],
    ['small', 256],
  ]);
  const { models: list } = await app.done('GET', '/api/v1/models');
  const demo = list.find(({ key }: { key: string }) => key === MODEL);
  assert.is(demo.loaded_instances.length, 2);
  const messages = [{ role: 'user', content: 'Hi' }];
  const reply = await app.done('POST', '/app/v1/chat/completions', { model: 'small', messages, max_tokens: 2 });
  assert.is(reply.model, 'small');
  await app.done('POST', '/api/v1/models/unload', { instance_id: 'small' });
  assert.equal(
    (await loaded()).map(({ id }) => id),
    [MODEL],
  );
});

models('a load that a request has asked for can be cancelled, too, and the model be loaded again', async () => {
  const messages = [{ role: 'user', content: 'Hi' }];
  const ask = async () => {
    const { status } = await app.api('POST', '/app/v1/chat/completions', { model: MODEL, messages, max_tokens: 2 });
    return status === 503;
  };
  await cancelLoad(app, MODEL, ask, () => app.done('POST', '/api/v1/models/cancel', { model: MODEL }));
  await until(async () => (await loaded()).length === 0, 'nothing is left of it');
  await app.done('POST', '/app/v1/chat/completions', { model: MODEL, messages, max_tokens: 2 });
});

models('an instance cannot have the name of another model', async () => {
  const file = path.join(folder, 'named', 'other.gguf');
  mkdirSync(path.dirname(file));
  copyFileSync(DEMO, file);
  await app.done('PUT', '/api/v1/settings', { modelFolders: [path.dirname(file)] });
  const { status, body } = await app.api('POST', '/api/v1/models/load', { model: MODEL, identifier: 'other' });
  assert.equal([status, body.error.param], [400, 'identifier']);
  await app.done('PUT', '/api/v1/settings', { modelFolders: [] });
});

models('an option that is none, or that takes other values, is refused with its name', async () => {
  for (const [config, says] of [
    [{ contextSizes: 1 }, /`contextSizes` is not an option/],
    [{ contextSize: 'large' }, /`contextSize` is "large"/],
    [{ parallel: 100_000 }, /`parallel` is 100000/],
  ] as const) {
    const { status, body } = await app.api('POST', '/api/v1/models/load', { model: MODEL, config });
    assert.is(status, 400);
    assert.match(body.error.message, says);
  }
  assert.is((await app.api('POST', '/api/v1/models/load', { model: 'none' })).status, 404);
  assert.is((await app.api('POST', '/api/v1/models/unload', { instance_id: 'none' })).status, 404);
  assert.is((await app.api('POST', '/api/v1/models/cancel', { model: 'none' })).status, 404);
});

models('a model that cannot be loaded says why, and can be tried again at once', async () => {
  const config = { mmproj: path.join(folder, 'nothing.gguf') };
  for (let attempt = 0; attempt < 2; attempt += 1) {
    const { status, body } = await app.api('POST', '/api/v1/models/load', {
      model: MODEL,
      identifier: 'broken',
      config,
    });
    assert.is(status, 503);
    assert.is(body.error.code, 'engine_failed');
    assert.match(body.error.message, /Could not load `broken`\. .*nothing\.gguf/);
  }
  const failed = (await loaded()).find(({ id }) => id === 'broken');
  assert.is(failed?.state, 'failed');
  await app.done('POST', '/api/v1/models/unload', { instance_id: 'broken' });
  assert.not.ok((await loaded()).some(({ id }) => id === 'broken'));
});

models('a load that is cancelled ends, and leaves nothing behind', async () => {
  const load = async () => {
    const { status, body } = await app.api('POST', '/api/v1/models/load', { model: MODEL, config: {} });
    const isCancelled = status === 400 && body.error.code === 'request_cancelled';
    if (isCancelled) assert.equal(await loaded(), []);
    else assert.is(status, 200, JSON.stringify(body));
    return isCancelled;
  };
  await cancelLoad(app, MODEL, load, () => app.done('POST', '/api/v1/models/cancel', { model: MODEL }));
  await app.done('POST', '/api/v1/models/load', { model: MODEL, config: {} });
});

models('settings of a model hold for every load that does not say otherwise', async () => {
  await app.done('PUT', '/api/v1/settings', { modelDefaults: { [MODEL]: { contextSize: 1024 } } });
  await app.done('POST', '/api/v1/models/unload', { instance_id: MODEL });
  const messages = [{ role: 'user', content: 'Hi' }];
  await app.done('POST', '/app/v1/chat/completions', { model: MODEL, messages, max_tokens: 2 });
  assert.is((await loaded())[0]?.contextLength, 1024);
  const refused = await app.api('PUT', '/api/v1/settings', { modelDefaults: { [MODEL]: { contextSize: 0 } } });
  assert.is(refused.status, 400);
  await app.done('PUT', '/api/v1/settings', { modelDefaults: {} });
});

models('how long a model stays is set for each, and holds however it is loaded', async () => {
  const stays = async () => {
    const [model] = (await app.done('GET', '/api/v1/state')).models;
    return [model?.pinned, model?.expiresAt === null];
  };
  const chat = { model: MODEL, messages: [{ role: 'user', content: 'Hi' }], max_tokens: 2 };
  for (const [keep, expected] of [
    [3600, [false, false]],
    ['pinned', [true, true]],
    [0, [false, true]],
  ] as const) {
    await app.done('POST', '/api/v1/models/unload', { instance_id: MODEL });
    await app.done('PUT', '/api/v1/settings', { ttl: 600, modelKeeps: { [MODEL]: keep } });
    await app.done('POST', '/app/v1/chat/completions', chat);
    await until(async () => String(await stays()) === String(expected), `${keep}: ${expected}`);
  }
  for (const keep of ['always', -1, 1.5]) {
    const refused = await app.api('PUT', '/api/v1/settings', { modelKeeps: { [MODEL]: keep } });
    assert.is(refused.status, 400, String(keep));
  }
  await app.done('PUT', '/api/v1/settings', { ttl: 0, modelKeeps: {} });
  await app.done('POST', '/api/v1/models/unload', { instance_id: MODEL });
});

models('a file is taken in, found in a folder, loaded, and deleted though it is loaded', async () => {
  const file = path.join(folder, 'elsewhere', 'tiny.gguf');
  mkdirSync(path.dirname(file));
  copyFileSync(DEMO, file);
  const events = await app.watch();
  const imported = await app.done('POST', '/api/v1/models/import', { path: file, how: 'copy' });
  assert.is(imported.id, 'tiny');
  await until(() => events.seen.some(({ name }) => name === 'library'), 'an event of the library');
  events.close();
  await app.done('POST', '/api/v1/models/load', { model: 'tiny' });
  const { freed_bytes: freed } = await app.done('DELETE', '/api/v1/models', { model: 'tiny' });
  assert.ok(freed > 1e6);
  assert.not.ok(existsSync(imported.path));
  assert.ok(existsSync(file), 'the file that was copied stays');
  assert.not.ok((await loaded()).some(({ id }) => id === 'tiny'));

  await app.done('PUT', '/api/v1/settings', { modelFolders: [path.dirname(file)] });
  const { models: list } = await app.done('GET', '/api/v1/models');
  assert.ok(list.some(({ key }: { key: string }) => key === 'tiny'));
  const builtin = await app.api('DELETE', '/api/v1/models', { model: MODEL });
  assert.is(builtin.body.error.code, 'not_deletable');
});

models('a model whose file was deleted by another program cannot be loaded', async () => {
  const file = path.join(folder, 'gone', 'gone.gguf');
  mkdirSync(path.dirname(file));
  copyFileSync(DEMO, file);
  await app.done('PUT', '/api/v1/settings', { modelFolders: [path.dirname(file)] });
  const keys = async () => (await app.done('GET', '/api/v1/models')).models.map(({ key }: { key: string }) => key);
  await until(async () => (await keys()).includes('gone'), 'the model in the list');
  rmSync(file);
  const reply = await app.api('POST', '/api/v1/models/load', { model: 'gone' });
  assert.equal([reply.status, reply.body.error.code], [404, 'model_not_found']);
  assert.not.ok((await keys()).includes('gone'));
});

models('a model that was named by its file is not deleted, nor is another of its name that it hides', async () => {
  const [hidden, named] = ['found', 'named-twin'].map((name) => path.join(folder, name, 'twin.gguf')) as [
    string,
    string,
  ];
  for (const file of [hidden, named]) {
    mkdirSync(path.dirname(file), { recursive: true });
    copyFileSync(DEMO, file);
  }
  await app.done('PUT', '/api/v1/settings', { modelFolders: [path.dirname(hidden)] });
  await app.done('POST', '/api/v1/server/start', { model: named, port: 0 });
  const { models: list } = await app.done('GET', '/api/v1/models');
  const twins = list.filter(({ key }: { key: string }) => key === 'twin');
  assert.equal(
    twins.map((each: { path: string; can_delete: boolean }) => [each.path, each.can_delete]),
    [[named, false]],
  );
  const refused = await app.api('DELETE', '/api/v1/models', { model: 'twin' });
  assert.equal([refused.status, refused.body.error?.code, refused.body.error?.param], [409, 'not_deletable', 'model']);
  assert.match(refused.body.error.message, `${named} yourself`);
  const { port } = (await app.done('GET', '/api/v1/state')).server;
  const ofClient = await fetch(`http://127.0.0.1:${port}/api/delete`, {
    method: 'DELETE',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'twin' }),
  });
  assert.is(ofClient.status, 409);
  assert.ok(existsSync(hidden) && existsSync(named));
  await app.done('POST', '/api/v1/server/stop');
  await app.done('PUT', '/api/v1/settings', { modelFolders: [] });
});

models('memory is planned for one conversation, and a load gets the slots that fit', async () => {
  const kvNow = async () => (await app.done('GET', `/api/v1/models/fit?model=${MODEL}&context=512`)).kv;
  const kv = await kvNow();
  const slotsWith = async (contextSize: number) => {
    await app.done('POST', '/api/v1/models/load', { model: MODEL, config: { contextSize } });
    return (await app.done('GET', `/app/props?model=${MODEL}`)).total_slots;
  };
  assert.is(await slotsWith(512), 4);
  const { machine } = await app.done('GET', '/api/v1/state');
  assert.is(await slotsWith(Math.floor((machine.freeBytes * 0.4) / (kv / 512))), 1);
  await app.done('PUT', '/api/v1/settings', { modelDefaults: { [MODEL]: { parallel: 4 } } });
  assert.is(await kvNow(), 4 * kv);
  await app.done('PUT', '/api/v1/settings', { modelDefaults: {} });
});

models('whether a model fits is told for a model here, with what it takes', async () => {
  const fit = await app.done('GET', `/api/v1/models/fit?model=${MODEL}&context=512`);
  assert.is(fit.badge, 'cpu');
  assert.is(fit.context, 512);
  assert.ok(fit.weights > 1e6 && fit.kv > 0 && fit.compute > 0);
  assert.is(fit.needBytes, fit.weights + fit.kv + fit.compute);
  const refused = await app.api('GET', `/api/v1/models/fit?model=${MODEL}&context=none`);
  assert.equal([refused.status, refused.body.error.param], [400, 'context']);
});

models.run();
