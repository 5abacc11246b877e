/** `chasqui serve` with four bystanders, which suffers one hostile entry after another. */
import os from 'node:os';
import * as assert from 'uvu/assert';
import { type Child, startChild, untilWritten } from '../support/child.js';
import { Bystanders } from './bystanders.js';
import type { Entry, Sender } from './entry.js';
import { memoryMiB } from './memory.js';
import { type Exchange, send } from './send.js';

const ANSWER_MS = 10_000;
/** For entries that consist of many requests, one after the other. */
const ENTRY_MS = 45_000;
/** How much CPU time the server may use between two frames of a bystander: three seconds on all cores of an idle machine. */
const MAX_CPU_GAP_MS = 3000 * os.availableParallelism();
/** A server that waits without computing is found by this. It allows for a busy machine. */
const MAX_GAP_MS = 30_000;
const STOP_MS = 20_000;
/** A line or two for each error that is worth one. */
const MAX_LOG_BYTES = 4000;

export class ServerUnderAttack {
  readonly #child: Child;
  readonly #bystanders: Bystanders;
  readonly #sender: Sender;

  private constructor(child: Child, sender: Sender, bystanders: Bystanders) {
    this.#child = child;
    this.#sender = sender;
    this.#bystanders = bystanders;
  }

  static async start(args: readonly string[]): Promise<ServerUnderAttack> {
    const child = startChild('ts/cli.ts', [
      'serve',
      '--port',
      '0',
      '--alias',
      'm',
      '--parallel',
      '12',
      // The bystanders compute all the time, and a second thread doubles the CPU time of a tiny model.
      '--threads',
      '1',
      '--prepare-timeout',
      '5',
      '--log-level',
      'error',
      ...args,
    ]);
    const [, port = ''] = await untilWritten(child, /^Serving .* at http:\S+:(\d+)\/v1$/m);
    const sender = senderTo(Number(port), 'm');
    const bystanders = new Bystanders(sender.port, sender.model, child.process.pid as number);
    await bystanders.untilServed(5, MAX_GAP_MS);
    assert.equal(bystanders.report().failures, [], 'the bystanders alone');
    return new ServerUnderAttack(child, sender, bystanders);
  }

  /** Whether the server is running and answers. */
  async isWell(): Promise<boolean> {
    if (this.#child.process.exitCode !== null || this.#child.process.signalCode !== null) return false;
    const { status } = await this.#sender.chat({ max_tokens: 1 });
    return status === 200;
  }

  /** Sends the entry. Throws if the outcome is wrong, or if the server or a bystander does not stand it. */
  async suffer(entry: Entry): Promise<void> {
    this.#bystanders.report();
    const logged = this.#child.output.stderr.length;
    const outcome = await within(ENTRY_MS, entry.send(this.#sender));
    await this.#bystanders.untilServed(1, MAX_GAP_MS).catch(() => {});
    const { failures, longestGapMs, longestCpuGapMs } = this.#bystanders.report();

    assert.is(this.#child.process.signalCode, null, `the server was ended: ${this.#child.output.stderr.slice(-2000)}`);
    assert.is(this.#child.process.exitCode, null, `the server ended: ${this.#child.output.stderr.slice(-2000)}`);
    expectOutcome(outcome, entry.statuses);
    assert.equal(failures, [], 'bystanders that failed');
    const waited = `a bystander waited ${longestGapMs.toFixed(0)} ms, ${longestCpuGapMs} ms of CPU time`;
    assert.ok(longestGapMs < MAX_GAP_MS && longestCpuGapMs < MAX_CPU_GAP_MS, waited);
    assert.ok(await this.isWell(), 'the server answers afterwards');
    if (entry.quiet) assert.ok(this.#child.output.stderr.length - logged < MAX_LOG_BYTES, 'its log stays short');
  }

  /** Resident memory, in MiB. */
  memoryMiB(): number {
    return memoryMiB(this.#child.process.pid);
  }

  get sender(): Sender {
    return this.#sender;
  }

  /** Ends the server with SIGTERM while the bystanders' streams run. */
  async stop(): Promise<void> {
    const timer = setTimeout(() => this.#child.process.kill('SIGKILL'), STOP_MS);
    this.#child.process.kill('SIGTERM');
    const exit = await this.#child.exited;
    clearTimeout(timer);
    await this.#bystanders.leave();
    assert.equal(exit, { code: 0, signal: null }, `after SIGTERM: ${this.#child.output.stderr.slice(-2000)}`);
  }

  async kill(): Promise<void> {
    this.#child.process.kill('SIGKILL');
    await this.#bystanders.leave();
    await this.#child.exited;
  }
}

function senderTo(port: number, model: string): Sender {
  const post: Sender['post'] = (path, body) =>
    send(port, path, typeof body === 'string' ? body : JSON.stringify(body), ANSWER_MS);
  const messages = [{ role: 'user', content: 'Go on.' }];
  const chat: Sender['chat'] = (body) => post('/v1/chat/completions', { model, messages, max_tokens: 100, ...body });
  return { port, model, post, chat };
}

function expectOutcome({ status, text, ms }: Exchange, statuses: readonly number[] | undefined): void {
  const said = `${status} after ${ms.toFixed(0)} ms: ${text.slice(0, 300)}`;
  if (statuses) assert.ok(statuses.includes(status), `${statuses.join(' or ')}, not ${said}`);
  else assert.ok(status === 200 || (status >= 400 && status < 500), `an answer or a refusal, not ${said}`);
  assert.ok(ms < ANSWER_MS, `within ${ANSWER_MS} ms, not ${said}`);
  if (status >= 400) assert.type(JSON.parse(text).error.message, 'string', said);
}

function within(limitMs: number, outcome: Promise<Exchange>): Promise<Exchange> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Exchange>((resolve) => {
    timer = setTimeout(() => resolve({ status: 0, text: `it took more than ${limitMs} ms`, ms: limitMs }), limitMs);
  });
  return Promise.race([outcome, late]).finally(() => clearTimeout(timer));
}
