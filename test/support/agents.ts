/**
 * Coding agents as their users run them: the released package, an environment and a home folder of its own, no account,
 * and a network that holds this machine's loopback only, where a server of ours runs with a scripted model.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { type AgentPackage, folderOf, UNSHARE } from './find-agents.mjs';
import { nodeArguments } from './node-arguments.mjs';
import { root } from './places.js';
import { type Script, writeScriptedModel } from './scripted-model.js';
import { until } from './until.js';

/** The namespace has no other processes, so any port is free. */
const PORT = 8080;
const INSTALL_MS = 10 * 60_000;
const RUN_MS = 4 * 60_000;

/** Installs the package unless it is there, and returns the folder of its programs. */
export async function installAgent(agent: AgentPackage): Promise<string> {
  return path.join(await installed(agent), 'node_modules', agent.bin);
}

async function installed(agent: AgentPackage): Promise<string> {
  const folder = folderOf(agent);
  if (fs.existsSync(folder)) return folder;
  const unfinished = `${folder}.${process.pid}`;
  fs.mkdirSync(unfinished, { recursive: true });
  fs.writeFileSync(path.join(unfinished, 'package.json'), '{"private": true}\n');
  const what = `${agent.name}@${agent.version}`;
  const args = ['install', '--no-audit', '--no-fund', '--loglevel=error', '--save-exact', what];
  const done = await finish(spawn('npm', args, { cwd: unfinished }), INSTALL_MS);
  if (done.code !== 0) throw new Error(`npm could not install ${what}:\n${done.output}`);
  fs.rmSync(folder, { recursive: true, force: true });
  fs.renameSync(unfinished, folder);
  return folder;
}

export interface Ran {
  code: number | null;
  /** Both of its outputs, as they came. */
  output: string;
}

/** A request as logged by the server. */
export interface LoggedRequest {
  method: string;
  path: string;
  status: number;
  error?: string;
  finish_reason?: string;
  prompt_tokens?: number;
}

/** A machine for one agent: a network, a home, a folder to work in, and our server. */
export class Sandbox {
  readonly baseUrl = `http://127.0.0.1:${PORT}`;
  readonly home: string;
  /** Working folder of the agent. */
  readonly work: string;
  readonly #folder: string;
  readonly #server: ChildProcess;
  #stdout = '';
  #log = '';

  private constructor(folder: string, server: ChildProcess) {
    this.#folder = folder;
    this.home = path.join(folder, 'home');
    this.work = path.join(folder, 'work');
    this.#server = server;
    server.stdout?.on('data', (data) => {
      this.#stdout += data;
    });
    server.stderr?.on('data', (data) => {
      this.#log += data;
    });
  }

  /** `scriptFor` is told the folder that the agent works in. `name` is what the model is called. */
  static async start(
    name: string,
    scriptFor: (work: string) => Script,
    args: readonly string[] = [],
  ): Promise<Sandbox> {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-agent-'));
    for (const each of ['home', 'work']) fs.mkdirSync(path.join(folder, each));
    const model = writeScriptedModel(path.join(folder, `${name}.gguf`), scriptFor(path.join(folder, 'work')));
    const serve = [...nodeArguments('ts/cli.ts'), 'serve', '--model', model, '--port', String(PORT)];
    const sized = ['--ctx-size', '65536', '--parallel', '2', '--threads', '2', '--log-format', 'json', ...args];
    const command = ['sh', '-c', 'ip link set lo up && exec "$@"', 'sh', process.execPath, ...serve, ...sized];
    const sandbox = new Sandbox(folder, spawn('unshare', [...UNSHARE, ...command], { cwd: root }));
    try {
      await sandbox.#untilServing();
    } catch (error) {
      await sandbox.stop();
      throw error;
    }
    return sandbox;
  }

  /** Writes a file below the agent's home, a setting for one. */
  configure(file: string, text: string): void {
    const place = path.join(this.home, file);
    fs.mkdirSync(path.dirname(place), { recursive: true });
    fs.writeFileSync(place, text);
  }

  /** Runs a program in the folder to work in, with nothing in its environment but what is needed and `variables`. */
  run(command: readonly string[], variables: Readonly<Record<string, string>> = {}, limitMs = RUN_MS): Promise<Ran> {
    const target = ['--target', String(this.#server.pid), ...UNSHARE.filter((each) => each !== '--map-root-user')];
    const kept = UNSHARE.includes('--user') ? ['--preserve-credentials'] : [];
    const inside = ['--', 'sh', '-c', 'cd "$0" && exec "$@"', this.work, ...command];
    const child = spawn('nsenter', [...target, ...kept, ...inside], {
      env: { PATH: process.env.PATH, HOME: this.home, LANG: 'C.UTF-8', ...variables },
      // Agents wait for more to read where their input stays open.
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    return finish(child, limitMs);
  }

  /** The same by `chasqui launch`, which finds the agent's program in `bin`. */
  launch(agent: string, bin: string, args: readonly string[]): Promise<Ran> {
    const cli = path.join(root, 'dist', 'cli.js');
    const command = [process.execPath, cli, 'launch', agent, '--url', this.baseUrl, '--', ...args];
    return this.run(command, {
      PATH: `${bin}${path.delimiter}${process.env.PATH}`,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    });
  }

  /** The requests that the server has replied to, probes left out. */
  requests(): LoggedRequest[] {
    const lines = this.#log.split('\n').filter((line) => line.startsWith('{'));
    return lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'request');
  }

  /** Returns the content of a file in the working folder, or null if it does not exist. */
  read(file: string): string | null {
    const place = path.join(this.work, file);
    return fs.existsSync(place) ? fs.readFileSync(place, 'utf8') : null;
  }

  /** Writes a file there. */
  write(file: string, text: string): void {
    fs.writeFileSync(path.join(this.work, file), text);
  }

  async stop(): Promise<void> {
    const ended = finish(this.#server, 30_000);
    this.#server.kill('SIGTERM');
    await ended;
    fs.rmSync(this.#folder, { recursive: true, force: true });
  }

  #untilServing(): Promise<void> {
    const serves = (): boolean => {
      if (this.#server.exitCode !== null) throw new Error(`The server ended: ${this.#log}`);
      return /^Serving /m.test(this.#stdout);
    };
    return until(serves, 'the server serves', 120_000);
  }
}

/** Resolves when the process has ended by itself, or has been ended with all that it started after `limitMs`. */
function finish(child: ChildProcess, limitMs: number): Promise<Ran> {
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (data) => {
      output += data;
    });
  }
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      output += `\n(ended after ${limitMs / 1000} seconds)`;
      endAll(child);
    }, limitMs);
    child.once('error', reject);
    const done = (code: number | null): void => {
      clearTimeout(timer);
      resolve({ code, output });
    };
    if (child.exitCode !== null || child.signalCode !== null) done(child.exitCode);
    else child.once('exit', () => setTimeout(done, 100, child.exitCode));
  });
}

/** A detached process leads a group. */
function endAll(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    child.kill('SIGKILL');
  }
}
