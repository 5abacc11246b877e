// The pod that a deployment to Kubernetes makes, run by `podman kube play`: keys from the Secret, and an orderly end.
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { KubernetesObject } from '../../ts/cloud/kubernetes/kubernetes-app.js';
import { KeyStore } from '../../ts/keys/key-store.js';
import { runCli } from '../support/child.js';
import { writeScript } from '../support/cloud.js';
import { buildImage, IMAGE, inspect, podman } from '../support/container-image.js';
import { until } from '../support/until.js';

const test = suite('containers: kube play');
const POD = 'acme-chat';
const CONTAINER = `${POD}-runner`;
let folder = '';
let file = '';
let key = '';

/** Of a Secret as the objects have it, its texts in the form in which this version of podman mounts them. */
function addSecret({ stringData, ...secret }: KubernetesObject & { stringData?: Record<string, string> }): void {
  const texts = Object.entries(stringData ?? {});
  // Version 4.3 does not decode what it mounts, and refuses in manifests what is not encoded.
  if (podman('version', '--format={{.Client.Version}}').startsWith('4.3.')) {
    const plain = path.join(folder, 'secret.json');
    fs.writeFileSync(plain, JSON.stringify({ ...secret, data: Object.fromEntries(texts) }));
    podman('secret', 'create', secret.metadata.name, plain);
    return;
  }
  const data = texts.map(([name, text]) => [name, Buffer.from(text).toString('base64')]);
  const encoded = path.join(folder, 'secret.yaml');
  fs.writeFileSync(encoded, JSON.stringify({ ...secret, data: Object.fromEntries(data) }));
  podman('kube', 'play', encoded);
}

/** The pod of a Deployment, without what podman does otherwise than a cluster. */
function podOf(deployment: KubernetesObject): object {
  type Volume = { name: string; secret?: object };
  type Container = { volumeMounts: { name: string }[] };
  type Template = { metadata: object; spec: { containers: Container[]; volumes: Volume[] } };
  const { template } = deployment.spec as { template: Template };
  // Its probe would run curl inside, which the image has no use for; a cluster's kubelet asks by itself. A network of its
  // own would need a firewall's tools on this machine.
  const without = { livenessProbe: undefined, ports: undefined };
  // Empty folders are volumes of these names, which somebody else on this machine may have, too.
  const own = <Named extends { name: string }>(each: Named): Named => ({ ...each, name: `${POD}-${each.name}` });
  const containers = template.spec.containers.map((each) => {
    return { ...each, ...without, volumeMounts: each.volumeMounts.map(own) };
  });
  // Version 4.3 ends with a fault of its own where this is left to its default.
  const volumes = template.spec.volumes.map((each) => {
    const secret = each.secret && { secret: { ...each.secret, optional: false } };
    return { ...own(each), ...secret };
  });
  const pod = { metadata: { ...template.metadata, name: POD }, spec: { ...template.spec, containers, volumes } };
  return { apiVersion: 'v1', kind: 'Pod', ...pod };
}

test.before(async () => {
  buildImage();
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-pod-'));
  const keys = KeyStore.open(folder);
  key = keys.create({ org: 'acme' }).key;
  keys.close();
  const script = writeScript(
    `export const chat = app({ model: 'demo', context: 2048, machine: { memory: '1Gi' }, timeouts: { drain: '60s' } });`,
  );
  const target = ['--to', 'kubernetes', '--org', 'acme', '--image', IMAGE, '--data-dir', folder];
  const printed = await runCli(['deploy', `${script}::chat`, ...target, '--dry-run', '--output', 'json']);
  assert.is(printed.code, 0, printed.stderr);
  file = path.join(folder, 'pod.yaml');
  const objects: KubernetesObject[] = JSON.parse(printed.stdout).items;
  const of = (kind: string) => objects.find((object) => object.kind === kind) as KubernetesObject;
  addSecret(of('Secret'));
  fs.writeFileSync(file, JSON.stringify(podOf(of('Deployment'))));
  // What podman gives containers by default may be more than this machine has to give, and a manifest cannot say less.
  const settings = path.join(folder, 'containers.conf');
  fs.writeFileSync(settings, '[containers]\ndefault_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]\n');
  process.env.CONTAINERS_CONF = settings;
  podman('kube', 'play', '--network=none', file);
  await until(() => ask('', '/ready').status === 200, 'the model', 60_000);
});
test.after(() => {
  delete process.env.CONTAINERS_CONF;
  podman('pod', 'rm', '--force', '--ignore', '--time=0', POD);
  spawnSync('podman', ['secret', 'rm', `${POD}-keys`]);
  // What the pod was given as folders.
  for (const name of ['home', 'tmp', 'keys']) podman('volume', 'rm', '--force', `${POD}-${name}`);
  fs.rmSync(folder, { recursive: true, force: true });
});

/** Node in the pod's network, outside its other walls. */
function inNetwork(script: string): [program: string, args: string[]] {
  const { State: state } = inspect<{ State: { Pid: number } }>(CONTAINER);
  return ['nsenter', [`--net=/proc/${state.Pid}/ns/net`, process.execPath, '--input-type=module', '--eval', script]];
}

function ask(authorization: string, url: string, body?: object): { status: number; text: string } {
  const init = {
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
    headers: { 'content-type': 'application/json', ...(authorization && { authorization }) },
  };
  const script = `const reply = await fetch('http://127.0.0.1:8080${url}', ${JSON.stringify(init)});
    console.log(JSON.stringify({ status: reply.status, text: await reply.text() }));`;
  const { stdout } = spawnSync(...inNetwork(script), { encoding: 'utf8' });
  return stdout === '' ? { status: 0, text: '' } : JSON.parse(stdout);
}

function complete(authorization: string): { status: number; text: string } {
  const messages = [{ role: 'user', content: 'Count from 3 to 6.' }];
  return ask(authorization, '/acme/chat/v1/chat/completions', { model: 'chasqui-demo', messages, temperature: 0 });
}

test('a key whose hash is in the Secret opens the app', () => {
  const { status, text } = complete(`Key ${key}`);
  assert.is(status, 200);
  assert.match(text, '3, 4, 5, 6');
});

test('another key, another scheme and none are refused', () => {
  for (const authorization of [`Key ${key.slice(0, -1)}${key.endsWith('a') ? 'b' : 'a'}`, `Bearer ${key}`, '']) {
    const { status, text } = complete(authorization);
    assert.is(status, 401, authorization);
    assert.is(JSON.parse(text).error.code, 'invalid_api_key');
  }
});

test('it runs without rights, on a system that it cannot change', () => {
  type Known = { State: { Pid: number }; HostConfig: { ReadonlyRootfs: boolean } };
  const { State: state, HostConfig: host } = inspect<Known>(CONTAINER);
  const status = fs.readFileSync(`/proc/${state.Pid}/status`, 'utf8');
  assert.match(status, /^Uid:\s+10001\s+10001/m);
  assert.match(status, /^CapEff:\s+0+$/m);
  assert.match(status, /^NoNewPrivs:\s+1$/m);
  assert.is(host.ReadonlyRootfs, true);
});

test('a stream that runs is finished when the pod is stopped', async () => {
  const messages = [{ role: 'user', content: 'Count from 1 to 60.' }];
  const body = { model: 'chasqui-demo', messages, temperature: 0, stream: true, max_tokens: 150 };
  const init = { method: 'POST', headers: { authorization: `Key ${key}`, 'content-type': 'application/json' } };
  const script = `const reply = await fetch('http://127.0.0.1:8080/acme/chat/v1/chat/completions',
      { ...${JSON.stringify(init)}, body: ${JSON.stringify(JSON.stringify(body))} });
    for await (const part of reply.body) process.stdout.write(part);`;
  const client = spawn(...inNetwork(script), { stdio: ['ignore', 'pipe', 'inherit'] });
  let received = '';
  client.stdout.on('data', (data) => {
    received += data;
  });
  const ended = new Promise((resolve) => client.once('close', resolve));
  await until(() => received.includes('"content"'), 'the first token');
  const stopping = spawn('podman', ['pod', 'stop', '--time=75', POD], { stdio: 'ignore' });
  const stopped = new Promise((resolve) => stopping.once('close', resolve));
  await ended;
  assert.match(received, /data: \[DONE\]\s*$/);
  assert.is(await stopped, 0);
  const { State: state } = inspect<{ State: { ExitCode: number } }>(CONTAINER);
  assert.is(state.ExitCode, 0);
});

test.run();
