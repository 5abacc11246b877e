import { type ChildProcess, spawn } from 'node:child_process';
import { Agent, request } from 'node:http';
import { type Figures, figuresOf, type StreamTimes, type Subject, seededRandom, type Work } from '../work.js';

const words = 'time year people way day man thing woman life child world school state family student group'.split(' ');

export interface ServerCommand {
  name: string;
  command: string;
  args: string[];
  port: number;
}

/** Starts a server with an OpenAI-compatible interface and reads streamed chat completions from it. */
export async function httpServer(server: ServerCommand): Promise<Subject> {
  const child = spawn(server.command, server.args, { stdio: ['ignore', 'ignore', 'pipe'] });
  let log = '';
  child.stderr.on('data', (data) => {
    log = `${log}${data}`.slice(-2000);
  });
  await untilHealthy(server, child, () => log);
  const agent = new Agent({ keepAlive: true, maxSockets: 1024 });
  return {
    name: server.name,
    run: (work, round) => runStreams(server.port, agent, work, round),
    close: async () => {
      agent.destroy();
      child.kill('SIGTERM');
      if (child.exitCode === null) await new Promise((resolve) => child.once('exit', resolve));
    },
  };
}

async function untilHealthy(server: ServerCommand, child: ChildProcess, log: () => string): Promise<void> {
  for (;;) {
    if (child.exitCode !== null) throw new Error(`${server.name} ended with ${child.exitCode}:\n${log()}`);
    const healthy = await fetch(`http://127.0.0.1:${server.port}/health`).then(
      (response) => response.ok,
      () => false,
    );
    if (healthy) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function runStreams(port: number, agent: Agent, work: Work, round: number): Promise<Figures> {
  const random = seededRandom(round);
  const bodies = Array.from({ length: work.streams }, () => {
    const content = Array.from({ length: work.promptTokens }, () => words[Math.floor(random() * words.length)]).join(
      ' ',
    );
    return JSON.stringify({
      model: 'bench',
      messages: [{ role: 'user', content }],
      max_tokens: work.predictTokens,
      ignore_eos: true,
      temperature: 0,
      stream: true,
      stream_options: { include_usage: true },
    });
  });
  const start = performance.now();
  return figuresOf(await Promise.all(bodies.map((body) => readStream(port, agent, body, start))));
}

/** Looks at no more than it must: the generator shares the machine with the server. */
function readStream(port: number, agent: Agent, body: string, start: number): Promise<StreamTimes> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    const options = { host: '127.0.0.1', port, path: '/v1/chat/completions', method: 'POST', agent, headers };
    const call = request(options, (response) => {
      let firstTokenMs = 0;
      let lastTokenMs = 0;
      let tail = '';
      response.setEncoding('utf8');
      response.on('data', (data: string) => {
        lastTokenMs = performance.now() - start;
        if (firstTokenMs === 0 && /"content":"[^"]/.test(data)) firstTokenMs = lastTokenMs;
        tail = `${tail}${data}`.slice(-2000);
      });
      response.on('end', () => {
        const counted = /"completion_tokens":(\d+)/.exec(tail);
        if (response.statusCode !== 200 || counted === null) reject(new Error(`${response.statusCode}: ${tail}`));
        else resolve({ firstTokenMs: firstTokenMs || lastTokenMs, lastTokenMs, tokens: Number(counted[1]) });
      });
    });
    call.on('error', reject);
    call.end(body);
  });
}
