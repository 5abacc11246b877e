// The pod that a deployment to Kubernetes makes, run by `podman kube play`: keys from the Secret, and an orderly end.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { KeyStore } from '../../ts/keys/key-store.js';
import { writeScript } from '../support/cloud.js';
import { buildImage, inspect } from '../support/container-image.js';
import { objectsOf, PlayedPod, type Reply } from '../support/kubernetes/played-pod.js';
import { until } from '../support/until.js';

const test = suite('containers: kube play');
let pod: PlayedPod;
let folder = '';
let key = '';

test.before(async () => {
  buildImage();
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-keys-'));
  const keys = KeyStore.open(folder);
  key = keys.create({ org: 'acme' }).key;
  keys.close();
  const script = writeScript(
    `export const chat = app({ model: 'demo', context: 2048, machine: { memory: '1Gi' }, timeouts: { drain: '60s' } });`,
  );
  pod = new PlayedPod('acme-chat');
  pod.play(await objectsOf(`${script}::chat`, '--org', 'acme', '--data-dir', folder));
  await until(() => pod.ask('', '/ready').status === 200, 'the model', 60_000);
});
test.after(() => {
  pod.remove();
  fs.rmSync(folder, { recursive: true, force: true });
});

function complete(authorization: string): Reply {
  const messages = [{ role: 'user', content: 'Count from 3 to 6.' }];
  return pod.ask(authorization, '/acme/chat/v1/chat/completions', { model: 'chasqui-demo', messages, temperature: 0 });
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
  const { State: state, HostConfig: host } = inspect<Known>(pod.container);
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
  const client = spawn(...pod.inNetwork(script), { stdio: ['ignore', 'pipe', 'inherit'] });
  let received = '';
  client.stdout.on('data', (data) => {
    received += data;
  });
  const ended = new Promise((resolve) => client.once('close', resolve));
  await until(() => received.includes('"content"'), 'the first token');
  const stopping = spawn('podman', ['pod', 'stop', '--time=75', pod.name], { stdio: 'ignore' });
  const stopped = new Promise((resolve) => stopping.once('close', resolve));
  await ended;
  assert.match(received, /data: \[DONE\]\s*$/);
  assert.is(await stopped, 0);
  const { State: state } = inspect<{ State: { ExitCode: number } }>(pod.container);
  assert.is(state.ExitCode, 0);
});

test.run();
