// `chasqui serve --app-models`: what the first container of an app's pod has left is loaded, all of it or nothing.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { runCli, startChild, untilWritten } from '../support/child.js';
import { tinyAdapter } from '../support/tiny-adapter.js';
import { tinyModel } from '../support/tiny-model.js';

const test = suite('model-cli: the models of an app');
const MODEL = tinyModel('llama', 1);
const APP = ['--mode', 'serverless', '--org', 'acme', '--app', 'chat', '--auth', 'public', '--port', '0'];
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-app-models-'));
const file = path.join(folder, 'models.json');

test.after(() => fs.rmSync(folder, { recursive: true }));

function write(...models: { modelPath: string; options: object }[]): void {
  fs.writeFileSync(file, JSON.stringify(models));
}

const one = { modelPath: MODEL, options: { alias: 'one', contextSize: 256, gpuLayers: 0 } };
const sql = [`sql=${tinyAdapter('sql', 1)}:1.000000`];

test('all models are there, with their adapters', async () => {
  write(one, { modelPath: tinyModel('llama', 2), options: { ...one.options, alias: 'other', lora: sql } });
  const server = startChild('ts/cli.ts', ['serve', ...APP, '--app-models', file]);
  const [, url] = await untilWritten(server, /at (http:\S+)/);
  const reply = (await (await fetch(`${url}/models`)).json()) as { data: { id: string }[] };
  assert.equal(reply.data.map(({ id }) => id).sort(), ['one', 'other', 'other:sql']);
  server.process.kill('SIGTERM');
  assert.equal(await server.exited, { code: 0, signal: null });
});

test('an app that lacks one of its models is none', async () => {
  const broken = path.join(folder, 'broken.gguf');
  fs.writeFileSync(broken, 'GGUF, but not really');
  write(one, { modelPath: broken, options: { alias: 'broken' } });
  const { code, stderr } = await runCli(['serve', ...APP, '--app-models', file]);
  assert.is(code, 1);
  assert.match(stderr, /^chasqui: .*broken\.gguf/m);
});

test.run();
