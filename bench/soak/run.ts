/**
 * Runs many clients with mixed requests for a long time: `npm run bench:soak`.
 * Options: --minutes N (default 5), --clients N (16), --parallel N (6), --seed N (1), --drops (only connections that open
 * and drop), and after a second `--` any options of `chasqui serve`.
 * Answers to fixed requests at temperature 0 are compared with those of the idle server, token by token if the reply reports
 * tokens. Rounding depends on the batch, so an answer may differ where the margin was small. Such answers are listed with
 * their margin; with `--deterministic` they are violations. A difference with an unknown margin is a violation.
 * Exits with code 1 and a list of violations if an answer was wrong, a valid request failed, or the server did not return to
 * its initial state.
 */
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { seededRandom } from '../../test/support/seeded-random.js';
import { type Answer, readAnswer } from './answers.js';
import { runClient } from './clients.js';
import { exchange } from './exchange.js';
import { askIdle } from './idle.js';
import { curve, judgeMemory } from './memory.js';
import { body, type ChatRequest, conversations, fixedRequests, withMargins } from './requests.js';
import { ServerProcess } from './server.js';
import { Tally } from './tally.js';

const SAMPLE_MS = 2000;
/** One or two steps on a busy machine. */
const AT_REST_MS = 2000;
/** The server levels off at about 550 MiB after 1,800 jobs: `--minutes 2`. */
const WARM_MIB = 600;
const STOP_MS = 20_000;
/** Small enough to evict conversations repeatedly during a run. */
const CACHE_RAM_MIB = 16;
/** Small enough to be full before memory is compared. */
const IMAGE_CACHE_MIB = 4;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    minutes: { type: 'string', default: '5' },
    clients: { type: 'string', default: '16' },
    parallel: { type: 'string', default: '6' },
    seed: { type: 'string', default: '1' },
    drops: { type: 'boolean', default: false },
  },
});
const [minutes, nClients, seed] = [values.minutes, values.clients, values.seed].map(Number) as [number, number, number];
if (!(minutes > 0 && minutes <= 24 * 60 && nClients > 0 && nClients <= 256)) {
  console.error('bench:soak takes up to 24 hours, --minutes N, and up to 256 clients, --clients N');
  process.exit(2);
}

const deterministic = positionals.includes('--deterministic');
const root = fileURLToPath(new URL('../../', import.meta.url));
const tally = new Tally();
const server = startServer();
const samples: number[] = [];
try {
  await server.untilItListens();
  await soak();
} catch (error) {
  tally.violation(error instanceof Error ? error.message : String(error));
}
await endServer();
report();

function startServer(): ServerProcess {
  const { parallel } = values;
  const cache = String(CACHE_RAM_MIB);
  const args = [
    'serve',
    '--port',
    '0',
    '--log-level',
    'error',
    '--alias',
    'soak',
    '--parallel',
    parallel,
    '--cache-ram',
    cache,
    '--image-cache-mb',
    String(IMAGE_CACHE_MIB),
    ...positionals,
  ];
  const started = new ServerProcess(process.execPath, [`${root}dist/cli.js`, ...args]);
  process.on('exit', () => started.kill());
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(130));
  return started;
}

async function soak(): Promise<void> {
  const known = await askIdleServer();
  console.log(`The idle server answered ${known.length} requests. ${nClients} clients run for ${minutes} minutes ...`);
  const deadline = Date.now() + minutes * 60_000;
  const isOver = () => Date.now() >= deadline || server.end !== null;
  const sampler = setInterval(takeSample, SAMPLE_MS);
  const clients = Array.from({ length: nClients }, (_, index) => {
    const random = seededRandom(seed * 1000 + index);
    return runClient({ port: server.port, random, tally, deterministic, known }, values.drops, isOver);
  });
  await Promise.all(clients);
  clearInterval(sampler);
  await expectRest();
}

async function askIdleServer(): Promise<{ request: ChatRequest; answer: Answer }[]> {
  const known: { request: ChatRequest; answer: Answer }[] = [];
  const once = async (request: ChatRequest): Promise<Answer> => {
    const reply = await exchange(server.port, { body: body(withMargins(request), false) });
    if (reply.status !== 200) throw new Error(`the idle server answered ${reply.status}: ${reply.text}`);
    return readAnswer(reply);
  };
  const ask = (request: ChatRequest) => askIdle(once, request);
  for (const request of fixedRequests(seed)) known.push({ request, answer: await ask(request) });
  for (const request of await conversations(ask)) known.push({ request, answer: await ask(request) });
  return known;
}

function takeSample(): void {
  const memory = server.memoryMiB();
  if (memory !== undefined) samples.push(memory);
}

/** After the last request, the server must have no running sequences and no reserved resources. */
async function expectRest(): Promise<void> {
  const deadline = Date.now() + AT_REST_MS;
  for (;;) {
    const { active, queued, kv_cells_used } = await server.health();
    if (active === 0 && queued === 0 && kv_cells_used === 0) return;
    if (Date.now() > deadline) {
      tally.violation(
        `running sequences or reserved resources ${AT_REST_MS} ms after the last request: ${JSON.stringify({ active, queued, kv_cells_used })}`,
      );
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function endServer(): Promise<void> {
  if (server.end !== null) tally.violation(`the server process ended during the soak: ${server.end}`);
  else if (server.port !== 0) {
    const { jobs_finished, jobs_cancelled, decode_steps } = await server.health();
    console.log(`the server finished ${jobs_finished} jobs, cancelled ${jobs_cancelled}, in ${decode_steps} steps`);
    const end = await server.stop(STOP_MS);
    if (end !== 'exit code 0') tally.violation(`after SIGTERM the server ended with ${end}`);
  }
}

function report(): void {
  const memory = judgeMemory(samples, WARM_MIB);
  if (memory.grew) tally.violation(memory.text);
  console.log(String(tally));
  const roundings = tally.roundings.map((difference) => difference.toFixed(3)).join(' / ');
  console.log(`log-probabilities differ from the idle server's by ${roundings} (median / 90 % / 99 % / largest)`);
  console.log(curve(samples));
  console.log(memory.text);
  for (const tie of tally.ties) console.log(`  tie, with a different answer ${tie}`);
  for (const violation of tally.violations) console.log(`  violation: ${violation}`);
  if (tally.violations.length > 0 && server.log) console.log(`The end of the server's log:\n${server.log}`);
  console.log(tally.violations.length === 0 ? 'soak: no violations' : `soak: ${tally.violations.length} violations`);
  process.exitCode = tally.violations.length === 0 ? 0 : 1;
}
