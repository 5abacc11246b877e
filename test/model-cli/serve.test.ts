import { execFile } from 'node:child_process';
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Child, runCli, startChild, untilWritten } from '../support/child.js';
import { readJson } from '../support/read-json.js';

const DEMO = 'prebuilds/demo/chasqui-demo.gguf';

const test = suite<{ folder: string }>('cli: serving a model');

test.before.each(async (context) => {
  context.folder = await fs.mkdtemp(path.join(os.tmpdir(), 'chasqui-'));
});

test.after.each(async ({ folder }) => {
  await fs.rm(folder, { recursive: true });
});

async function expectRefusal(model: string, says: RegExp): Promise<void> {
  const { code, stdout, stderr } = await runCli(['serve', '--port', '0', '--model', model]);
  assert.is(code, 1);
  assert.is(stdout, '');
  assert.is(stderr.split('\n').length, 2, `one line, not: ${stderr}`);
  assert.match(stderr, /^chasqui: /);
  assert.match(stderr, says);
}

test('a missing file', async ({ folder }) => {
  await expectRefusal(path.join(folder, 'missing.gguf'), /missing\.gguf/);
});

test('a folder', async ({ folder }) => {
  await expectRefusal(folder, /chasqui-/);
});

test('an empty file', async ({ folder }) => {
  const file = path.join(folder, 'empty.gguf');
  await fs.writeFile(file, '');
  await expectRefusal(file, /empty\.gguf/);
});

test('a file that is no GGUF', async ({ folder }) => {
  const file = path.join(folder, 'letter.gguf');
  await fs.writeFile(file, 'Dear model,\n'.repeat(1000));
  await expectRefusal(file, /letter\.gguf.*GGUF/);
});

for (const fraction of [0.001, 0.5, 0.99]) {
  test(`a file cut off after ${fraction} of its length`, async ({ folder }) => {
    const file = path.join(folder, 'cut.gguf');
    await fs.copyFile(DEMO, file);
    await fs.truncate(file, Math.floor((await fs.stat(DEMO)).size * fraction));
    await expectRefusal(file, /cut\.gguf/);
  });
}

test('says where it listens, and the curl line works when pasted', async () => {
  const child = startChild('ts/cli.ts', ['serve', '--port', '0', '--alias', "it's a 'model'"]);
  const [, url] = await untilWritten(child, /^Serving it's a 'model' at (http:\S+)\/v1$/m);
  const [line] = await untilWritten(child, /^ {2}curl .*$/m);
  const { stdout } = await promisify(execFile)('sh', ['-c', `${line} -s`]);
  const reply = JSON.parse(stdout);
  assert.is(reply.model, "it's a 'model'");
  assert.type(reply.choices[0].message.content, 'string');
  const health = await readJson(await fetch(`${url}/health`));
  assert.equal([health.active, health.queued], [0, 0]);
  await stop(child);
});

test('stops in good order while it answers', async () => {
  const child = startChild('ts/cli.ts', ['serve', '--port', '0']);
  const [, url] = await untilWritten(child, /^Serving \S+ at (http:\S+)\/v1$/m);
  const reply = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'chasqui-demo', stream: true, messages: [{ role: 'user', content: 'Hello!' }] }),
  });
  await stop(child);
  assert.match(await reply.text(), /data: \[DONE\]\n\n$/);
});

async function stop(child: Child): Promise<void> {
  child.process.kill('SIGTERM');
  assert.equal(await child.exited, { code: 0, signal: null }, child.output.stderr);
}

test.run();
