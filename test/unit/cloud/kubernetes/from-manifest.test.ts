// Deployment scripts to Kubernetes objects: options are applied, and unsupported ones are refused by name.
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type ClusterSettings, toKubernetesApp } from '../../../../ts/cloud/kubernetes/from-manifest.js';
import { toObjects, toYaml } from '../../../../ts/cloud/kubernetes/objects.js';
import type { Json } from '../../../../ts/cloud/script/canonical-json.js';
import { toManifest } from '../../../../ts/cloud/script/manifest.js';

const test = suite('kubernetes: from a script');

const settings: ClusterSettings = {
  image: 'registry.example/chasqui@sha256:00',
  message: null,
  keys: [{ id: '0123456789abcdef', hash: 'ab'.repeat(32), org: 'acme', expiresAt: null }],
  strategy: 'rolling',
  secret: null,
  weights: null,
  gateway: { name: 'web', namespace: null, host: 'models.example' },
  scaler: null,
  endpointPicker: null,
};

const script = { model: 'hf:org/repo:Q4_K_M', context: 16384, slots: 8, machine: { memory: '8Gi', cpu: 4, gpu: 1 } };

function appOf(options: object, changes: Partial<ClusterSettings> = {}) {
  const given = options as { [name: string]: Json };
  const manifest = toManifest(given, 'chat');
  return toKubernetesApp(
    { org: 'acme', name: 'chat', revision: '5f'.repeat(32), options: given, manifest },
    { ...settings, ...changes },
  );
}

const several = {
  context: 8192,
  machine: { memory: '24Gi', gpu: 0 },
  secrets: ['HF_TOKEN', 'GREETING'],
  scale: { min: 2, max: 4 },
  models: [
    { model: 'hf:org/writer-GGUF:Q4_K_M', alias: 'writer', draftModel: 'hf:org/writer-small-GGUF:Q8_0' },
    {
      model: 'https://models.example:8443/sql.gguf',
      slots: 8,
      mmproj: 'https://models.example/mmproj-sql.gguf',
      chatTemplate: '{{ \'$(HOME)\' }}\n"$$"',
      adapters: { brief: { file: 'hf:org/brief-lora', scale: 0.5 } },
    },
  ],
};

/** Regenerate with UPDATE=1 and review the diff. */
for (const [name, options, changes] of [
  ['chat', script, {}],
  ['several', several, { secret: 'hub', weights: { size: '60Gi', storageClass: null }, gateway: null }],
] as const) {
  test(`the objects of the script ${name} are those that were read last`, () => {
    const file = path.join(import.meta.dirname, 'golden', `${name}.yaml`);
    const text = toYaml(toObjects(appOf(options, changes)));
    if (process.env.UPDATE) writeFileSync(file, text);
    assert.fixture(text, readFileSync(file, 'utf8'));
  });
}

test('machine, scale and times of the script reach the manifest', () => {
  const app = appOf({
    ...script,
    scale: { min: 1, max: 3, keepAlive: '90s' },
    timeouts: { start: '20m', request: '2h', drain: '1500ms' },
  });
  assert.equal(app.machine, { cpu: 4, memory: '8192Mi', gpu: 1 });
  assert.equal(app.scale, { min: 1, max: 3, keepAliveSeconds: 90 });
  assert.equal(app.timeouts, { startSeconds: 1200, requestSeconds: 7200, drainSeconds: 2 });
  assert.is(JSON.parse(app.options).model, 'hf:org/repo:Q4_K_M');
  assert.equal(appOf({ ...script, machine: { memory: '8Gi', gpu: 0 } }).machine.gpu, 0);
});

test('adapters, projectors, draft models and several models go into the pod, and its slots are those of all', () => {
  const app = appOf(several, { secret: 'hub' });
  assert.equal(JSON.parse(app.options), several);
  assert.is(app.slots, 12);
  assert.equal(app.fetchPorts, [8443]);
});

for (const [what, options, changes, says] of [
  ['a file of this machine', { ...script, model: 'file:/m.gguf' }, {}, /`model` of the script is a local file/],
  ['no memory', { model: 'demo' }, {}, /The script must set `machine\.memory`/],
  [
    'a draft model that is a file',
    { models: [{ model: 'demo' }, { model: 'demo', alias: 'b', draftModel: 'file:/d.gguf' }], machine: script.machine },
    {},
    /`models\[1\]\.draftModel` of the script is a local file/,
  ],
  ['an adapter that is a file', { ...script, adapters: { a: { file: 'file:/a.gguf' } } }, {}, /`adapters\.a\.file`/],
  [
    'more than an argument can hold',
    { ...script, chatTemplate: 'x'.repeat(123_000) },
    {},
    /bytes, but pods accept only/,
  ],
  ['secrets without a Secret', { ...script, secrets: ['HF_TOKEN'] }, {}, /HF_TOKEN.*`secret`/],
  ['a Secret without secrets', script, { secret: 'hub' }, /`secret` is hub, but the script uses no `secrets`/],
  ['the scheme Bearer', { ...script, bearer: true }, {}, /Remove `bearer`/],
  ['no key', script, { keys: [] }, /No API key/],
] as const) {
  test(`${what} is refused`, () => assert.throws(() => appOf(options, changes), says));
}

test('a public app needs no key', () => {
  const app = appOf({ ...script, auth: 'public' }, { keys: [] });
  assert.not.ok(toObjects(app).some(({ kind }) => kind === 'Secret'));
});

test.run();
