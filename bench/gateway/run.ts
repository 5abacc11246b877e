/**
 * What the gateway costs: processor time for each token that passes through, and time to the first token. Beside it the
 * runner alone, the least that Node can do (`plain-pipe.ts`), Caddy as a plain proxy where it is installed, and the gateway
 * of another checkout. They take turns, so that what else the machine does falls on all of them.
 *
 *   node --import tsx bench/gateway/run.ts [--streams 32] [--tokens 200] [--rounds 5] [--caddy /path/to/caddy] \
 *     [--other /path/to/another/checkout]
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { statFields } from '../../test/support/process-tree.js';
import { table } from '../table.js';

const { values } = parseArgs({
  options: {
    streams: { type: 'string', default: '32' },
    tokens: { type: 'string', default: '200' },
    rounds: { type: 'string', default: '5' },
    caddy: { type: 'string', default: 'caddy' },
    other: { type: 'string' },
  },
});
const [streams, tokens, rounds] = [values.streams, values.tokens, values.rounds].map(Number) as [
  number,
  number,
  number,
];
const folder = mkdtempSync(path.join(os.tmpdir(), 'gateway-'));
const runnerSocket = path.join(folder, 'runner');
const children: ChildProcess[] = [];

/** Of /proc, on every architecture. */
const TICKS_PER_SECOND = 100;

interface Subject {
  name: string;
  target: http.RequestOptions;
  /** Null for the runner, which has work of its own. */
  pid: number | null;
}

/** Starts a program and waits for its first line. */
function start(command: string, args: readonly string[]): Promise<{ child: ChildProcess; line: string }> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.stdout?.once('data', (data) => resolve({ child, line: String(data).trim() }));
  });
}

function script(name: string, ...args: string[]): Promise<{ child: ChildProcess; line: string }> {
  return start(process.execPath, ['--import', 'tsx', fileURLToPath(new URL(name, import.meta.url)), ...args]);
}

/** A script that passes requests on to the runner, and prints its port. */
async function proxy(name: string, file: string): Promise<Subject> {
  const { child, line } = await script(file, runnerSocket);
  return { name, target: { host: '127.0.0.1', port: Number(line) }, pid: child.pid ?? null };
}

async function freePort(): Promise<number> {
  const server = net.createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as net.AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function startCaddy(): Promise<Subject | null> {
  if (spawnSync(values.caddy, ['version']).status !== 0) return null;
  const port = await freePort();
  const file = path.join(folder, 'Caddyfile');
  const site = `{\n  admin off\n  auto_https off\n  log {\n    level ERROR\n  }\n}\nhttp://127.0.0.1:${port} {\n`;
  const rules = `  uri strip_prefix /acme/chat\n  reverse_proxy unix/${runnerSocket} {\n    flush_interval -1\n  }\n}\n`;
  writeFileSync(file, site + rules);
  const child = spawn(values.caddy, ['run', '--config', file, '--adapter', 'caddyfile'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  children.push(child);
  for (;;) {
    const connected = await new Promise<boolean>((resolve) => {
      const socket = net.connect(port, '127.0.0.1', () => resolve(true));
      socket.once('error', () => resolve(false));
      socket.once('connect', () => socket.destroy());
    });
    if (connected) return { name: 'Caddy', target: { host: '127.0.0.1', port }, pid: child.pid ?? null };
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Sends a request and reads the stream to its end. Returns the milliseconds to its first byte. */
function ask(target: http.RequestOptions, agent: http.Agent): Promise<number> {
  const body = JSON.stringify({ model: 'demo', stream: true, messages: [{ role: 'user', content: 'x'.repeat(2000) }] });
  const began = performance.now();
  return new Promise((resolve, reject) => {
    const headers = { authorization: 'Key k:s', 'content-type': 'application/json', 'content-length': body.length };
    const request = http.request({ ...target, agent, method: 'POST', path: '/acme/chat/v1/chat/completions', headers });
    request.once('error', reject);
    request.once('response', (response) => {
      let first: number | null = null;
      let last = '';
      let frames = 0;
      response.on('data', (data: Buffer) => {
        first ??= performance.now() - began;
        frames += data.toString('latin1').split('data: ').length - 1;
        last = (last + data.toString('latin1')).slice(-20);
      });
      response.once('end', () => {
        if (response.statusCode === 200 && last.includes('[DONE]')) resolve(first ?? 0);
        else reject(new Error(`status ${response.statusCode}, ${frames} frames, ending in ${last}`));
      });
    });
    request.end(body);
  });
}

/** Seconds of processor time, and those of it that the kernel took. */
function cpuOf(pid: number): { all: number; kernel: number } {
  const [user, kernel] = statFields(pid).slice(11, 13).map(Number) as [number, number];
  return { all: (user + kernel) / TICKS_PER_SECOND, kernel: kernel / TICKS_PER_SECOND };
}

const median = (all: readonly number[]): number =>
  [...all].sort((a, b) => a - b)[Math.floor(all.length / 2)] ?? Number.NaN;

try {
  await script('paced-runner.ts', runnerSocket, String(tokens));
  const subjects: Subject[] = [
    { name: 'the runner alone', target: { socketPath: runnerSocket }, pid: null },
    await proxy('the gateway', 'serve-gateway.ts'),
    await proxy('a plain pipe in Node', 'plain-pipe.ts'),
  ];
  if (values.other !== undefined) {
    const file = path.resolve(values.other, 'bench/gateway/serve-gateway.ts');
    subjects.push(await proxy('the gateway of the other checkout', pathToFileURL(file).href));
  }
  const caddy = await startCaddy();
  if (caddy) subjects.push(caddy);

  const results = subjects.map(() => ({ cpu: [] as number[], kernel: [] as number[], first: [] as number[] }));
  for (let round = -1; round < rounds; round++) {
    for (const [at, { target, pid }] of subjects.entries()) {
      const agent = new http.Agent({ keepAlive: true });
      const before = pid === null ? null : cpuOf(pid);
      await Promise.all(Array.from({ length: streams }, () => ask(target, agent))).catch((error) => {
        throw new Error(subjects[at]?.name, { cause: error });
      });
      const after = pid === null ? null : cpuOf(pid);
      const firsts: number[] = [];
      for (let number = 0; number < 3; number++) firsts.push(await ask(target, agent));
      agent.destroy();
      // The first round is for compilers and caches.
      if (round < 0) continue;
      const result = results[at] as (typeof results)[number];
      if (before !== null && after !== null) {
        result.cpu.push(((after.all - before.all) * 1e6) / (streams * tokens));
        result.kernel.push(((after.kernel - before.kernel) * 1e6) / (streams * tokens));
      }
      result.first.push(...firsts);
    }
  }
  const alone = median(results[0]?.first ?? []);
  const rows = subjects.map(({ name, pid }, at) => {
    const { cpu, kernel, first } = results[at] as (typeof results)[number];
    const added = median(first) - alone;
    return [
      name,
      pid === null ? '' : median(cpu).toFixed(1),
      pid === null ? '' : median(kernel).toFixed(1),
      median(first).toFixed(2),
      pid === null ? '' : added.toFixed(2),
    ];
  });
  console.log(`${streams} streams of ${tokens} tokens, medians of ${rounds} rounds\n`);
  console.log(table(['', 'CPU µs/token', 'in the kernel', 'first token ms', 'added ms'], rows));
} finally {
  for (const child of children) child.kill();
  rmSync(folder, { recursive: true, force: true });
}
process.exit();
