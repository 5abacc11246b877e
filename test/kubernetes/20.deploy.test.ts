// `chasqui deploy … --to kubernetes`, from a script to what a cluster keeps.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { parseAllDocuments } from 'yaml';
import { KeyStore } from '../../ts/keys/key-store.js';
import { callCli } from '../support/call-cli.js';
import { FakeCluster } from '../support/kubernetes/fake-cluster.js';

const test = suite('kubernetes: deploy');
let cluster: FakeCluster;
let folder = '';
let script = '';
let keyId = '';

test.before.each(async () => {
  cluster = await FakeCluster.start();
  folder = mkdtempSync(path.join(tmpdir(), 'chasqui-deploy-'));
  script = path.join(folder, 'app.mjs');
  const options = "{ model: 'demo', machine: { memory: '1Gi' }, timeouts: { start: '1s' } }";
  writeFileSync(script, `import { app } from 'chasqui/cloud';\nexport const chat = app(${options});\n`);
  const keys = KeyStore.open(folder);
  keyId = keys.create({ org: 'acme' }).id;
  keys.create({ org: 'other' });
  keys.close();
});
test.after.each(async () => {
  await cluster.close();
  rmSync(folder, { recursive: true });
});

function deploy(...args: string[]) {
  const given = ['deploy', `${script}::chat`, '--to', 'kubernetes', '--org', 'acme', '--data-dir', folder];
  return callCli([...given, ...args], cluster.environment);
}

test('a dry run prints the objects and asks no cluster', async () => {
  const { code, stdout } = await deploy('--image', 'chasqui:1', '--dry-run');
  assert.is(code, 0);
  const objects = parseAllDocuments(stdout).map((document) => document.toJSON());
  assert.ok(objects.some(({ kind }) => kind === 'Deployment'));
  const secret = objects.find(({ kind }) => kind === 'Secret');
  const { keys } = JSON.parse(secret.stringData['keys.json']);
  assert.equal(
    keys.map(({ id }: { id: string }) => id),
    [keyId],
  );
  assert.equal(cluster.requests, []);
});

test('the objects are applied, and what came of them is said', async () => {
  const { code, stdout } = await deploy('--image', 'chasqui:1', '--detach', '--json');
  assert.is(code, 0);
  const said = JSON.parse(stdout);
  assert.is(said.app, 'chat');
  assert.is(said.state, 'deploying');
  assert.ok(said.applied.includes('deployment.apps/acme-chat'));
  assert.ok(cluster.objects.has('Deployment/acme-chat'));
});

test('a refusal of the cluster is an error that says why', async () => {
  cluster.failures = [{ status: 403, reason: 'Forbidden', message: 'nobody may not patch serviceaccounts' }];
  const { code, stderr } = await deploy('--image', 'chasqui:1');
  assert.is(code, 3);
  assert.match(stderr, /^chasqui: .*nobody may not patch serviceaccounts/s);
});

test('fields without effect in a cluster are refused by name', async () => {
  for (const [given, says] of [
    [['--check'], /--check is for a cloud of chasqui: --dry-run/],
    [['--storage-class', 'fast'], /needs --weights-size/],
    [['--weights-size', '20GB'], /--weights-size is 20GB/],
    [['--route-host', 'models.example'], /--gateway/],
    [['--gateway', 'a/b/c'], /--gateway is a\/b\/c/],
    [['--endpoint-picker', 'picker:9002'], /--routing/],
  ] as const) {
    const { code, stderr } = await deploy('--image', 'chasqui:1', ...given);
    assert.is(code, 2, given.join(' '));
    assert.match(stderr, says);
  }
  assert.equal(cluster.requests, []);
});

test('pods that end again and again end the wait, and what they said last is shown', async () => {
  const said = 'chasqui: The hub has no model ada/nothing.';
  const terminated = { exitCode: 1, reason: 'Error', message: `fetching weights 0 %\n${said}` };
  const fetcher = {
    name: 'fetch',
    ready: false,
    restartCount: 3,
    state: { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 40s' } },
    lastState: { terminated },
  };
  cluster.objects.set('Pod/acme-chat-1', {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'acme-chat-1', labels: { 'chasqui.dev/app': 'acme-chat' } },
    status: { phase: 'Pending', initContainerStatuses: [fetcher] },
  });
  const { code, stderr } = await deploy('--image', 'chasqui:1');
  assert.is(code, 4);
  assert.is(
    stderr,
    `chasqui: Its pods crash repeatedly; the cluster keeps retrying.\n  acme-chat-1 is crashed: ${said}\n`,
  );
});

test('missing options are named', async () => {
  const { code, stderr } = await deploy();
  assert.is(code, 2);
  assert.match(stderr, /--image/);
});

test.run();
