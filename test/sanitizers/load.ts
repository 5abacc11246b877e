/** A server under a mixed load: the clients of the soak, and beside them what those do not ask for. */
import path from 'node:path';
import process from 'node:process';
import { type Answer, readAnswer } from '../../bench/soak/answers.js';
import { runClient } from '../../bench/soak/clients.js';
import { exchange, haveMorePatience } from '../../bench/soak/exchange.js';
import { askIdle } from '../../bench/soak/idle.js';
import { body, conversations, fixedRequests, withMargins } from '../../bench/soak/requests.js';
import { ServerProcess } from '../../bench/soak/server.js';
import { Tally } from '../../bench/soak/tally.js';
import { seededRandom } from '../support/seeded-random.js';

const SEQUENCES = 64;
const THREADS = 2;
const STOP_MS = 120_000;
/** How many times as long everything takes with a sanitizer. */
const SLOWNESS = 5;

type Request = Parameters<typeof withMargins>[0];

/** What went wrong. `variables` are for the server only: under a sanitizer the clients would be slow as well. */
export async function carryLoad(
  variables: Record<string, string>,
  minutes: number,
  nClients: number,
): Promise<string[]> {
  const tally = new Tally();
  haveMorePatience(SLOWNESS);
  const settings = Object.entries(variables).map(([name, value]) => `${name}=${value}`);
  const cli = path.join(import.meta.dirname, '..', '..', 'dist', 'cli.js');
  const options = ['--parallel', String(SEQUENCES), '--threads', String(THREADS), '--cache-ram', '16', '--port', '0'];
  // With a sanitizer a step takes as long as it takes.
  options.push('--step-timeout', '0', '--log-level', 'warn');
  const server = new ServerProcess('env', [...settings, process.execPath, cli, 'serve', '--alias', 'soak', ...options]);
  process.on('exit', () => server.kill());
  try {
    await server.untilItListens();
    const once = async (request: Request) => readAnswer(await send(server.port, body(withMargins(request), false)));
    const ask = (request: Request) => askIdle(once, request);
    const known: { request: Request; answer: Answer }[] = [];
    await Promise.all(fixedRequests(1).map(async (request) => known.push({ request, answer: await ask(request) })));
    for (const request of await conversations(ask)) known.push({ request, answer: await ask(request) });
    const deadline = Date.now() + minutes * 60_000;
    const isOver = () => Date.now() >= deadline || server.end !== null;
    const clients = Array.from({ length: nClients }, (_, index) => {
      const random = seededRandom(1000 + index);
      return runClient({ port: server.port, random, tally, deterministic: false, known }, false, isOver);
    });
    await Promise.all([...clients, ...OTHERS.map((other) => repeat(server.port, other, tally, isOver))]);
    const { jobs_finished, decode_steps } = await server.health();
    console.log(`the server finished ${jobs_finished} jobs in ${decode_steps} steps; ${tally}`);
  } catch (error) {
    tally.violation(error instanceof Error ? error.message : String(error));
  }
  if (server.end === null) {
    const end = await server.stop(STOP_MS);
    if (end !== 'exit code 0') tally.violation(`after SIGTERM the server ended with ${end}`);
  } else tally.violation(`the server ended by itself: ${server.end}`);
  if (tally.violations.length > 0) console.log(server.log);
  return tally.violations;
}

interface Other {
  name: string;
  path?: string;
  body(turn: number): object;
}

const message = (content: string) => ({ messages: [{ role: 'user', content }], max_tokens: 24 });
const person = {
  type: 'object',
  properties: { name: { type: 'string', maxLength: 20 }, age: { type: 'integer', minimum: 0, maximum: 150 } },
  required: ['name', 'age'],
};

/** Grammars, several choices, tools, vectors, tokens: each by a client of its own. */
const OTHERS: readonly Other[] = [
  {
    name: 'grammars',
    body: (turn) => ({
      ...message(`Say it ${turn}.`),
      grammar: 'root ::= ("yes" | "no") " " [a-z]{3,9} "."',
      seed: turn,
    }),
  },
  {
    name: 'schemas',
    body: (turn) => ({
      ...message(`Who? ${turn}`),
      response_format: { type: 'json_schema', json_schema: { name: 'p', schema: person } },
    }),
  },
  { name: 'choices', body: (turn) => ({ ...message(`Choose ${turn}.`), n: 4, temperature: 1, seed: turn }) },
  {
    name: 'tools',
    body: (turn) => ({
      ...message(`Look ${turn}.`),
      tools: [{ type: 'function', function: { name: 'look', parameters: person } }],
      tool_choice: 'required',
      max_tokens: 60,
    }),
  },
  { name: 'vectors', path: '/v1/embeddings', body: (turn) => ({ input: [`one ${turn}`, 'two', 'three and more'] }) },
  { name: 'tokens', path: '/tokenize', body: (turn) => ({ content: `The sea is wide ${turn}. `.repeat(50) }) },
];

async function repeat(port: number, other: Other, tally: Tally, isOver: () => boolean): Promise<void> {
  for (let turn = 0; !isOver() && !tally.hopeless; turn++) {
    try {
      const reply = await send(port, JSON.stringify({ model: 'soak', ...other.body(turn) }), other.path);
      if (reply.status === 429) await new Promise((resolve) => setTimeout(resolve, 100));
      else tally.count(other.name);
    } catch (error) {
      tally.violation(`${other.name}: ${error instanceof Error ? error.message : error}`);
    }
  }
}

async function send(port: number, json: string, to?: string) {
  const reply = await exchange(port, { body: json, ...(to && { path: to }) });
  if (reply.status !== 200 && reply.status !== 429) throw new Error(`${reply.status}: ${reply.text.slice(0, 300)}`);
  return reply;
}
