// From the hub to a model that answers: search, advice, download through a kill of the app, load, delete.
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Store } from '../../ts/desktop/store/database.js';
import { SettingsStore } from '../../ts/desktop/store/settings.js';
import { type FakeHub, fakeHub } from '../support/fake-hub.js';
import { root } from '../support/places.js';
import { desktopFolder, type RunningDesktop, removeFolder, startDesktop } from '../support/start-desktop.js';
import { until } from '../support/until.js';

const hub = suite('the hub in the app');
const MODEL = readFileSync(path.join(root, 'prebuilds', 'demo', 'chasqui-demo.gguf'));
const REPO = 'ada/demo-GGUF';
const folder = desktopFolder();
let fake: FakeHub;
let app: RunningDesktop;

hub.before(async () => {
  const gguf = { total: 1_000_000, architecture: 'llama', context_length: 2048 };
  fake = await fakeHub({
    [REPO]: { files: { 'demo-Q4_K_M.gguf': MODEL, 'demo-Q8_0.gguf': MODEL, 'README.md': '# Demo' }, gguf },
    'ada/huge-GGUF': { files: { 'huge-Q4_K_M.gguf': MODEL }, gguf: { ...gguf, total: 900e9 } },
    'ada/odd-GGUF': { files: { 'odd-Q4_K_M.gguf': MODEL }, gguf: { ...gguf, architecture: 'quite-unknown' } },
    'ada/closed-GGUF': { files: { 'closed-Q4_K_M.gguf': MODEL }, gguf, gated: 'manual' },
  });
  app = await startDesktop([], { folder, variables: { HF_ENDPOINT: fake.url } });
});

hub.after(async () => {
  await app.stop();
  await fake.close();
  removeFolder(folder);
});

async function job(id: string): Promise<{ state: string; downloadedBytes: number; path: string | null }> {
  const { jobs } = await app.done('GET', '/api/v1/models/download');
  return jobs.find((each: { id: string }) => each.id === id);
}

hub('a search says of each model whether it fits here', async () => {
  const { models } = await app.done('GET', '/api/v1/hub/search?text=demo');
  assert.equal(
    models.map(({ repo }: { repo: string }) => repo),
    [REPO],
  );
  assert.is(models[0].fit.badge, 'cpu');
  assert.equal(models[0].downloaded, []);
  const all = await app.done('GET', '/api/v1/hub/search');
  const huge = all.models.find(({ repo }: { repo: string }) => repo === 'ada/huge-GGUF');
  assert.is(huge.fit.badge, 'too-large');
  const fitting = await app.done('GET', '/api/v1/hub/search?fit=fits');
  assert.is(fitting.models.length, all.models.length - 2);
});

hub('a page recommends one quantisation, says what fits and what this llama.cpp cannot load', async () => {
  const model = await app.done('GET', `/api/v1/hub/model?repo=${REPO}`);
  assert.equal(
    model.quantisations.map((each: { label: string; recommended: string | null }) => [each.label, each.recommended]),
    [
      ['Q4_K_M', 'recommended'],
      ['Q8_0', null],
    ],
  );
  assert.is(model.quantisations[0].fit.badge, 'cpu');
  assert.is(model.quantisations[0].downloaded, false);
  assert.is(model.readme, '# Demo');
  assert.is(model.isSupported, true);
  const odd = await app.done('GET', '/api/v1/hub/model?repo=ada/odd-GGUF');
  assert.equal([odd.isSupported, odd.quantisations[0].recommended], [false, null]);
  assert.is((await app.done('GET', '/api/v1/hub/search?text=odd')).models[0].fit, null);
  const fit = await app.done('GET', `/api/v1/models/fit?model=${REPO}:Q4_K_M&context=512`);
  assert.is(fit.badge, 'cpu');
  assert.ok(fit.kv > 0);
});

hub('what is against a download is said before a byte comes', async () => {
  for (const [model, status, code] of [
    ['ada/odd-GGUF', 400, 'architecture_unknown'],
    ['ada/closed-GGUF', 403, 'hub_model_gated'],
    ['ada/none-GGUF', 404, 'hub_model_not_found'],
    [`${REPO}:Q2_K`, 404, 'quantisation_not_found'],
    ['no name', 400, 'invalid_model_name'],
  ] as const) {
    const reply = await app.api('POST', '/api/v1/models/download', { model });
    assert.equal([reply.status, reply.body.error.code], [status, code], model);
  }
  assert.equal(await app.done('GET', '/api/v1/models/download'), { jobs: [] });
});

hub('a download outlives a kill of the app, and can be paused and gone on with', async () => {
  fake.misbehaviour = { holds: { path: '.gguf', fromByte: 800_000 } };
  const started = await app.done('POST', '/api/v1/models/download', { model: REPO, quantization: 'Q4_K_M' });
  const id = started.job_id;
  assert.is(started.status, 'downloading');
  assert.is(started.total_size_bytes, MODEL.length);
  await until(async () => (await job(id)).downloadedBytes > 300_000, 'some bytes are there', 30_000);
  const paused = await app.done('POST', `/api/v1/models/download/${id}/pause`);
  assert.is(paused.state, 'paused');
  assert.is((await app.done('GET', `/api/v1/models/download/status/${id}`)).status, 'paused');
  await app.done('POST', `/api/v1/models/download/${id}/resume`);
  await until(async () => (await job(id)).state === 'downloading', 'it goes on');
  await app.kill();

  fake.misbehaviour = {};
  const before = fake.sentBytes();
  app = await startDesktop([], { folder, variables: { HF_ENDPOINT: fake.url } });
  await until(async () => (await job(id)).state === 'completed', 'it is complete', 30_000);
  assert.ok(fake.sentBytes() - before < MODEL.length, 'what was there was not downloaded again');
  const again = await app.done('POST', '/api/v1/models/download', { model: REPO });
  assert.is(again.status, 'already_downloaded');
});

hub('what was downloaded is in the list, loaded by its name, and deleted', async () => {
  const key = `${REPO}:Q4_K_M`;
  await until(async () => {
    const { models } = await app.done('GET', '/api/v1/models');
    return models.some((each: { key: string }) => each.key === key);
  }, 'it is in the list');
  const { models } = await app.done('GET', '/api/v1/hub/search?text=demo');
  assert.equal(models[0].downloaded, ['Q4_K_M']);
  await app.done('POST', '/api/v1/models/load', { model: key });
  const messages = [{ role: 'user', content: 'Hi' }];
  const reply = await app.done('POST', '/app/v1/chat/completions', {
    model: key,
    messages,
    max_tokens: 40,
    ignore_eos: true,
  });
  assert.is(reply.model, key);
  await until(async () => {
    const { quantisations } = await app.done('GET', `/api/v1/hub/model?repo=${REPO}`);
    return quantisations[0].tokensPerSecond > 0;
  }, 'how fast it was is known for others');
  assert.equal(await app.done('GET', `/api/v1/models/update?model=${key}`), {
    state: 'same',
    commit: fake.repos.get(REPO)?.commit,
    bytes: 0,
  });
  const { path: file } = await pathOf(key);
  assert.ok((await app.done('DELETE', '/api/v1/models', { model: key })).freed_bytes >= MODEL.length);
  assert.not.ok(existsSync(file));
  assert.not.ok((await app.done('GET', '/api/v1/models')).models.some((each: { key: string }) => each.key === key));
});

async function pathOf(key: string): Promise<{ path: string }> {
  const { models } = await app.done('GET', '/api/v1/models');
  return models.find((each: { key: string }) => each.key === key);
}

hub('another hub and a token are taken from the settings at once', async () => {
  const other = await fakeHub({
    'bob/secret-GGUF': {
      files: { 'secret-Q4_K_M.gguf': MODEL },
      gguf: { total: 1e6, architecture: 'llama' },
      private: true,
      tokens: ['hf_right'],
    },
  });
  try {
    await app.done('PUT', '/api/v1/settings', { hubEndpoint: other.url });
    assert.is((await app.api('GET', '/api/v1/hub/model?repo=bob/secret-GGUF')).status, 404);
    const settings = await app.done('PUT', '/api/v1/settings', { hubToken: 'hf_right' });
    assert.is(settings.hasHubToken, true);
    assert.is(settings.hubToken, undefined);
    assert.is((await app.done('GET', '/api/v1/hub/model?repo=bob/secret-GGUF')).repo, 'bob/secret-GGUF');
    assert.is(settings.hubTokenEndpoint, other.url);
    await app.done('PUT', '/api/v1/settings', { hubEndpoint: null, hubToken: null });
    assert.is((await app.done('GET', `/api/v1/hub/model?repo=${REPO}`)).repo, REPO);
    const refused = await app.api('PUT', '/api/v1/settings', { hubEndpoint: 'file:///etc' });
    assert.equal([refused.status, refused.body.error.param], [400, 'hubEndpoint']);
  } finally {
    await other.close();
  }
});

hub('a token is sent to the hub that it was stored for, and to no other', async () => {
  const files = { 'secret-Q4_K_M.gguf': MODEL };
  const gguf = { total: 1e6, architecture: 'llama' };
  const mirror = await fakeHub({ 'bob/secret-GGUF': { files, gguf, private: true, tokens: ['hf_right'] } });
  const statusAtMirror = async () => (await app.api('GET', '/api/v1/hub/model?repo=bob/secret-GGUF')).status;
  try {
    const stored = await app.done('PUT', '/api/v1/settings', { hubToken: 'hf_right' });
    await app.done('PUT', '/api/v1/settings', { hubEndpoint: mirror.url });
    assert.is(await statusAtMirror(), 404);
    assert.is(stored.hubTokenEndpoint, fake.url);
    await app.done('PUT', '/api/v1/settings', { hubEndpoint: null });
    const both = await app.done('PUT', '/api/v1/settings', { hubEndpoint: `${mirror.url}/`, hubToken: 'hf_right' });
    assert.is(both.hubTokenEndpoint, mirror.url);
    assert.is(await statusAtMirror(), 200);
  } finally {
    await app.done('PUT', '/api/v1/settings', { hubEndpoint: null, hubToken: null });
    await mirror.close();
  }
});

hub('an address or a token that cannot be used is refused, and not kept', async () => {
  const before = await app.done('GET', '/api/v1/settings');
  for (const change of [
    { hubEndpoint: 'https://ada:secret@mirror.example' },
    { hubEndpoint: 'https://mirror.example/?region=eu' },
    { hubToken: 'two words' },
  ]) {
    const { status, body } = await app.api('PUT', '/api/v1/settings', { ...change, theme: 'dark' });
    assert.equal([status, body.error.code], [400, 'invalid_options']);
  }
  assert.equal(await app.done('GET', '/api/v1/settings'), before);
});

hub('the app starts with an address of the hub that cannot be used, and says so', async () => {
  await app.stop();
  const store = Store.open(folder);
  new SettingsStore(store).change({ hubEndpoint: 'https://mirror.example/?region=eu' });
  store.close();
  app = await startDesktop([], { folder, variables: { HF_ENDPOINT: fake.url } });
  assert.is((await app.done('GET', `/api/v1/hub/model?repo=${REPO}`)).repo, REPO);
  const { lines } = await app.done('GET', '/api/v1/logs?limit=100');
  assert.ok(lines.some(({ message }: { message: string }) => /Invalid hub settings.*region=eu/.test(message)));
});

hub.run();
