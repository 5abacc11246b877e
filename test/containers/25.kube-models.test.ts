// The pod of an app with a draft model, adapters and two models: what fetches them, from a hub and from an address, is the
// pod's first container, and the runner has all of them.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { writeScript } from '../support/cloud.js';
import { buildImage, inspect } from '../support/container-image.js';
import type { SeenRequest } from '../support/fake-hub.js';
import type { HubRepos } from '../support/kubernetes/hub-main.js';
import { objectsOf, PlayedPod } from '../support/kubernetes/played-pod.js';
import { nodeArguments } from '../support/node-arguments.mjs';
import { Exposition } from '../support/read-metrics.js';
import { tinyAdapter } from '../support/tiny-adapter.js';
import { tinyModel } from '../support/tiny-model.js';
import { until } from '../support/until.js';

const test = suite('containers: the models of a pod');
const TOKEN = 'hf_of_this_app_alone';
const ONE = tinyModel('llama', 1);
const SQL = tinyAdapter('sql', 1);
const REPOS: HubRepos = {
  'ada/one-GGUF': { files: { 'one-F32.gguf': ONE }, private: true, tokens: [TOKEN] },
  'ada/other-GGUF': { files: { 'other-F32.gguf': tinyModel('llama', 2) } },
  'ada/sql-lora-GGUF': { files: { 'sql-F32.gguf': SQL } },
};
let hub: ChildProcess;
let lines: AsyncIterator<string>;
let pod: PlayedPod;

async function nextLine(): Promise<string> {
  return (await lines.next()).value;
}

test.before(async () => {
  buildImage();
  const main = [...nodeArguments('test/support/kubernetes/hub-main.ts'), JSON.stringify(REPOS)];
  const inside = ['--net', 'sh', '-c', 'ip link set lo up && exec "$@"', 'sh', process.execPath, ...main];
  hub = spawn('unshare', inside, { stdio: ['pipe', 'pipe', 'inherit'] });
  lines = createInterface({ input: hub.stdout as NodeJS.ReadableStream })[Symbol.asyncIterator]();
  const url = await nextLine();
  const script = writeScript(`export const several = app({
    auth: 'public', context: 256, slots: 2, machine: { memory: '2Gi', gpu: 0 },
    secrets: ['HF_TOKEN', 'HF_ENDPOINT', 'GREETING'],
    models: [
      {
        model: 'hf:ada/one-GGUF', alias: 'one', draftModel: '${url}/ada/other-GGUF/resolve/main/other-F32.gguf',
      },
      {
        model: 'hf:ada/other-GGUF', alias: 'other', slots: 3,
        adapters: {
          sql: 'hf:ada/sql-lora-GGUF',
          none: { file: '${url}/ada/sql-lora-GGUF/resolve/main/sql-F32.gguf', scale: 0 },
        },
      },
    ],
  });`);
  pod = new PlayedPod('acme-several');
  const variables = { HF_TOKEN: TOKEN, HF_ENDPOINT: url, GREETING: 'hello' };
  const metadata = { name: 'acme-hub', labels: {} };
  pod.addSecret({ apiVersion: 'v1', kind: 'Secret', metadata, stringData: variables }, { areVariables: true });
  const objects = await objectsOf(script, '--org', 'acme', '--secret', 'acme-hub');
  pod.play(objects, hub.pid);
  await until(() => pod.ask('', '/ready').status === 200, 'the models', 60_000);
});
test.after(async () => {
  pod.remove();
  hub.stdin?.end();
  await once(hub, 'exit');
});

/** The greedy completion of a model. */
function say(model: string): string {
  const body = { model, prompt: 'Once there was', max_tokens: 20, temperature: 0, ignore_eos: true };
  const { status, text } = pod.ask('', '/acme/several/v1/completions', body);
  assert.is(status, 200, text);
  return JSON.parse(text).choices[0].text;
}

test('requests name each of the models and its adapters', () => {
  const { data } = JSON.parse(pod.ask('', '/acme/several/v1/models').text) as { data: { id: string }[] };
  assert.equal(data.map(({ id }) => id).sort(), ['one', 'other', 'other:none', 'other:sql']);
  const said = ['one', 'other', 'other:sql'].map(say);
  assert.is(new Set(said).size, 3);
  assert.is(say('other:none'), said[1]);
});

test('the draft model drafts', async () => {
  say('one');
  // If an engine does not reply in time, /metrics shows its last values.
  const drafted = () =>
    new Exposition(pod.ask('', '/metrics').text)
      .samples('chasqui_spec_decode_num_draft_tokens_total')
      .some(({ value }) => value > 0);
  await until(drafted, 'drafted tokens');
});

test('the secret of the hub opened the models, and the runner does not have it', async () => {
  hub.stdin?.write('\n');
  const seen = JSON.parse(await nextLine()) as SeenRequest[];
  assert.ok(seen.some(({ authorization }) => authorization === `Bearer ${TOKEN}`));
  const { Config: config } = inspect<{ Config: { Env: string[] } }>(pod.container);
  assert.ok(config.Env.includes('GREETING=hello'));
  assert.not.ok(config.Env.some((variable) => variable.startsWith('HF_') || variable.includes(TOKEN)));
});

test.run();
