/** The server under test, in a separate process, and its observable state. */
import { type ChildProcess, spawn } from 'node:child_process';
import { statusMiB, sumOverTree } from '../../test/support/process-tree.js';
import type { Health } from '../../ts/api/server/health/schema.js';

export class ServerProcess {
  readonly #child: ChildProcess;
  readonly #exited: Promise<string>;
  #log = '';
  #end: string | null = null;
  port = 0;

  constructor(command: string, args: readonly string[]) {
    this.#child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.on('data', (data) => {
        this.#log = `${this.#log}${data}`.slice(-4000);
      });
    }
    this.#exited = new Promise((resolve) => {
      this.#child.once('close', (code, signal) => {
        this.#end = signal ? `signal ${signal}` : `exit code ${code}`;
        resolve(this.#end);
      });
      this.#child.once('error', (error) => resolve(error.message));
    });
  }

  /** Exit code or signal; null while it runs. */
  get end(): string | null {
    return this.#end;
  }

  /** The last part of its output. */
  get log(): string {
    return this.#log;
  }

  async untilItListens(): Promise<void> {
    while (this.port === 0) {
      if (this.#end) throw new Error(`the server did not start: ${this.#end}\n${this.#log}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
      this.port = Number(/ at http:\/\/127\.0\.0\.1:(\d+)\/v1/.exec(this.#log)?.[1] ?? 0);
    }
  }

  async health(): Promise<Health> {
    const response = await fetch(`http://127.0.0.1:${this.port}/health`);
    if (!response.ok) throw new Error(`GET /health answered ${response.status}`);
    return (await response.json()) as Health;
  }

  /** Resident memory in MiB, including the engine process; `undefined` without /proc. */
  memoryMiB(): number | undefined {
    const { pid } = this.#child;
    if (process.platform !== 'linux' || this.#end !== null || pid === undefined) return undefined;
    return sumOverTree(pid, (each) => statusMiB(each, 'VmRSS'));
  }

  /** Stops the server, with SIGKILL after a timeout. Returns its exit code or signal. */
  async stop(patienceMs: number): Promise<string> {
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), patienceMs);
    this.#child.kill('SIGTERM');
    const end = await this.#exited;
    clearTimeout(timer);
    return end;
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }
}
