// From a script to the objects of a cluster: what is said arrives, and what a cluster cannot have is refused by name.
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type ClusterSettings, toKubernetesApp } from '../../../../ts/cloud/kubernetes/from-manifest.js';
import { toObjects } from '../../../../ts/cloud/kubernetes/objects.js';
import { toYaml } from '../../../../ts/cloud/kubernetes/to-yaml.js';
import type { Json } from '../../../../ts/cloud/script/canonical-json.js';
import { toManifest } from '../../../../ts/cloud/script/manifest.js';

const test = suite('kubernetes: from a script');

const settings: ClusterSettings = {
  image: 'registry.example/chasqui@sha256:00',
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
  const manifest = toManifest(options as Json, 'chat');
  return toKubernetesApp(
    { org: 'acme', name: 'chat', revision: '5f'.repeat(32), manifest },
    { ...settings, ...changes },
  );
}

/** Write it anew with UPDATE=1, and read the difference. */
test('the objects of a script are those that were read last', () => {
  const file = path.join(import.meta.dirname, 'golden', 'chat.yaml');
  const text = toYaml(toObjects(appOf(script)));
  if (process.env.UPDATE) writeFileSync(file, text);
  assert.fixture(text, readFileSync(file, 'utf8'));
});

test('what the script says of the machine, of scale and of times arrives', () => {
  const app = appOf({
    ...script,
    scale: { min: 1, max: 3, keepAlive: '90s' },
    timeouts: { start: '20m', request: '2h', drain: '1500ms' },
  });
  assert.equal(app.machine, { cpu: 4, memory: '8192Mi', gpu: 1 });
  assert.equal(app.scale, { min: 1, max: 3, keepAliveSeconds: 90 });
  assert.equal(app.timeouts, { startSeconds: 1200, requestSeconds: 7200, drainSeconds: 2 });
  assert.equal(app.options.slice(0, 2), ['--hf', 'org/repo:Q4_K_M']);
  assert.equal(appOf({ ...script, machine: { memory: '8Gi', gpu: 0 } }).machine.gpu, 0);
});

for (const [what, options, changes, says] of [
  [
    'a file of this machine',
    { ...script, model: 'file:/m.gguf' },
    {},
    /`model` of the script is a file of this machine/,
  ],
  ['no memory', { model: 'demo' }, {}, /`machine\.memory` of the script is missing/],
  ['a projector', { ...script, mmproj: 'https://h/p.gguf' }, {}, /`mmproj`/],
  ['a draft model', { ...script, draftModel: 'https://h/d.gguf' }, {}, /`draftModel`/],
  ['an adapter', { ...script, adapters: { a: 'https://h/a.gguf' } }, {}, /`adapters`/],
  [
    'several models',
    { models: [{ model: 'demo' }, { model: 'demo', alias: 'b' }], machine: { memory: '8Gi' } },
    {},
    /`models`/,
  ],
  ['secrets without a Secret', { ...script, secrets: ['HF_TOKEN'] }, {}, /HF_TOKEN/],
  ['no key', script, { keys: [] }, /no key/],
] as const) {
  test(`${what} is refused`, () => assert.throws(() => appOf(options, changes), says));
}

test('a public app needs no key', () => {
  const app = appOf({ ...script, auth: 'public' }, { keys: [] });
  assert.not.ok(toObjects(app).some(({ kind }) => kind === 'Secret'));
});

test.run();
