/**
 * Measures the gateway: CPU time per token and per request, and time to first token. Other subjects: the runner alone, a
 * plain pipe (`plain-pipe.ts`), Node's server and client (`http-pipe.ts`), Caddy as a plain proxy if it is installed, and the
 * gateway of another checkout. The subjects run alternately, so other load on the machine affects all of them.
 *
 *   node --import tsx bench/gateway/run.ts [--streams 32] [--tokens 200] [--rounds 5] [--caddy /path/to/caddy] \
 *     [--other /path/to/another/checkout]
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { freePort } from '../../test/support/free-port.js';
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

const TICKS_PER_SECOND = 100;
/** Short requests, to measure the cost per request. */
const SHORT = { tokens: 2, repeats: 4 };
const FIRSTS = 9;

interface Subject {
  name: string;
  target: http.RequestOptions;
  /** Null for the runner, whose CPU time is not measured. */
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
function ask(target: http.RequestOptions, agent: http.Agent, count: number): Promise<number> {
  const messages = [{ role: 'user', content: 'x'.repeat(2000) }];
  const body = JSON.stringify({ model: 'demo', stream: true, max_tokens: count, messages });
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

interface Cost {
  all: number;
  kernel: number;
}

/** CPU time and kernel time in microseconds, with a resolution of 10 ms. */
function cpuOf(pid: number): Cost {
  const tasks = readdirSync(`/proc/${pid}/task`).map((task) => `/proc/${pid}/task/${task}/schedstat`);
  const nanoseconds = tasks.map((file) => Number(readFileSync(file, 'utf8').split(' ')[0]));
  const kernel = (Number(statFields(pid)[12]) / TICKS_PER_SECOND) * 1e6;
  return { all: nanoseconds.reduce((sum, each) => sum + each, 0) / 1e3, kernel };
}

/** CPU time of a proxy for the given number of concurrent requests and tokens. Zero for the runner. */
async function costOf(
  { name, target, pid }: Subject,
  agent: http.Agent,
  count: number,
  repeats: number,
): Promise<Cost> {
  const before = pid === null ? null : cpuOf(pid);
  for (let done = 0; done < repeats; done++) {
    await Promise.all(Array.from({ length: streams }, () => ask(target, agent, count))).catch((error) => {
      throw new Error(name, { cause: error });
    });
  }
  if (pid === null || before === null) return { all: 0, kernel: 0 };
  const after = cpuOf(pid);
  return { all: after.all - before.all, kernel: after.kernel - before.kernel };
}

const median = (all: readonly number[]): number =>
  [...all].sort((a, b) => a - b)[Math.floor(all.length / 2)] ?? Number.NaN;

try {
  await script('paced-runner.ts', runnerSocket);
  const subjects: Subject[] = [
    { name: 'the runner alone', target: { socketPath: runnerSocket }, pid: null },
    await proxy('the gateway', 'serve-gateway.ts'),
    await proxy('a plain pipe in Node', 'plain-pipe.ts'),
    await proxy("Node's server, client and pipe()", 'http-pipe.ts'),
  ];
  if (values.other !== undefined) {
    const file = path.resolve(values.other, 'bench/gateway/serve-gateway.ts');
    subjects.push(await proxy('the gateway of the other checkout', pathToFileURL(file).href));
  }
  const caddy = await startCaddy();
  if (caddy) subjects.push(caddy);

  const results = subjects.map(() => ({
    token: [] as number[],
    kernel: [] as number[],
    request: [] as number[],
    first: [] as number[],
  }));
  for (let round = -1; round < rounds; round++) {
    for (const [at, subject] of subjects.entries()) {
      const agent = new http.Agent({ keepAlive: true });
      const short = await costOf(subject, agent, SHORT.tokens, SHORT.repeats);
      const long = await costOf(subject, agent, tokens, 1);
      const firsts: number[] = [];
      for (let number = 0; number < FIRSTS; number++) firsts.push(await ask(subject.target, agent, SHORT.tokens));
      agent.destroy();
      // Warm-up round.
      if (round < 0) continue;
      const result = results[at] as (typeof results)[number];
      const perRequest = short.all / (streams * SHORT.repeats);
      const moreTokens = streams * (tokens - SHORT.tokens);
      result.token.push((long.all - perRequest * streams) / moreTokens);
      result.kernel.push((long.kernel - short.kernel / SHORT.repeats) / moreTokens);
      result.request.push(perRequest);
      result.first.push(...firsts);
    }
  }
  const alone = median(results[0]?.first ?? []);
  const rows = subjects.map(({ name, pid }, at) => {
    const { token, kernel, request, first } = results[at] as (typeof results)[number];
    const costs = [token, kernel, request].map((each) => (pid === null ? '' : median(each).toFixed(1)));
    const added = pid === null ? '' : (median(first) - alone).toFixed(2);
    return [name, ...costs, median(first).toFixed(2), added];
  });
  console.log(
    `${streams} streams of ${tokens} tokens, medians of ${rounds} rounds; a request is one of ${SHORT.tokens} tokens\n`,
  );
  const heads = ['', 'CPU µs/token', 'in the kernel', 'CPU µs/request', 'first token ms', 'added ms'];
  console.log(table(heads, rows));
} finally {
  for (const child of children) child.kill();
  rmSync(folder, { recursive: true, force: true });
}
process.exit();
