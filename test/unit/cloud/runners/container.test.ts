// Files of a container on the host, and podman's exit states.
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Container, describeContainerExit } from '../../../../ts/cloud/runners/container.js';
import { Podman } from '../../../../ts/cloud/runners/podman.js';
import { RunnerProcess } from '../../../../ts/cloud/runners/runner-process.js';

const test = suite('cloud: containers');
let folder = '';
let container: Container;

test.before.each(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-run-'));
  container = new Container(new Podman('i'), folder, 'r1');
  fs.mkdirSync(container.folder);
});
test.after.each(() => fs.rmSync(folder, { recursive: true }));

async function listen(file: string, says: string): Promise<net.Server> {
  const server = net.createServer((socket) => socket.end(says));
  await new Promise<void>((resolve) => server.listen(file, resolve));
  return server;
}

function read(file: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    const socket = net.connect({ path: file });
    socket.on('data', (data) => {
      text += data;
    });
    socket.once('end', () => resolve(text)).once('error', reject);
  });
}

test('a socket is reached outside, also when another has taken its place inside', async () => {
  const { socketPath } = container.sockets;
  const own = await listen(socketPath, 'own');
  const other = await listen(path.join(folder, 'other.sock'), 'other');
  container.exposeSockets();
  const outside = path.join(folder, 'r1.sock');
  assert.is(await read(outside), 'own');
  fs.rmSync(socketPath);
  fs.symlinkSync(path.join(folder, 'other.sock'), socketPath);
  container.exposeSockets();
  assert.is(await read(socketPath), 'other');
  assert.is(await read(outside), 'own');
  own.close();
  other.close();
});

test('only sockets are made reachable', () => {
  const { socketPath, controlPath } = container.sockets;
  fs.symlinkSync('/run/podman/podman.sock', socketPath);
  fs.writeFileSync(controlPath, '');
  container.exposeSockets();
  assert.equal(fs.readdirSync(folder), ['r1']);
});

test('the number of the process is what podman wrote, outside', () => {
  assert.is(container.pid, null);
  fs.writeFileSync(path.join(folder, 'r1.pid'), '4711\n');
  assert.is(container.pid, 4711);
});

test('what podman leaves where it works is left in the folder of the runner, and goes with it', async () => {
  const program = path.join(folder, 'podman');
  fs.writeFileSync(program, `#!/bin/sh\n: > oom; ls "$PWD"/* > ${folder}/left\n`, { mode: 0o755 });
  const model = { modelPath: '/models/none.gguf', options: {}, others: [] };
  const config = { ...model, id: 'r1', bootId: RunnerProcess.newBootId(), endsWithParent: false };
  const isolation = {
    organisation: 'me',
    container,
    limits: { memoryBytes: 2 ** 20, cpus: null, gpus: [] },
    writable: [],
  };
  const command = { command: [], environment: { PATH: `${folder}:/usr/bin:/bin` }, secrets: {} };
  const log = path.join(folder, 'log');
  const how = await new Promise<string>((onEnd) => {
    const listener = { onStatus: () => undefined, onEnd };
    RunnerProcess.start(folder, config as never, command as never, log, listener as never, isolation);
  });
  assert.match(how, /exit code 0/);
  assert.is(fs.readFileSync(path.join(folder, 'left'), 'utf8'), `${path.join(container.workingFolder, 'oom')}\n`);
  assert.equal(fs.readdirSync(folder).sort(), ['left', 'log', 'podman']);
});

for (const status of ['stopped', 'exited']) {
  test(`what podman says of a container that is ${status} is how it ended`, async () => {
    const program = path.join(folder, 'podman');
    fs.writeFileSync(program, `#!/bin/sh\ncase "$*" in *inspect*) echo ${status} 137 true 1048576;; esac\n`, {
      mode: 0o755,
    });
    const { PATH } = process.env;
    process.env.PATH = `${folder}:${PATH}`;
    try {
      assert.is(await container.remove(), 'it ran out of memory: its limit is 1 MiB');
    } finally {
      process.env.PATH = PATH;
    }
  });
}

test('exit codes of podman are told in words', () => {
  assert.is(describeContainerExit(125), 'podman could not start its container');
  assert.is(describeContainerExit(137), 'it was ended by SIGKILL');
  assert.is(describeContainerExit(3), 'it ended with exit code 3');
  assert.is(describeContainerExit(200), 'it ended with exit code 200');
});

test.run();
