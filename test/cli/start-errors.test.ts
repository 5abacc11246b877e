// Error messages of `chasqui serve` at startup.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { callCli } from '../support/call-cli.js';
import { runCli } from '../support/child.js';
import { demoModelPath } from '../support/demo-model.js';
import { writeHollowDecoder } from '../support/random-model.js';

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-start-'));
const test = suite('cli: errors at start');
test.after(() => fs.rmSync(folder, { recursive: true }));

test('a port in use: by whom, and which one is free', async () => {
  const holder = net.createServer();
  await new Promise<void>((resolve) => holder.listen(0, '127.0.0.1', resolve));
  const { port } = holder.address() as net.AddressInfo;
  const { code, stderr } = await runCli(['serve', '--port', String(port), '--model', '/nowhere.gguf']);
  holder.close();
  assert.is(code, 1);
  const by = process.platform === 'linux' ? `is used by \\S+ \\(process ${process.pid}\\); stop it` : 'is in use; .*';
  assert.match(
    stderr,
    new RegExp(`^chasqui: port ${port} at 127.0.0.1 ${by}, or choose another with --port: \\d+ is free\n$`),
  );
  const [, free] = /--port: (\d+) is free/.exec(stderr) ?? [];
  assert.ok(Number(free) > port && Number(free) <= port + 20);
});

test('a file that is no model: what it is', async () => {
  const file = path.join(folder, 'model.gguf');
  fs.writeFileSync(file, '<!DOCTYPE html><html></html>');
  const { code, stderr } = await runCli(['serve', '--port', '0', '--model', file]);
  assert.is(code, 1);
  assert.match(stderr, /model\.gguf is not a GGUF file.* It is a web page: .*\/resolve\//);
  assert.is(stderr.trim().split('\n').length, 1);
});

if (process.platform !== 'win32') {
  test('a pipe and a device are no files, and are not waited for', async () => {
    const pipe = path.join(folder, 'pipe.gguf');
    spawnSync('mkfifo', [pipe]);
    for (const file of [pipe, '/dev/zero']) {
      const { code, stderr } = await runCli(['serve', '--port', '0', '--model', file]);
      assert.is(code, 1);
      assert.match(stderr, new RegExp(`^chasqui: ${file} is a device, a pipe or a socket, not a file\\.\n$`));
    }
    assert.is((await callCli(['bench', '--model', pipe])).code, 1);
    fs.rmSync(pipe);
  });
}

test('a folder, and a file that is not there: which models there are', async () => {
  fs.copyFileSync(demoModelPath, path.join(folder, 'demo.gguf'));
  const folderGiven = await runCli(['serve', '--port', '0', '--model', folder]);
  assert.match(folderGiven.stderr, /is a folder\. .*It contains 2 models: .*demo\.gguf/);
  const nearly = await runCli(['serve', '--port', '0', '--model', path.join(folder, 'demmo.gguf')]);
  assert.match(nearly.stderr, /is not a readable file .*Did you mean \S+demo\.gguf\?/);
});

test('files of options: which option', async () => {
  for (const option of ['--lora', '--mmproj', '--draft-model']) {
    const file = path.join(folder, 'demmo.gguf');
    const { code, stderr } = await runCli(['serve', '--port', '0', option, file]);
    assert.is(code, 1);
    assert.match(
      stderr,
      new RegExp(`^chasqui: ${option}: ${file} is not a readable file .*Did you mean \\S+/demo\\.gguf`),
    );
  }
  const noModel = await runCli(['serve', '--port', '0', '--lora', folder]);
  assert.match(noModel.stderr, new RegExp(`^chasqui: --lora: ${folder} is a folder\\.`));
});

test('a name that is no model: where the models are', async () => {
  for (const [run, ...args] of [
    [callCli, 'serve', 'nosuch'],
    [callCli, 'serve', '-m', 'nosuch'],
    [runCli, 'run', 'nosuch', 'Hi'],
  ] as const) {
    const { code, stderr } = await run(args);
    assert.is(code, 5);
    assert.match(
      stderr,
      /^chasqui: nosuch is no file, and no model on this computer; npx chasqui ls .* chasqui search /,
    );
  }
});

test('no memory: which context would fit', async () => {
  const shape = { width: 1024, hidden: 2048, layers: 24 };
  const file = writeHollowDecoder(path.join(folder, 'large.gguf'), shape);
  const args = ['--model', file, '--ctx-size', '32768', '--parallel', '256'];
  const { code, stderr } = await runCli(['serve', '--port', '0', ...args]);
  assert.is(code, 1);
  const says =
    /With 256 × 32768 tokens of context it needs (\d+) GB, but only ([\d.]+) GB are free\. --ctx-size (\d+) fits\.$/m;
  const [, needed, free, fitting] = (says.exec(stderr) ?? []).map(Number);
  assert.ok(needed && free && fitting, stderr);
  // Keys and values of two bytes a number.
  const cellBytes = 2 * 2 * shape.width * shape.layers;
  assert.ok(needed * 1e9 > 32768 * 256 * cellBytes);
  assert.ok(fitting * 256 * cellBytes < free * 1e9);
  assert.is(fitting % 256, 0);
});

test.run();
