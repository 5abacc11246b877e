// Runners that cannot be started, and runners that send invalid messages.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { RunnerStatus } from '../../../../ts/cloud/runners/protocol.js';
import { RunnerProcess } from '../../../../ts/cloud/runners/runner-process.js';

test('a log that cannot be opened is the end of its runner, and of nothing else', async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-run-'));
  const noFolder = path.join(folder, 'file');
  fs.writeFileSync(noFolder, '');
  const config = { id: 'r1', bootId: RunnerProcess.newBootId(), endsWithParent: false };
  const command = { command: [process.execPath], environment: {}, secrets: {} };
  const how = await new Promise<string>((onEnd) => {
    const listener = { onStatus: () => undefined, onEnd };
    const isolation = {
      organisation: 'me',
      container: null,
      limits: { memoryBytes: 2 ** 30, cpus: null, gpus: [] },
      writable: [],
    };
    RunnerProcess.start(folder, config as never, command as never, path.join(noFolder, 'r1.log'), listener, isolation);
  });
  assert.match(how, /^it failed to start: E(EXIST|NOTDIR)/);
  fs.rmSync(folder, { recursive: true });
});

const onLinux = process.platform === 'linux' ? test : test.skip;

onLinux('an adopted runner that exceeds its memory is ended, and the reason says so', async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-run-'));
  const script = `const held = Buffer.alloc(${100 * 2 ** 20}, 1); console.log('holds it'); setInterval(() => held.length, 1e6)`;
  const child = spawn(process.execPath, ['-e', script, path.join(folder, 'r1.json')], { detached: true });
  await once(child.stdout, 'data');
  const how = await new Promise<string>((onEnd) => {
    const record = { id: 'r1', organisation: 'me', bootId: 'b1', pid: child.pid as number, memoryBytes: 50 * 2 ** 20 };
    RunnerProcess.adopt(folder, record, { onStatus: () => undefined, onEnd });
  });
  assert.is(how, 'it ran out of memory: its limit is 50 MiB');
  fs.rmSync(folder, { recursive: true });
});

const STATUS: RunnerStatus = { bootId: 'b1', pid: 7, state: 'ready', fraction: 1, models: [], failure: null };

/** What is told of a runner that writes this on its control socket: its states, and at last how it ended. */
async function toldOf(written: string): Promise<unknown[]> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-run-'));
  const server = net.createServer((socket) => socket.on('error', () => undefined).write(written));
  await new Promise<void>((resolve) => server.listen(path.join(folder, 'r1.ctl'), resolve));
  const told: unknown[] = [];
  await new Promise<void>((resolve) => {
    const onEnd = (how: string) => {
      told.push(how);
      resolve();
    };
    const onStatus = (status: RunnerStatus) => told.push(status);
    RunnerProcess.adopt(
      folder,
      { id: 'r1', organisation: 'me', bootId: 'b1', pid: null, memoryBytes: 2 ** 30 },
      { onStatus, onEnd },
    );
  });
  await new Promise((resolve) => server.close(resolve));
  fs.rmSync(folder, { recursive: true });
  return told;
}

const line = (changes: object): string => JSON.stringify({ ...STATUS, ...changes });

for (const said of [
  'null',
  '3',
  '[]',
  '{}',
  'no JSON',
  line({ bootId: 7 }),
  line({ pid: 0 }),
  line({ state: 'dancing' }),
  line({ fraction: 'all' }),
  line({ fraction: 0 }).replace('"fraction":0', '"fraction":1e999'),
  line({ models: undefined }),
  line({ models: [null] }),
  line({ models: [{ id: 'm', generates: 'yes', pooling: 'none' }] }),
  line({ failure: 'it failed' }),
  line({ failure: { code: 'engine_failed', message: {} } }),
]) {
  test(`a runner that says ${said} is ended, and nothing else`, async () => {
    assert.equal(await toldOf(`${said}\n`), ['it sent an invalid status']);
  });
}

test('a line that is longer than those of runners ends its runner before it is complete', async () => {
  assert.equal(await toldOf('x'.repeat(65 * 1024)), ['it sent an invalid status']);
});

test('states are told as they come, with what a later version adds to them, and those behind nonsense are not', async () => {
  const models = [{ id: 'm', generates: true, pooling: 'none' }];
  const failure = { code: 'model_file_missing', message: 'It is gone.' };
  const lines = [line({ models }), line({ failure, more: 1 }), 'null', line({})];
  assert.equal(await toldOf(`${lines.join('\n')}\n`), [
    { ...STATUS, models },
    { ...STATUS, failure, more: 1 },
    'it sent an invalid status',
  ]);
});

test.run();
