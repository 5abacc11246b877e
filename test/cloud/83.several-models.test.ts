// Apps with adapters, with a draft model, and with several models: from a script to requests that name them.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { runCli } from '../support/child.js';
import { ORG, TestCloud, writeScript } from '../support/cloud.js';
import { type FakeHub, fakeHub } from '../support/fake-hub.js';
import { Exposition } from '../support/read-metrics.js';
import { requestOverSocket } from '../support/request-over-socket.js';
import { tinyAdapter } from '../support/tiny-adapter.js';
import { tinyModel } from '../support/tiny-model.js';

const test = suite('cloud: several models');
const MODEL = tinyModel('llama', 1);
const OTHER = tinyModel('llama', 2);
const SQL = tinyAdapter('sql', 1);
const HUB_ADAPTER = tinyAdapter('style', 2);
const REPO = 'ada/style-lora-GGUF';
let hub: FakeHub;
let cloud: TestCloud;
let cache: string;

test.before(async () => {
  cache = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-cloud-hub-'));
  hub = await fakeHub({
    [REPO]: { files: { 'style-F32.gguf': fs.readFileSync(HUB_ADAPTER) }, gguf: { architecture: 'llama' } },
  });
  cloud = await TestCloud.start([], { HF_ENDPOINT: hub.url, HF_TOKEN: '', HF_HUB_CACHE: cache, LLAMA_CACHE: '' });
});
test.after(async () => {
  assert.equal(await cloud.stop(), { code: 0, signal: null });
  await hub.close();
  fs.rmSync(cache, { recursive: true, force: true });
});

/** The greedy completion of a model, or the error code. */
async function say(app: string, model: string): Promise<string> {
  const reply = await fetch(`${cloud.url}/${ORG}/${app}/v1/completions`, {
    method: 'POST',
    body: JSON.stringify({ model, prompt: 'Once there was', max_tokens: 20, temperature: 0, ignore_eos: true }),
  });
  const body = (await reply.json()) as {
    model: string;
    choices: { text: string }[];
    error?: { code: string };
  };
  if (body.error) return body.error.code;
  assert.is(body.model, model);
  return body.choices[0]?.text ?? '';
}

async function namesIn(app: string): Promise<string[]> {
  const reply = await fetch(`${cloud.url}/${ORG}/${app}/v1/models`);
  return ((await reply.json()) as { data: { id: string }[] }).data.map(({ id }) => id).sort();
}

const tinyScript = (scale: number) => `export const tiny = app({
  model: 'file:${MODEL}', alias: 'tiny', context: 256, slots: 2, auth: 'public', draftModel: 'file:${MODEL}',
  adapters: {
    sql: 'file:${SQL}',
    none: { file: 'file:${SQL}', scale: 0 },
    strong: { file: 'file:${SQL}', scale: ${scale} },
    style: 'hf:${REPO}',
  },
});`;

test('adapters are fetched from files and from a hub, and requests choose them by name', async () => {
  const { code, stderr } = await cloud.cli('deploy', writeScript(tinyScript(1)));
  assert.is(code, 0, stderr);
  assert.equal(await namesIn('tiny'), ['tiny', 'tiny:none', 'tiny:sql', 'tiny:strong', 'tiny:style']);
  const base = await say('tiny', 'tiny');
  const sql = await say('tiny', 'tiny:sql');
  assert.is.not(sql, base);
  assert.is(await say('tiny', 'tiny:none'), base);
  assert.is(await say('tiny', 'tiny:strong'), sql);
  assert.not.ok([base, sql].includes(await say('tiny', 'tiny:style')));
  assert.is(await say('tiny', 'tiny:other'), 'model_not_found');
  const { stdout } = await cloud.cli('apps', 'status', 'tiny');
  assert.match(stdout, /^model +tiny\n +tiny:none\n +tiny:sql\n +tiny:strong\n +tiny:style$/m);
});

test('the draft model of an app drafts', async () => {
  const [runner] = (await cloud.status('tiny')).runners;
  const socket = path.join(cloud.home, 'cloud', 'run', `${runner?.id}.sock`);
  const metrics = new Exposition(await requestOverSocket(socket, '/metrics'));
  const name = 'chasqui_spec_decode_num_accepted_tokens_total';
  const accepted = metrics.samples(name).reduce((sum, { value }) => sum + value, 0);
  assert.ok(accepted > 0, `${accepted} tokens of drafts were accepted`);
});

test('another scale is another revision, and the difference is shown before', async () => {
  const shown = await cloud.cli('deploy', writeScript(tinyScript(3)), '--check');
  assert.is(shown.code, 0, shown.stderr);
  assert.is(shown.stdout.trim(), '~ adapters.strong.scale: 1 -> 3');
  const before = (await cloud.status('tiny')).revision;
  const same = await cloud.cli('deploy', writeScript(tinyScript(1)), '--json');
  assert.is(JSON.parse(same.stdout).revision, before);
  const { code, stderr } = await cloud.cli('deploy', writeScript(tinyScript(3)));
  assert.is(code, 0, stderr);
  assert.is.not(await say('tiny', 'tiny:strong'), await say('tiny', 'tiny:sql'));
});

const twoScript = (context: number) => `export const two = app({
  auth: 'public', slots: 2,
  models: [
    { model: 'file:${MODEL}', alias: 'one', context: 256 },
    { model: 'file:${OTHER}', alias: 'other', context: ${context}, slots: 3, adapters: { sql: 'file:${SQL}' } },
  ],
});`;

test('each of several models in one app is called by its name, in the same runner', async () => {
  const { code, stderr } = await cloud.cli('deploy', writeScript(twoScript(512)));
  assert.is(code, 0, stderr);
  assert.equal(await namesIn('two'), ['one', 'other', 'other:sql']);
  const said = [await say('two', 'one'), await say('two', 'other'), await say('two', 'other:sql')];
  assert.is(new Set(said).size, 3);
  assert.is(said[0], await say('tiny', 'tiny'));
  assert.is(await say('two', 'tiny'), 'model_not_found');
  const { runners, models } = await cloud.status('two');
  assert.is(runners.length, 1);
  assert.is(runners[0]?.slots, 5);
  assert.equal(models, ['one', 'other', 'other:sql']);
  const memory = (await cloud.status('tiny')).runners[0]?.memory_bytes ?? 0;
  assert.ok((runners[0]?.memory_bytes ?? 0) > 1.5 * memory, 'both models are counted');
});

test('a setting of one of several models is shown by its place', async () => {
  const { stdout } = await cloud.cli('deploy', writeScript(twoScript(1024)), '--check');
  assert.is(stdout.trim(), '~ models[1].context: 512 -> 1024');
});

test('a revision whose second model cannot be loaded fails, and the one before goes on', async () => {
  const broken = path.join(cache, 'broken.gguf');
  fs.writeFileSync(broken, 'GGUF, but not really');
  const models = [
    { model: `file:${MODEL}`, alias: 'one' },
    { model: `file:${broken}`, alias: 'broken' },
  ];
  const { revision } = await cloud.deploy('two', { model: undefined, models, context: 256 });
  await cloud.untilRevision('two', revision, 'failed');
  assert.is.not(await say('two', 'one'), 'model_not_found');
  assert.equal(await namesIn('two'), ['one', 'other', 'other:sql']);
});

test('from elsewhere all files of all models are sent, and the models keep their names', async () => {
  const elsewhere = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-elsewhere-'));
  const { key } = await cloud.client.post<{ key: string }>('/keys', { org: ORG, scopes: ['deploy', 'read'] });
  const variables = { CHASQUI_HOME: elsewhere };
  assert.is((await runCli(['login', cloud.url, '--key', key], variables)).code, 0);
  const copy = (from: string, name: string) => {
    const file = path.join(elsewhere, name);
    fs.copyFileSync(from, file);
    return file;
  };
  const files = [copy(MODEL, 'first.gguf'), copy(OTHER, 'second.gguf'), copy(SQL, 'lora.gguf')];
  const script = writeScript(`export const sent = app({ auth: 'public', context: 256, models: [
    { model: 'file:${files[0]}' }, { model: 'file:${files[1]}', adapters: { sql: { file: 'file:${files[2]}' } } },
  ] });`);
  const { code, stderr } = await runCli(['deploy', script], variables);
  assert.is(code, 0, stderr);
  fs.rmSync(elsewhere, { recursive: true });
  assert.equal(await namesIn('sent'), ['first', 'second', 'second:sql']);
  assert.is(await say('sent', 'second:sql'), await say('two', 'other:sql'));
});

test.run();
