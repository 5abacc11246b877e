// Changing files, exhausted descriptors, and a stop under load.
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Child, startChild, startCliInShell, untilWritten } from '../support/child.js';
import { demoModelPath } from '../support/demo-model.js';
import { openDescriptors, SHORT_DELAYS, untilEngineOf } from '../support/engine-process.js';
import { until } from '../support/until.js';

const MAX_DESCRIPTORS = 200;
const SERVE = ['serve', '--port', '0', '--alias', 'm', '--threads', '1'];

const test = suite<{ folder: string; model: string; servers: Child[] }>('faults: the system');

test.before.each((context) => {
  context.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-faults-'));
  context.model = path.join(context.folder, 'model.gguf');
  context.servers = [];
  fs.copyFileSync(demoModelPath, context.model);
});
test.after.each(async ({ folder, servers }) => {
  for (const server of servers) {
    server.process.kill('SIGKILL');
    await server.exited;
  }
  fs.rmSync(folder, { recursive: true });
});

async function serve(servers: Child[], args: readonly string[]): Promise<{ server: Child; url: string }> {
  return untilServing(servers, startChild('ts/cli.ts', [...SERVE, ...args], SHORT_DELAYS));
}

async function untilServing(servers: Child[], server: Child): Promise<{ server: Child; url: string }> {
  servers.push(server);
  const [, url = ''] = await untilWritten(server, /^Serving .* at (http:\S+)\/v1$/m);
  return { server, url };
}

async function ask(url: string, settings: object = {}): Promise<{ status: number; code: string | null }> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', connection: 'close' },
    body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'Hi' }], max_tokens: 3, ...settings }),
  });
  const body = (await response.json()) as { error?: { code: string } };
  return { status: response.status, code: body.error?.code ?? null };
}

test('a model file that is replaced by another is served on as it was', async ({ model, servers, folder }) => {
  const { url } = await serve(servers, ['--model', model]);
  const other = path.join(folder, 'other.gguf');
  fs.writeFileSync(other, 'not a model');
  fs.renameSync(other, model);
  assert.equal(await ask(url), { status: 200, code: null });
});

test('a model file that is cut short ends its engine for good, and the server says why', async ({ model, servers }) => {
  const { server, url } = await serve(servers, ['--model', model]);
  fs.truncateSync(model, 4096);
  // Some of the file may be mapped still; what is cut off is missed sooner or later.
  await until(async () => (await ask(url)).code === 'engine_failed', 'an engine that is given up', 60_000);
  assert.is(server.process.exitCode, null);
  assert.is((await fetch(`${url}/live`)).status, 200);
  assert.is((await fetch(`${url}/ready`)).status, 503);
  assert.match(server.output.stderr, /the engine ended: it could not be started again: .*; it is not started again/);
});

test('a server without free descriptors takes connections again when there are some', async ({ servers }) => {
  const { server, url } = await serveLimited(servers);
  const sockets = await useDescriptors(server, url);
  for (const socket of sockets) socket.destroy();
  await until(async () => (await ask(url).catch(() => null))?.status === 200, 'an answer', 60_000);
  assert.is(server.process.exitCode, null);
});

test('an engine that ends while there are no free descriptors is started again when there are some', async ({
  servers,
}) => {
  const { server, url } = await serveLimited(servers);
  const engine = await untilEngineOf(server.process.pid as number);
  const sockets = await useDescriptors(server, url);
  process.kill(engine, 'SIGSEGV');
  const failed = () => /could not be started again.*as many files and connections open/.test(server.output.stderr);
  await until(failed, 'a start that fails', 60_000);
  for (const socket of sockets) socket.destroy();
  await until(async () => (await ask(url).catch(() => null))?.status === 200, 'an answer', 60_000);
  assert.is(server.process.exitCode, null);
});

async function serveLimited(servers: Child[]): Promise<{ server: Child; url: string }> {
  const script = `ulimit -n ${MAX_DESCRIPTORS}; exec "$@"`;
  return untilServing(servers, startCliInShell(script, SERVE, SHORT_DELAYS));
}

/** Connects until the server has no descriptor left. */
async function useDescriptors(server: Child, url: string): Promise<net.Socket[]> {
  const { hostname, port } = new URL(url);
  const sockets = Array.from({ length: 1.5 * MAX_DESCRIPTORS }, () =>
    net.connect(Number(port), hostname).on('error', () => {}),
  );
  await until(() => openDescriptors(server.process.pid as number) >= MAX_DESCRIPTORS - 1, 'no descriptor is left');
  return sockets;
}

test('a stop under load fails no request that had arrived', async ({ servers }) => {
  const { server, url } = await serve(servers, ['--parallel', '4']);
  const asked = Array.from({ length: 12 }, () => ask(url, { max_tokens: 60, ignore_eos: true }));
  const { port } = new URL(url);
  const isComplete = async () => {
    const { active, queued, jobs_finished } = (await (await fetch(`${url}/health`)).json()) as Record<string, number>;
    return Number(active) + Number(queued) + Number(jobs_finished) === asked.length;
  };
  await until(isComplete, 'all requests to arrive');
  server.process.kill('SIGTERM');
  for (const outcome of await Promise.all(asked)) assert.equal(outcome, { status: 200, code: null });
  assert.equal(await server.exited, { code: 0, signal: null }, server.output.stderr);
  await assertRefused(Number(port));
});

function assertRefused(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    net.connect(port, '127.0.0.1', () => reject(new Error('it still listens'))).on('error', () => resolve());
  });
}

test.run();
