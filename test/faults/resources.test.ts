// A server with exhausted disk or memory, and with clock jumps.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { memoryGroup } from '../support/cgroup.js';
import { type Child, runCli, startChild, startCliInShell, untilWritten } from '../support/child.js';
import { demoModelPath } from '../support/demo-model.js';
import { isAlive, untilEngineOf } from '../support/engine-process.js';
import { readJson } from '../support/read-json.js';
import { until } from '../support/until.js';

const test = suite<{ folder: string; servers: Child[] }>('faults: resources');

test.before.each((context) => {
  context.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-resources-'));
  context.servers = [];
});
test.after.each(async ({ folder, servers }) => {
  for (const server of servers) {
    server.process.kill('SIGKILL');
    await server.exited;
  }
  fs.rmSync(folder, { recursive: true });
});

const ARGS = ['serve', '--port', '0', '--alias', 'm', '--threads', '1'];

async function serve(servers: Child[], args: readonly string[] = [], variables: NodeJS.ProcessEnv = {}) {
  const server = startChild('ts/cli.ts', [...ARGS, ...args], variables);
  servers.push(server);
  return { server, url: await urlOf(server) };
}

async function urlOf(server: Child): Promise<string> {
  const [, url = ''] = await untilWritten(server, /^Serving .* at (http:\S+)\/v1$/m);
  return url;
}

function post(url: string, body: object): Promise<Response> {
  return fetch(`${url}/v1/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', connection: 'close' },
    body: JSON.stringify({ model: 'm', prompt: 'Hi', max_tokens: 3, ...body }),
  });
}

async function stop(server: Child): Promise<void> {
  server.process.kill('SIGTERM');
  assert.equal(await server.exited, { code: 0, signal: null }, server.output.stderr);
}

test('a log that cannot be written any more is given up; requests are not', async ({ servers }) => {
  const server = startCliInShell('exec "$@" 2>/dev/full', ARGS);
  servers.push(server);
  const url = await urlOf(server);
  for (let each = 0; each < 5; each += 1) assert.is((await post(url, {})).status, 200);
  assert.is((await post(url, { prompt: 3 })).status, 400);
  await stop(server);
});

/** Mounts a file system in memory, where this account may do so. */
function mount(folder: string, options: string): boolean {
  return spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'none', folder]).status === 0;
}

test('a home that cannot be written is missed by nobody', async ({ folder, servers }) => {
  const home = path.join(folder, 'home');
  fs.mkdirSync(home);
  const isReadOnly = mount(home, 'ro');
  try {
    for (const each of isReadOnly ? [home, '/dev/null'] : ['/dev/null']) {
      const { server, url } = await serve(servers, [], { HOME: each });
      assert.is((await post(url, {})).status, 200);
      await stop(server);
    }
  } finally {
    if (isReadOnly) spawnSync('umount', ['-l', home]);
  }
});

test('a model that does not fit onto the disk ends the start with the reason, and leaves nothing', async ({
  folder,
}) => {
  const disk = path.join(folder, 'disk');
  fs.mkdirSync(disk);
  // Without the right to mount, simulate a full disk by a read-only folder.
  const isDisk = mount(disk, 'size=1m');
  const dataDir = isDisk ? disk : '/dev/null';
  const origin = http.createServer((_request, reply) => fs.createReadStream(demoModelPath).pipe(reply));
  await new Promise<void>((resolve) => origin.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(origin.address() as AddressInfo).port}/model.gguf`;
  try {
    const ended = await runCli([...ARGS, '--model-url', url, '--data-dir', dataDir]);
    assert.is(ended.code, 1);
    assert.match(ended.stderr, isDisk ? /ENOSPC|no space left/i : /ENOTDIR/);
    const left = isDisk ? fs.readdirSync(disk, { recursive: true, withFileTypes: true }) : [];
    assert.equal(
      left.filter((entry) => entry.isFile()).map(({ name }) => name),
      [],
    );
  } finally {
    origin.close();
    if (isDisk) spawnSync('umount', ['-l', disk]);
  }
});

const group = memoryGroup(1 << 20);
process.once('exit', () => {
  try {
    group?.remove();
  } catch {
    // A process that is still ending keeps it.
  }
});

// Skipped without cgroups.
if (group !== null) {
  test('an engine that the kernel ends for want of memory is started again, and the server says why', async ({
    servers,
  }) => {
    const { server, url } = await serve(servers);
    const engine = await untilEngineOf(server.process.pid as number);
    group.add(engine);
    let asked = 0;
    await until(
      async () => {
        asked += 1;
        const prompt = `${asked} `.repeat(1000);
        const { status } = await post(url, { prompt });
        assert.ok([200, 503].includes(status), `status ${status}`);
        return !isAlive(engine);
      },
      'the end of the engine',
      60_000,
    );
    await until(async () => (await post(url, {})).status === 200, 'an answer of the next one', 60_000);
    assert.match(server.output.stderr, /the engine ended: .*memory/);
    assert.is(server.process.exitCode, null);
    await stop(server);
  });
}

test('a wall clock that jumps ends nothing early and nothing late', async ({ servers }) => {
  const clock = pathToFileURL(path.resolve('test/support/jumping-clock.mjs')).href;
  const { server, url } = await serve(servers, ['--ttl', '1000', '--load-timeout', '60', '--step-timeout', '60'], {
    NODE_OPTIONS: `--import ${clock}`,
  });
  const engine = await untilEngineOf(server.process.pid as number);
  const jump = () => {
    for (const pid of [server.process.pid as number, engine]) process.kill(pid, 'SIGPWR');
  };
  for (let each = 0; each < 4; each += 1) {
    const running = post(url, { max_tokens: 300, ignore_eos: true });
    jump();
    const reply = await running;
    const { usage, created } = await readJson(reply);
    assert.equal([reply.status, usage.completion_tokens], [200, 300]);
    assert.ok(Number.isInteger(created));
    const [{ status }] = (await readJson(await fetch(`${url}/v1/models`))).data;
    assert.is(status.value, 'loaded');
  }
  const metrics = await (await fetch(`${url}/metrics`)).text();
  const negative = metrics.split('\n').filter((line) => / -[\d.]/.test(line) && !line.startsWith('#'));
  assert.equal(negative, []);
  // An hour either way is more than any histogram here should have seen.
  for (const [, name, value] of metrics.matchAll(/^(chasqui_\w+_seconds_sum)\S* ([\d.e+]+)$/gm)) {
    assert.ok(Number(value) < 3000, `${name} ${value}`);
  }
  assert.is(await untilEngineOf(server.process.pid as number), engine);
  await stop(server);
});

const SLOW_TEMPLATE =
  "{% if messages[0].content == 'slow' %}{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}" +
  '{% endif %}{{ messages[0].content }}';

test('an abort while a template is rendered ends the engine alone', async ({ servers }) => {
  const { server, url } = await serve(servers, ['--chat-template', SLOW_TEMPLATE, '--prepare-timeout', '3']);
  const chat = (content: string) =>
    fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', connection: 'close' },
      body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content }], max_tokens: 3 }),
    });
  const engine = await untilEngineOf(server.process.pid as number);
  const slow = chat('slow');
  // It is being rendered by now, or will be by the next engine: both end alike.
  assert.is((await chat('Hi')).status, 200);
  process.kill(engine, 'SIGABRT');
  const { status } = await slow;
  const { error } = await readJson(await chat('slow'));
  assert.ok([400, 503].includes(status), `status ${status}`);
  assert.is(error.code, 'prepare_timeout');
  assert.is((await chat('Hi')).status, 200);
  assert.not.equal(await untilEngineOf(server.process.pid as number, engine), engine);
  assert.is(server.process.exitCode, null);
  await stop(server);
});

test.run();
