/** MCP servers of tests, in a folder that is removed at the end. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';
import { McpServers } from '../../ts/mcp/mcp-servers.js';
import { root } from './places.js';
import { until } from './until.js';

const SCRIPT = path.join(root, 'test', 'support', 'mcp-server.mjs');

export class TestMcp {
  readonly folder = fs.mkdtempSync(path.join(os.tmpdir(), 'mcp-'));
  readonly log = path.join(this.folder, 'log');
  readonly #open: { close(): Promise<void> }[] = [];

  constructor() {
    fs.writeFileSync(this.log, '');
  }

  /** The entry of a stdio server. */
  stdio(fields: object = {}): object {
    return { command: process.execPath, args: [SCRIPT, 'stdio', this.log], ...fields };
  }

  /** Starts a server over HTTP. */
  async http(): Promise<{ url: string; pid: number }> {
    const child = spawn(process.execPath, [SCRIPT, 'http', this.log], { stdio: ['ignore', 'pipe', 'inherit'] });
    const exited = once(child, 'exit');
    const close = async (): Promise<void> => {
      child.kill('SIGKILL');
      await exited;
    };
    this.#open.push({ close });
    const [url] = (await once(readline.createInterface(child.stdout), 'line')) as [string];
    return { url, pid: child.pid as number };
  }

  write(config: unknown): string {
    const file = path.join(this.folder, 'mcp.json');
    fs.writeFileSync(file, typeof config === 'string' ? config : JSON.stringify(config));
    return file;
  }

  servers(mcpServers: object = { test: this.stdio() }): McpServers {
    const servers = new McpServers({ file: this.write({ mcpServers }) }, process.env);
    this.#open.push(servers);
    return servers;
  }

  get lines(): string[] {
    return fs.readFileSync(this.log, 'utf8').split('\n').filter(Boolean);
  }

  /** The processes that were started, in order. */
  get pids(): number[] {
    return this.lines.flatMap((line) => /^started (\d+)$/.exec(line)?.slice(1).map(Number) ?? []);
  }

  logged(line: string, count = 1): Promise<void> {
    return until(() => this.lines.filter((each) => each === line).length >= count, `the line ${line}`);
  }

  async close(): Promise<void> {
    for (const each of this.#open) await each.close();
    fs.rmSync(this.folder, { recursive: true });
  }
}

export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
